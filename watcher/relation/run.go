package relation

import (
	"context"
	"errors"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// edgesPerNode bounds the edges of an answer, and the references that are looked at for one
// level of it, to so many times Config.MaxNodes.
const edgesPerNode = 32

// Graph answers a query within a seat, if it has one. Its error is a Status, one of access, one of
// watches about the start's kind, or the cause of ctx's end.
func (r *Relations) Graph(ctx context.Context, q Query, seat *access.Seat) (*Answer, error) {
	opening, cancel := context.WithTimeout(ctx, r.cfg.Wait.Std())
	defer cancel()
	w := &run{
		Relations: r, q: q, seat: seat, ctx: ctx, opening: opening, gaps: gaps{},
		answer: &Answer{Direction: q.Direction, Depth: q.Depth, Nodes: []Node{}, Edges: []Edge{},
			ResourceVersions: map[string]string{}},
		ids: map[identity]int{}, edges: map[Edge]struct{}{}, said: map[permission]error{},
		sources: map[watches.GVR]*source{}, started: map[watches.GVR]bool{},
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
	ctx, opening context.Context
	plan         *plan
	start        watches.Kind

	answer *Answer
	nodes  []node
	ids    map[identity]int
	edges  map[Edge]struct{}
	gaps   gaps

	said    map[permission]error    // by the guard
	started map[watches.GVR]bool    // see startFor
	sources map[watches.GVR]*source // opened, or not
	buf     []byte                  // for unpacking
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
		if s.watch != nil {
			s.watch.Close()
		}
	}
}

// begin finds the start.
func (w *run) begin() error {
	catalogue := w.set.Kinds.Served()
	k, served := catalogue.FindKind(w.q.Group, w.q.Version, w.q.Kind)
	of := groupKind{w.q.Group, w.q.Kind}
	if !served && of == secrets && w.q.Version == "v1" {
		k, served = secretKind, true
	}
	switch {
	case len(catalogue.Groups) == 0:
		return kubeapi.Unavailable("what the cluster serves is not known yet")
	case !served:
		return watches.ErrNotServed
	case k.Namespaced && w.q.Namespace == "":
		return kubeapi.BadRequest("namespace: want one: %s is namespaced", gvkOf(k))
	case !k.Namespaced && w.q.Namespace != "":
		return kubeapi.BadRequest("namespace: leave it out: %s is in no namespace", gvkOf(k))
	}
	w.start, w.plan = k, newPlan(catalogue, w.set.Followed(), w.cfg.Kinds, k)
	err := w.seat.Without(w.ctx, func() error {
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
		return apierrors.NewNotFound(schema.GroupResource{Group: k.Group, Resource: k.Name}, w.q.Name)
	}
	w.object(s, o)
	return nil
}

// secretKind is for a start that is only named, whether or not Secrets are served.
var secretKind = func() (k watches.Kind) {
	k.Version, k.Name, k.Kind, k.Namespaced = "v1", secretsKind, secrets.kind, true
	return k
}()

// may asks the guard once for each kind and namespace.
func (w *run) may(k watches.Kind, namespace string) error {
	p := permission{watches.GVROf(k), namespace}
	err, known := w.said[p]
	if !known {
		err = w.seat.Without(w.ctx, func() error {
			return w.set.Guard.Authorize(w.ctx, w.q.User, access.Attributes{Verb: "list", Group: k.Group, Version: k.Version,
				Resource: k.Name, Namespace: namespace})
		})
		w.said[p] = err
	}
	return err
}

func forbidden(err error) Reason {
	if errors.As(err, new(*access.ForbiddenError)) {
		return Forbidden
	}
	return AccessUnknown
}

func (w *run) open(k watches.Kind) (s *source, err error) {
	_ = w.seat.Without(w.ctx, func() error { // an end of ctx is seen before the next step
		s, err = open(w.opening, w.set.Kinds, k, w.cfg.Wait.Std())
		return nil
	})
	w.sources[watches.GVROf(k)] = s
	return s, err
}

// source opens a kind once.
func (w *run) source(k watches.Kind) *source {
	s := w.sources[watches.GVROf(k)]
	if s == nil {
		s, _ = w.open(k)
	}
	return s
}

// object adds an object that the user may see, or finds it. It returns -1 if the answer is full.
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
