package relation

import (
	"context"
	"strings"
	"sync"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// step is one thing to look at from a node: what it names (ref), or who names it.
type step struct {
	node int
	rule *rule
	ref  *reference // nil: holders of references to the node
}

// walk follows edges in one direction, breadth first, each node once.
func (w *run) walk(d Direction) error {
	seen := map[int]bool{0: true}
	level := []int{0}
	for depth := 0; depth < w.q.Depth && len(level) > 0; depth++ {
		steps := w.steps(level, d)
		w.openFor(steps)
		level = level[:0]
		reach := func(i int) {
			if !seen[i] {
				seen[i] = true
				level = append(level, i)
			}
		}
		for _, s := range steps {
			if err := w.seat.Step(w.ctx); err != nil {
				return err
			}
			switch {
			case w.ctx.Err() != nil:
				return context.Cause(w.ctx)
			case w.answer.Truncated != nil:
				return nil
			case s.ref != nil:
				w.follow(s, reach)
			default:
				w.search(s, reach)
			}
		}
	}
	return nil
}

// steps returns what to look at from the nodes of a level.
func (w *run) steps(level []int, d Direction) (steps []step) {
	for _, i := range level {
		n := w.nodes[i]
		if n.o == nil && i != 0 {
			continue // what is only named leads nowhere
		}
		var raw []byte
		if n.o != nil {
			var plain *object.Object
			plain, w.buf = n.o.Unpacked(w.buf)
			raw = plain.Raw
		}
		for _, ru := range rules {
			names := (d == Down) == ru.down
			switch {
			case raw == nil && ru.typ == Owner: // of a Secret not even the uid is known
				w.gaps.add(Owner, NotLookedInto, gvkOf(n.kind))
			case names && ru.holder.matches(n.of):
				steps = w.named(steps, i, ru, raw)
			case !names && ru.back == nil && ru.target.matches(n.of) && (n.kind.Namespaced || ru.space != spaceOwn):
				w.gaps.look(ru.typ)
				steps = append(steps, step{node: i, rule: ru})
			}
			if len(steps) > w.mostEdges() {
				w.answer.Truncated = &Limit{"edges", w.mostEdges()}
				return steps
			}
		}
	}
	return steps
}

// named adds the references that a node holds.
func (w *run) named(steps []step, i int, ru *rule, raw []byte) []step {
	w.gaps.look(ru.typ)
	w.doubt(ru, w.nodes[i].from)
	err := ru.refs(raw, &w.reader, func(r reference) {
		r.apiVersion, r.namespace, r.name, r.uid = strings.Clone(r.apiVersion), strings.Clone(r.namespace),
			strings.Clone(r.name), strings.Clone(r.uid)
		r.of.group, r.of.kind = strings.Clone(r.of.group), strings.Clone(r.of.kind)
		steps = append(steps, step{i, ru, &r})
	})
	if err != nil {
		w.gaps.add(ru.typ, Unreadable, gvkOf(w.nodes[i].kind))
	}
	return steps
}

// doubt notes that a source may not be the latest.
func (w *run) doubt(ru *rule, from *source) {
	if from.broken {
		w.gaps.add(ru.typ, WatchBroken, gvkOf(from.kind))
	}
}

// openFor opens all that steps need at the same time, so that first lists are waited for
// together. Each goroutine has a kind to itself, and ends before openFor returns.
func (w *run) openFor(steps []step) {
	type kind struct {
		watches.Kind
		namespaces []string // in which the user must be allowed to list it; "" is all
	}
	kinds := map[watches.GVR]*kind{}
	asked := map[permission]struct{}{}
	ask := func(k watches.Kind, namespace string) {
		p := permission{gvrOf(k), namespace}
		if _, twice := asked[p]; twice {
			return
		}
		asked[p] = struct{}{}
		if _, known := w.said[p]; known && w.sources[p.of] != nil {
			return
		}
		if kinds[p.of] == nil {
			kinds[p.of] = &kind{Kind: k}
		}
		kinds[p.of].namespaces = append(kinds[p.of].namespaces, namespace)
	}
	for _, s := range steps {
		if s.ref == nil {
			for _, k := range w.holders(s) {
				ask(k, w.answer.Nodes[s.node].Namespace)
			}
		} else if k, ok := w.readable(s); ok {
			ask(k, w.space(s, k))
		}
	}
	_ = w.seat.Without(w.ctx, func() error { // an end of ctx is seen before the next step
		w.apart = true
		var all sync.WaitGroup
		for _, k := range kinds {
			all.Go(func() {
				for _, namespace := range k.namespaces {
					if w.may(k.Kind, namespace) == nil {
						w.source(k.Kind)
					}
				}
			})
		}
		all.Wait()
		w.apart = false
		return nil
	})
}

// holders are the kinds that may refer to a node by a rule. In what is in a namespace only
// others of the same are interested.
func (w *run) holders(s step) []watches.Kind {
	if s.rule.holder != (groupKind{}) {
		if k, served := w.plan.kinds[s.rule.holder]; served && w.looksInto(k) {
			return []watches.Kind{k}
		}
		return nil
	}
	if w.nodes[s.node].kind.Namespaced {
		return w.plan.namespaced
	}
	return w.plan.dependents
}

func (w *run) looksInto(k watches.Kind) bool {
	return kindOf(k) == kindOf(w.start) || w.plan.looksInto(k)
}

// readable is the kind of what a reference names, if it may be looked up.
func (w *run) readable(s step) (watches.Kind, bool) {
	k, served := w.plan.kinds[s.ref.of]
	if !served || s.ref.of == secrets || s.rule.target != (groupKind{}) && !w.looksInto(k) {
		return k, false
	}
	return k, true
}

// space is the namespace of what a reference names.
func (w *run) space(s step, k watches.Kind) string {
	if s.rule.space == spaceOfOwner && k.Namespaced {
		return w.answer.Nodes[s.node].Namespace
	}
	return s.ref.namespace
}

// follow looks up what a node names.
func (w *run) follow(s step, reach func(int)) {
	k, ok := w.readable(s)
	s.ref.namespace = w.space(s, k)
	switch {
	case s.ref.of == secrets:
		w.name(s, k, "", nil)
		return
	case !ok && k.Kind == "":
		w.name(s, k, NotServed, nil)
		return
	case !ok:
		w.name(s, k, NotLookedInto, nil)
		return
	}
	if err := w.may(k, s.ref.namespace); err != nil {
		w.name(s, k, forbidden(err), nil)
		return
	}
	from := w.source(k)
	if from.missing != "" {
		w.name(s, k, from.missing, nil)
		return
	}
	w.doubt(s.rule, from)
	dangling := NotFound
	o, found := from.state.Get(view.Name{Namespace: s.ref.namespace, Name: s.ref.name})
	switch {
	case !found && s.rule.lax:
		return
	case !found:
	case s.ref.uid != "" && s.ref.uid != o.UID:
		dangling = OtherUID
	case s.rule.uid && s.ref.uid == "", s.rule.back != nil && !w.confirms(s, from, o):
		dangling = Unconfirmed
	default:
		dangling = ""
	}
	if dangling != "" {
		w.name(s, k, "", func(n *Node) { n.Exists, n.Dangling = &gone, dangling })
		return
	}
	if i := w.object(from, o); i >= 0 && w.connect(s.rule, s.node, i) {
		reach(i)
	}
}

// confirms reports whether the target of a reference names its holder in turn.
func (w *run) confirms(s step, from *source, target *object.Object) bool {
	holder := w.answer.Nodes[s.node]
	back := reference{of: w.nodes[s.node].of, namespace: holder.Namespace, name: holder.Name}
	if s.rule.back.uid {
		back.uid = holder.UID
	}
	return from.refers(s.rule.back, target, back.key())
}

// name adds a node of which no more is known than what a reference says, or the one that
// is there already.
func (w *run) name(s step, k watches.Kind, why Reason, show func(*Node)) {
	if k.Kind == "" {
		k.Version, k.Kind = "v1", s.ref.of.kind
		if s.ref.of.group != "" {
			k.Group, k.Version = s.ref.of.group, strings.TrimPrefix(s.ref.apiVersion, s.ref.of.group+"/")
		}
	}
	if why != "" {
		w.gaps.add(s.rule.typ, why, gvkOf(k))
	}
	var i int
	if start := w.answer.Nodes[0]; show == nil && s.ref.of == w.nodes[0].of && s.ref.namespace == start.Namespace &&
		s.ref.name == start.Name && (s.ref.uid == "" || s.ref.uid == start.UID) {
		i = 0
	} else {
		i = w.add(*s.ref, k, show)
	}
	if i >= 0 {
		w.connect(s.rule, s.node, i)
	}
}

// search finds who names a node.
func (w *run) search(s step, reach func(int)) {
	n := w.answer.Nodes[s.node]
	namespaced := w.nodes[s.node].kind.Namespaced
	switch h := s.rule.holder; {
	case s.rule.typ == Owner:
		w.unlooked(namespaced)
	case w.holders(s) == nil:
		k, served := w.plan.kinds[h]
		if served {
			w.gaps.add(s.rule.typ, NotLookedInto, gvkOf(k))
		} else {
			w.gaps.add(s.rule.typ, NotServed, h.String())
		}
	}
	target := reference{of: w.nodes[s.node].of, name: n.Name}
	if s.rule.space == spaceOwn {
		target.namespace = n.Namespace
	}
	var keys []string
	if s.rule.typ != Owner { // whose references have a uid
		keys = append(keys, target.key())
	}
	if s.rule.typ == Owner || s.rule.typ == Target {
		target.uid = n.UID
		keys = append(keys, target.key())
	}
	for _, k := range w.holders(s) {
		w.searchIn(s, k, keys, n.Namespace, reach)
	}
}

// searchIn finds who of one kind names a node by one of the keys.
func (w *run) searchIn(s step, k watches.Kind, keys []string, namespace string, reach func(int)) {
	denied := w.may(k, namespace)
	if denied != nil {
		w.gaps.add(s.rule.typ, forbidden(denied), gvkOf(k))
		if !k.Namespaced || namespace != "" || forbidden(denied) != Forbidden || !w.isOpen(k) {
			return
		}
	}
	from := w.source(k)
	if from.missing != "" {
		w.gaps.add(s.rule.typ, from.missing, gvkOf(k))
		return
	}
	w.doubt(s.rule, from)
	for _, key := range keys {
		all, err := from.find(w.ctx, w.Relations, s.rule, key, namespace)
		if err != nil {
			w.gaps.add(s.rule.typ, NotSynced, gvkOf(k))
			return
		}
		for _, o := range all {
			if denied != nil {
				if err := w.mayThere(k, o.Key.Namespace); err != nil {
					w.gaps.add(s.rule.typ, forbidden(err), gvkOf(k))
					continue
				}
			}
			i := w.object(from, o)
			if i < 0 || !w.connect(s.rule, i, s.node) {
				return
			}
			reach(i)
		}
	}
}

// unlooked notes the kinds whose owners are not looked at.
func (w *run) unlooked(namespaced bool) {
	scope := 0
	if namespaced {
		scope = 1
	}
	if w.swept[scope] {
		return
	}
	w.swept[scope] = true
	for _, k := range w.plan.unlooked {
		if k.Namespaced || !namespaced {
			w.gaps.add(Owner, NotLookedInto, gvkOf(k))
		}
	}
}
