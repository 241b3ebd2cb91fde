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

// PlanSource makes events of a plan's operations: those that churn would send, with the objects that an apiserver would
// hold after them. Its iterators are used one after the other: Initial, Warmup, Events.
type PlanSource struct {
	plan   *plan.Plan
	cfg    plan.Config
	shape  *shape.Maker
	served []apisim.Resource
	stamp  func(time.Duration) int64
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
var ErrClosedLoop = fmt.Errorf(
	"model closed cannot be replayed: a simulated apiserver answers at once, so that there " +
		"is nothing to set the pace; use model: open with a rate")

// FromPlan makes a source of an open loop's plan.
func FromPlan(p *plan.Plan) (*PlanSource, error) {
	cfg := p.Config()
	if cfg.Model != plan.ModelOpen {
		return nil, ErrClosedLoop
	}
	s := &PlanSource{plan: p, cfg: cfg, served: apisim.BuiltIn(), free: plan.FirstFreeID,
		stamp: func(time.Duration) int64 { return time.Now().UnixNano() }}
	s.shape = shape.New(shape.Config{RunID: cfg.RunID, Namespaces: s.cfg.NamespaceName, Nodes: s.cfg.NodeName})
	if cfg.HasWidgets() {
		r, _ := shape.Resource(shape.KindWidget)
		s.served = append(s.served, apisim.Resource{Group: r.Group, Versions: []string{r.Version}, Name: r.Resource,
			Kind: shape.KindWidget, Namespaced: true, Custom: true})
	}
	return s, nil
}

// Resources returns the built-in ones that watchers ask for, and the profile's own.
func (s *PlanSource) Resources() []apisim.Resource { return s.served }

// UID returns the uid of a target. It follows from the plan, so that it is known before the target is created.
func (s *PlanSource) UID(t *plan.Target) types.UID {
	return types.UID(apisim.UID(s.cfg.Seed, uint64(t.Lane)<<16|uint64(t.Incarnation)))
}

// Stamp sets the times of what the iterators yield from now on.
func (s *PlanSource) Stamp(intended func(time.Duration) int64) { s.stamp = intended }

// Planned is the number of operations of the load, without the bystander's.
func (s *PlanSource) Planned() int64 { return s.plan.Planned() }

// Initial makes namespaces and whatever else exists before the load.
func (s *PlanSource) Initial() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, o := range churn.Ground(&s.cfg) {
			if !yield(s.made(o)) {
				return
			}
		}
		s.each(s.plan.Setup(), yield)
	}
}

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
				if !yield(s.event(trickle)) {
					return
				}
			}
			if !yield(s.event(op)) {
				return
			}
		}
	}
}

func (s *PlanSource) event(op plan.Op) (Event, error) {
	t, intended := op.Target, s.stamp(op.At)
	if op.Bystander { // of which nothing is kept
		o := s.shape.Object(op, s, time.Unix(0, intended))
		r, _ := shape.Resource(t.Kind)
		o.GetObjectKind().SetGroupVersionKind(r.GroupVersion().WithKind(t.Kind))
		return s.holding(op, o, intended)
	}
	e := s.about(op, t.Kind, s.cfg.NamespaceName(t.Namespace), t.Name, intended)
	// The version is the server's. A deletion ends what is kept of the target.
	e.Object = s.shape.Served(op, s, 0, time.Unix(0, intended))
	return e, nil
}

// about is the event of an operation on an object, without its state.
func (s *PlanSource) about(op plan.Op, kind, namespace, name string, intended int64) Event {
	e := Event{
		At: op.At, Type: Modified, Resource: s.key(kind), Namespace: namespace, Name: name,
		Op: oplog.Record{ID: op.ID, Phase: op.Phase, Type: op.Type, Thread: op.Thread, Kind: kind, Namespace: namespace,
			Name: name, Intended: intended,
			Bystander: op.Bystander},
	}
	switch op.Type {
	case oplog.TypeCreate:
		e.Type = Added
	case oplog.TypeDelete:
		e.Type = Deleted
	}
	return e
}

func (s *PlanSource) key(kind string) string {
	i := slices.IndexFunc(s.served, func(r apisim.Resource) bool { return r.Kind == kind })
	return s.served[i].Key()
}

// made is the event of an object that exists before the load.
func (s *PlanSource) made(o shape.Object) (Event, error) {
	id, intended := s.free, s.stamp(0)
	s.free++
	o.SetAnnotations(churn.Marks(id, intended))
	return s.holding(plan.Op{ID: id, Phase: oplog.PhasePrepare, Type: oplog.TypeCreate, Thread: plan.ThreadNone}, o,
		intended)
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
