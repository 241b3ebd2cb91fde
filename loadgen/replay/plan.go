package replay

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// PlanSource makes events of a plan's operations: those that churn would send, with the
// objects that an apiserver would hold after them. Its iterators are used one after the
// other: Initial, Warmup, Events.
type PlanSource struct {
	plan   *plan.Plan
	cfg    plan.Config
	render *churn.Renderer
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
)

// ErrClosedLoop is returned for a plan whose operations have no times of their own.
var ErrClosedLoop = fmt.Errorf("model closed cannot be replayed: a simulated apiserver answers at once, so that there is no pace; use model: open with a rate")

// FromPlan makes a source of an open loop's plan.
func FromPlan(p *plan.Plan) (*PlanSource, error) {
	if profile := p.Config().Profile; profile != "" {
		return nil, fmt.Errorf("profile: %s cannot be replayed; leave it out, only plain pods can", profile)
	}
	cfg := p.Config()
	if cfg.Model != plan.ModelOpen {
		return nil, ErrClosedLoop
	}
	s := &PlanSource{plan: p, cfg: cfg, pods: map[string]*churn.RenderedPod{}, free: plan.FirstFreeID,
		stamp: func(time.Duration) int64 { return time.Now().UnixNano() }}
	s.render = churn.NewRenderer(&s.cfg)
	return s, nil
}

// Resources are those of an apiserver's that watchers ask for.
func (s *PlanSource) Resources() []apisim.Resource { return apisim.BuiltIn() }

// Stamp sets the times of what the iterators yield from now on.
func (s *PlanSource) Stamp(intended func(time.Duration) int64) { s.stamp = intended }

// Planned is the number of operations of the load, without the bystander's.
func (s *PlanSource) Planned() int64 { return s.plan.Planned() }

// Initial makes namespaces, nodes, bystanders, prefilled and hot pods.
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
		hot := slices.Concat(s.plan.HotPods()...)
		for op := range s.plan.Prefill() {
			if !yield(s.pod(op)) {
				return
			}
		}
		for _, op := range hot {
			if !yield(s.pod(op)) {
				return
			}
		}
	}
}

// Warmup is the plan's, one thread's after the other's: here no answer is waited for.
func (s *PlanSource) Warmup() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for k := range s.plan.WarmupThreads() {
			for op := range s.plan.WarmupThread(k) {
				if !yield(s.pod(op)) {
					return
				}
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
			if !yield(s.pod(op)) {
				return
			}
		}
	}
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
	e := Event{
		At: op.At, Type: Modified, Resource: "pods", Namespace: p.Namespace, Name: name,
		Op: oplog.Record{ID: op.ID, Phase: op.Phase, Type: op.Type, Thread: op.Thread, Kind: "Pod", Namespace: p.Namespace, Name: name, Intended: intended},
	}
	if op.Last {
		delete(s.pods, name)
	}
	switch op.Type {
	case oplog.TypeDelete:
		e.Type = Deleted
		return e, nil
	case oplog.TypeCreate:
		e.Type = Added
	}
	s.buf = s.render.Advance(s.buf[:0], p, op, intended)
	e.Object = s.buf
	return e, nil
}

// bystander is the event of an update of a bystander object.
func (s *PlanSource) bystander(op plan.Op) (Event, error) {
	intended := s.stamp(op.At)
	e, err := event(s.render.Bystander(op.Object, op.N, op.ID, intended))
	e.At, e.Type = op.At, Modified
	e.Op.ID, e.Op.Phase, e.Op.Type, e.Op.Thread, e.Op.Bystander, e.Op.Intended = op.ID, op.Phase, op.Type, op.Thread, true, intended
	return e, err
}

// made is the event of an object that exists before the load.
func (s *PlanSource) made(o metav1.Object) (Event, error) {
	id, intended := s.free, s.stamp(0)
	s.free++
	o.SetAnnotations(churn.Marks(id, intended))
	e, err := event(o)
	e.Type = Added
	e.Op.ID, e.Op.Phase, e.Op.Type, e.Op.Thread, e.Op.Intended = id, oplog.PhasePrepare, oplog.TypeCreate, plan.ThreadNone, intended
	e.Op.Bystander = e.Op.Kind == "ConfigMap"
	return e, err
}

// event names an object and its resource.
func event(o metav1.Object) (Event, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return Event{}, fmt.Errorf("encode %s: %w", o.GetName(), err)
	}
	kind := o.(runtime.Object).GetObjectKind().GroupVersionKind().Kind
	return Event{
		Resource: strings.ToLower(kind) + "s", Namespace: o.GetNamespace(), Name: o.GetName(), Object: text,
		Op: oplog.Record{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()},
	}, nil
}
