package replay

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// PlanSource makes events of a plan's operations: those that churn would send, with the
// objects that an apiserver would hold after them. Its iterators are used one after the
// other: Initial, Warmup, Events.
type PlanSource struct {
	plan   *plan.Plan
	cfg    plan.Config
	render *churn.Renderer
	shape  *shape.Maker // of a profile's objects
	served []apisim.Resource
	stamp  func(time.Duration) int64
	pods   map[string]*churn.RenderedPod // that go on, by name
	buf    []byte
	free   int64
}

var (
	_ Source  = (*PlanSource)(nil)
	_ Warmer  = (*PlanSource)(nil)
	_ Stamper = (*PlanSource)(nil)
	_ Counter = (*PlanSource)(nil)

	_ shape.Refs = (*PlanSource)(nil)
)

// ErrClosedLoop is returned for a plan whose operations have no times of their own.
var ErrClosedLoop = fmt.Errorf("model closed cannot be replayed: a simulated apiserver answers at once, so that there is no pace; use model: open with a rate")

// FromPlan makes a source of an open loop's plan.
func FromPlan(p *plan.Plan) (*PlanSource, error) {
	cfg := p.Config()
	if cfg.Model != plan.ModelOpen {
		return nil, ErrClosedLoop
	}
	s := &PlanSource{plan: p, cfg: cfg, served: apisim.BuiltIn(), pods: map[string]*churn.RenderedPod{}, free: plan.FirstFreeID,
		stamp: func(time.Duration) int64 { return time.Now().UnixNano() }}
	s.render = churn.NewRenderer(&s.cfg)
	s.shape = shape.New(shape.Config{RunID: cfg.RunID, Namespaces: s.cfg.NamespaceName, Nodes: s.cfg.NodeName})
	if cfg.HasWidgets() {
		r, _ := shape.Resource(shape.KindWidget)
		s.served = append(s.served, apisim.Resource{Group: r.Group, Versions: []string{r.Version}, Name: r.Resource, Kind: shape.KindWidget, Namespaced: true, Custom: true})
	}
	return s, nil
}

// Resources are those of an apiserver's that watchers ask for, and a profile's own.
func (s *PlanSource) Resources() []apisim.Resource { return s.served }

// UID is that of a profile's target. It follows from the plan, so that it is known before
// the target is created.
func (s *PlanSource) UID(t *plan.Target) types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(s.cfg.Seed), t.Incarnation, t.Lane))
}

// Stamp sets the times of what the iterators yield from now on.
func (s *PlanSource) Stamp(intended func(time.Duration) int64) { s.stamp = intended }

// Planned is the number of operations of the load, without the bystander's.
func (s *PlanSource) Planned() int64 { return s.plan.Planned() }

// Initial makes namespaces, nodes, bystanders, prefilled and hot pods, or what a profile
// begins with.
func (s *PlanSource) Initial() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ground := s.render.Ground()
		if b := s.cfg.Bystander; b != nil {
			for i := range b.Count() {
				ground = append(ground, s.render.Bystander(i, 0, s.free+int64(len(ground)), s.stamp(0)))
			}
		}
		for _, o := range ground {
			if !yield(s.made(o)) {
				return
			}
		}
		if s.cfg.Profile != "" {
			s.each(s.plan.Setup(), yield)
			return
		}
		hot := slices.Concat(s.plan.HotPods()...)
		_ = s.each(s.plan.Prefill(), yield) && s.each(slices.Values(hot), yield)
	}
}

// each yields the events of operations and reports whether to go on.
func (s *PlanSource) each(ops iter.Seq[plan.Op], yield func(Event, error) bool) bool {
	for op := range ops {
		if !yield(s.event(op)) {
			return false
		}
	}
	return true
}

// Warmup is the plan's, one thread's after the other's: here no answer is waited for.
func (s *PlanSource) Warmup() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for k := range s.plan.WarmupThreads() {
			if !s.each(s.plan.WarmupThread(k), yield) {
				return
			}
		}
	}
}

// Events are the load with the bystander's updates between.
func (s *PlanSource) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		next, stop := iter.Pull(s.plan.Bystander(oplog.PhaseLoad))
		defer stop()
		trickle, more := next()
		for op := range s.plan.Timed() {
			for ; more && trickle.At <= op.At; trickle, more = next() {
				if !yield(s.bystander(trickle)) {
					return
				}
			}
			if !yield(s.event(op)) {
				return
			}
		}
	}
}

// event is that of an operation.
func (s *PlanSource) event(op plan.Op) (Event, error) {
	if op.Target == nil {
		return s.pod(op)
	}
	t, intended := op.Target, s.stamp(op.At)
	e := s.about(op, t.Kind, s.cfg.NamespaceName(t.Namespace), t.Name, intended)
	// The version is the server's. A deletion ends what is kept of the target.
	e.Object = s.shape.Served(op, s, 0, time.Unix(0, intended))
	return e, nil
}

// about is the event of an operation on an object, without its state.
func (s *PlanSource) about(op plan.Op, kind, namespace, name string, intended int64) Event {
	e := Event{
		At: op.At, Type: Modified, Resource: s.key(kind), Namespace: namespace, Name: name,
		Op: oplog.Record{ID: op.ID, Phase: op.Phase, Type: op.Type, Thread: op.Thread, Kind: kind, Namespace: namespace, Name: name, Intended: intended},
	}
	switch op.Type {
	case oplog.TypeCreate:
		e.Type = Added
	case oplog.TypeDelete:
		e.Type = Deleted
	}
	return e
}

// key is the resource of a kind.
func (s *PlanSource) key(kind string) string {
	i := slices.IndexFunc(s.served, func(r apisim.Resource) bool { return r.Kind == kind })
	return s.served[i].Key()
}

// pod is the event of an operation on a pod.
func (s *PlanSource) pod(op plan.Op) (Event, error) {
	name, intended := op.Pod.Name, s.stamp(op.At)
	p := s.pods[name]
	if op.Type == oplog.TypeCreate {
		var err error
		if p, err = s.render.Begin(op); err != nil {
			return Event{}, err
		}
		if !op.Last {
			s.pods[name] = p
		}
	}
	if p == nil {
		return Event{}, fmt.Errorf("plan: %s of pod %s, which was never created", op.Type, name)
	}
	e := s.about(op, shape.KindPod, p.Namespace, name, intended)
	if op.Last {
		delete(s.pods, name)
	}
	if e.Type == Deleted {
		return e, nil
	}
	s.buf = s.render.Advance(s.buf[:0], p, op, intended)
	e.Object = s.buf
	return e, nil
}

// bystander is the event of an update of a bystander object.
func (s *PlanSource) bystander(op plan.Op) (Event, error) {
	intended := s.stamp(op.At)
	e, err := s.holding(op, s.render.Bystander(op.Object, op.N, op.ID, intended), intended)
	e.Op.Bystander = true
	return e, err
}

// made is the event of an object that exists before the load.
func (s *PlanSource) made(o shape.Object) (Event, error) {
	id, intended := s.free, s.stamp(0)
	s.free++
	o.SetAnnotations(churn.Marks(id, intended))
	e, err := s.holding(plan.Op{ID: id, Phase: oplog.PhasePrepare, Type: oplog.TypeCreate, Thread: plan.ThreadNone}, o, intended)
	e.Op.Bystander = e.Op.Kind == shape.KindConfigMap
	return e, err
}

// holding is the event of an operation that leaves o behind.
func (s *PlanSource) holding(op plan.Op, o shape.Object, intended int64) (Event, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return Event{}, fmt.Errorf("encode %s: %w", o.GetName(), err)
	}
	e := s.about(op, o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName(), intended)
	e.Object = text
	return e, nil
}
