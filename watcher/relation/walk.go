package relation

import (
	"context"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// step is one lookup from a node: what it names (ref), or which objects name it.
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
		w.startFor(steps)
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
		var plain *object.Object
		if n.o != nil {
			plain, w.buf = n.o.Unpacked(w.buf)
		}
		for _, ru := range rules {
			names := (d == Down) == ru.down
			switch {
			case plain == nil && ru.typ == Owner: // of a Secret not even the uid is known
				w.gaps.add(Owner, NotLookedInto, gvkOf(n.kind))
			case names && ru.holder.matches(n.of):
				w.gaps.look(ru.typ)
				w.doubt(ru, n.from)
				for _, r := range ru.refs(plain.Key, plain.Raw) {
					steps = append(steps, step{i, ru, &r})
				}
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

// doubt notes that a source may not be the latest.
func (w *run) doubt(ru *rule, from *source) {
	if from.broken {
		w.gaps.add(ru.typ, WatchBroken, gvkOf(from.kind))
	}
}

// startFor starts to follow all that steps need, so that first lists are waited for together.
func (w *run) startFor(steps []step) {
	start := func(k watches.Kind, namespace string) {
		r := watches.GVROf(k)
		if w.started[r] || w.may(k, namespace) != nil {
			return
		}
		w.started[r] = true
		_ = w.seat.Without(w.ctx, func() error { // an end of ctx is seen before the next step
			if open, err := w.set.Kinds.Open(w.opening, r, watches.Wait{For: -1}); err == nil {
				open.Close()
			}
			return nil
		})
	}
	for _, s := range steps {
		if s.ref == nil {
			for _, k := range w.holders(s) {
				start(k, w.answer.Nodes[s.node].Namespace)
			}
		} else if k, ok := w.readable(s); ok {
			start(k, w.space(s, k))
		}
	}
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
	if !w.nodes[s.node].kind.Namespaced {
		return w.plan.dependents
	}
	return slices.DeleteFunc(slices.Clone(w.plan.dependents), func(k watches.Kind) bool { return !k.Namespaced })
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
	case s.rule.uid && s.ref.uid == "", s.rule.back != nil && !w.confirms(s, o):
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
func (w *run) confirms(s step, target *object.Object) bool {
	holder := w.answer.Nodes[s.node]
	back := reference{of: w.nodes[s.node].of, namespace: holder.Namespace, name: holder.Name}
	if s.rule.back.uid {
		back.uid = holder.UID
	}
	var plain *object.Object
	plain, w.buf = target.Unpacked(w.buf)
	return slices.Contains(s.rule.back.values(plain), back.key())
}

// name adds a node of which no more is known than what a reference says, or the one that is there already.
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

// searchIn finds the objects of one kind that name a node by one of the keys.
func (w *run) searchIn(s step, k watches.Kind, keys []string, namespace string, reach func(int)) {
	if err := w.may(k, namespace); err != nil {
		w.gaps.add(s.rule.typ, forbidden(err), gvkOf(k))
		return
	}
	from := w.source(k)
	if from.missing != "" {
		w.gaps.add(s.rule.typ, from.missing, gvkOf(k))
		return
	}
	w.doubt(s.rule, from)
	for _, key := range keys {
		all, err := from.find(w.ctx, s.rule, key, namespace, w.seat.Rest)
		if err != nil {
			w.gaps.add(s.rule.typ, NotSynced, gvkOf(k))
			return
		}
		for _, o := range all {
			i := w.object(from, o)
			if i < 0 || !w.connect(s.rule, i, s.node) {
				return
			}
			reach(i)
		}
	}
}

// unlooked notes the kinds whose owners are not looked at, once.
func (w *run) unlooked(namespaced bool) {
	w.plan.unlooked = slices.DeleteFunc(w.plan.unlooked, func(k watches.Kind) bool {
		noted := k.Namespaced || !namespaced
		if noted {
			w.gaps.add(Owner, NotLookedInto, gvkOf(k))
		}
		return noted
	})
}
