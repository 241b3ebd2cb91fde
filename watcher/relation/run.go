package relation

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// edgesPerNode bounds the edges of an answer, and the references that are looked at for one
// level of it, to so many times Config.MaxNodes.
const edgesPerNode = 32

// mostNamespaces is in how many namespaces one query asks whether the user may list a kind
// that he may not list everywhere.
const mostNamespaces = 100

// errUnknown says that it was not learned yet what the cluster serves.
var errUnknown = errors.New("what the cluster serves is not known yet")

// Graph answers a query. Its error is an *InputError, a *NotFoundError, one of access, one of
// watches about the start's kind, or the cause of ctx's end.
func (r *Relations) Graph(ctx context.Context, q Query) (*Answer, error) { return r.graph(ctx, q, nil) }

func (r *Relations) graph(ctx context.Context, q Query, seat *access.Seat) (*Answer, error) {
	q, err := q.checked()
	if err != nil {
		return nil, err
	}
	opening, cancel := context.WithTimeout(ctx, r.cfg.Wait.Std())
	defer cancel()
	w := &run{
		Relations: r, q: q, seat: seat, ctx: ctx, opening: opening, plan: r.planned(), gaps: gaps{},
		answer: &Answer{Direction: q.Direction, Depth: q.Depth, Nodes: []Node{}, Edges: []Edge{},
			ResourceVersions: map[string]string{}},
		ids: map[identity]int{}, edges: map[Edge]struct{}{}, said: map[permission]error{},
		sources: map[watches.GVR]*source{}, asked: map[watches.GVR]int{},
	}
	defer w.close()
	if err := w.begin(); err != nil {
		return nil, err
	}
	for _, d := range []Direction{Down, Up} {
		if q.Direction == d || q.Direction == Both {
			if err := w.walk(d); err != nil {
				return nil, err
			}
		}
	}
	return w.finish(), nil
}

// run is one query under way.
type run struct {
	*Relations
	q            Query
	seat         *access.Seat // nil: none is needed
	apart        bool         // the seat is others' while several goroutines ask and open
	ctx, opening context.Context
	plan         *plan
	start        watches.Kind

	answer *Answer
	nodes  []node
	ids    map[identity]int
	edges  map[Edge]struct{}
	gaps   gaps

	mu      sync.Mutex              // guards the next three
	said    map[permission]error    // by the guard
	sources map[watches.GVR]*source // opened, or not
	asked   map[watches.GVR]int     // namespaces about which the guard was asked one by one
	buf     []byte                  // for unpacking
	reader  reader
	swept   [2]bool // dependents in the cluster, in a namespace: the unlooked ones are noted
}

// node holds what is known of an answer's node beside what it shows.
type node struct {
	of   groupKind
	kind watches.Kind
	from *source        // nil: only named
	o    *object.Object // nil: only named
}

// identity makes out a node. What is only named may have no uid.
type identity struct {
	of                   groupKind
	namespace, name, uid string
}

type permission struct {
	of        watches.GVR
	namespace string
}

func (w *run) close() {
	for _, s := range w.sources {
		s.close(w.Relations)
	}
}

// begin finds the start.
func (w *run) begin() error {
	k, served := w.plan.served.FindKind(w.q.Group, w.q.Version, w.q.Kind)
	of := groupKind{w.q.Group, w.q.Kind}
	if !served && of == secrets && w.q.Version == "v1" {
		k, served = secretKind, true
	}
	switch {
	case len(w.plan.served.Groups) == 0:
		return errUnknown
	case !served:
		return w.noKind()
	case k.Namespaced && w.q.Namespace == "":
		return &InputError{"namespace", "want one: " + gvkOf(k) + " is namespaced"}
	case !k.Namespaced && w.q.Namespace != "":
		return &InputError{"namespace", "leave it out: " + gvkOf(k) + " is in no namespace"}
	}
	w.start = k
	w.plan = w.plan.reading(k)
	err := w.without(func() error {
		return w.set.Guard.Authorize(w.ctx, w.q.User, access.Attributes{
			Verb: "get", Group: k.Group, Version: k.Version, Resource: k.Name, Namespace: w.q.Namespace, Name: w.q.Name,
		})
	})
	if err != nil {
		return err
	}
	if of == secrets {
		w.add(reference{of: of, namespace: w.q.Namespace, name: w.q.Name}, k, nil)
		return nil
	}
	began := time.Now()
	s, err := w.open(k)
	w.sources[gvrOf(k)] = s
	switch {
	case err == nil:
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case s.missing == NotSynced && !errors.As(err, new(*watches.UnsyncedError)):
		return &watches.UnsyncedError{Waited: time.Since(began)}
	default:
		return err
	}
	o, ok := s.state.Get(view.Name{Namespace: w.q.Namespace, Name: w.q.Name})
	if !ok {
		return &NotFoundError{w.q}
	}
	w.object(s, o)
	return nil
}

// noKind says why there is no such kind, as far as discovery would say so to the user.
func (w *run) noKind() error {
	path := "/api/" + w.q.Version
	if w.q.Group != "" {
		path = "/apis/" + w.q.Group + "/" + w.q.Version
	}
	if w.set.Guard.Authorize(w.ctx, w.q.User, access.Attributes{Verb: "get", Path: path}) != nil {
		return watches.ErrNotServed
	}
	return w.plan.served.NoKind(w.q.Group, w.q.Version, w.q.Kind)
}

// secretKind is for a start that is only named, whether or not Secrets are served.
var secretKind = func() (k watches.Kind) {
	k.Version, k.Name, k.Kind, k.Namespaced = "v1", secretsKind, secrets.kind, true
	return k
}()

// may asks the guard once for each kind and namespace.
func (w *run) may(k watches.Kind, namespace string) error {
	p := permission{gvrOf(k), namespace}
	w.mu.Lock()
	err, known := w.said[p]
	w.mu.Unlock()
	if known {
		return err
	}
	err = w.without(func() error {
		return w.set.Guard.Authorize(w.ctx, w.q.User, access.Attributes{Verb: "list", Group: k.Group, Version: k.Version,
			Resource: k.Name, Namespace: namespace})
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said[p] = err
	return err
}

// mayThere is may for a namespace of which the user does not know yet that it has
// something; after some of them the answer is no.
func (w *run) mayThere(k watches.Kind, namespace string) error {
	p := permission{gvrOf(k), namespace}
	if _, known := w.said[p]; !known {
		if w.asked[p.of]++; w.asked[p.of] > mostNamespaces {
			return &access.ForbiddenError{User: w.q.User}
		}
	}
	return w.may(k, namespace)
}

func forbidden(err error) Reason {
	if errors.As(err, new(*access.ForbiddenError)) {
		return Forbidden
	}
	return AccessUnknown
}

// without runs do, which may wait, without the seat.
func (w *run) without(do func() error) error {
	if w.apart {
		return do()
	}
	return w.seat.Without(w.ctx, do)
}

// open opens a kind; the error says why it cannot be read.
func (w *run) open(k watches.Kind) (s *source, err error) {
	_ = w.without(func() error { // an end of ctx is seen before the next step
		s, err = open(w.opening, w.set.Kinds, k, w.cfg.Wait.Std())
		s.rest = w.seat.Rest
		return nil
	})
	return s, err
}

// source opens a kind once.
func (w *run) source(k watches.Kind) *source {
	w.mu.Lock()
	s := w.sources[gvrOf(k)]
	w.mu.Unlock()
	if s != nil {
		return s
	}
	s, err := w.open(k)
	if s.missing == Unavailable {
		w.unavailable(k, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sources[gvrOf(k)] = s
	return s
}

// isOpen reports whether to read a kind starts no watch: it was opened, or is followed anyway.
func (w *run) isOpen(k watches.Kind) bool {
	return w.sources[gvrOf(k)] != nil || slices.Contains(w.plan.followed, gvrOf(k))
}

// object adds an object that the user may see, or finds it. It returns -1 if the answer is
// full.
func (w *run) object(s *source, o *object.Object) int {
	r := reference{of: kindOf(s.kind), namespace: o.Key.Namespace, name: o.Key.Name, uid: o.UID}
	i := w.add(r, s.kind, func(n *Node) {
		n.Exists = &there
		if o.ResourceVersion != 0 {
			n.ResourceVersion = strconv.FormatUint(o.ResourceVersion, 10)
		}
	})
	if i >= 0 {
		w.nodes[i].from, w.nodes[i].o = s, o
	}
	return i
}

// add adds what is named, or finds it, and lets show complete a new one.
func (w *run) add(r reference, k watches.Kind, show func(*Node)) int {
	id := identity{r.of, r.namespace, r.name, r.uid}
	if i, known := w.ids[id]; known {
		return i
	}
	if len(w.nodes) == w.cfg.MaxNodes {
		w.answer.Truncated = &Limit{"maxNodes", w.cfg.MaxNodes}
		return -1
	}
	id.namespace, id.name, id.uid = strings.Clone(id.namespace), strings.Clone(id.name), strings.Clone(id.uid)
	n := Node{GVK: gvkOf(k), Namespace: id.namespace, Name: id.name, UID: id.uid}
	if show != nil {
		show(&n)
	}
	w.ids[id] = len(w.nodes)
	w.answer.Nodes = append(w.answer.Nodes, n)
	w.nodes = append(w.nodes, node{of: r.of, kind: k})
	return len(w.nodes) - 1
}

// connect adds an edge of a rule. It reports whether there was room.
func (w *run) connect(ru *rule, holder, target int) bool {
	e := Edge{From: target, To: holder, Type: ru.typ}
	if ru.down {
		e.From, e.To = holder, target
	}
	if _, known := w.edges[e]; known {
		return true
	}
	most := w.mostEdges()
	if len(w.edges) == most {
		w.answer.Truncated = &Limit{"edges", most}
		return false
	}
	w.edges[e] = struct{}{}
	w.answer.Edges = append(w.answer.Edges, e)
	return true
}

func (w *run) mostEdges() int { return w.cfg.MaxNodes * edgesPerNode }

func (w *run) finish() *Answer {
	if w.answer.Truncated != nil {
		for _, ru := range rules {
			w.gaps.add(ru.typ, LimitReached)
		}
	}
	w.answer.Types = w.gaps.states()
	for of, s := range w.sources {
		if s.state != nil {
			w.answer.ResourceVersions[of.String()] = strconv.FormatUint(s.state.Version, 10)
		}
	}
	return w.answer
}
