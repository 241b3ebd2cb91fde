package simulate

import (
	"container/heap"
	"iter"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// bystanderKind is the kind of a plan's bystander.
const bystanderKind = "ConfigMap"

// planned are the arrivals of a scenario's plan. Each write takes that long to be answered, and to reach the watcher.
func planned(s *spec.Scenario, seed uint64, api time.Duration) (iter.Seq[Arrival], error) {
	p, err := plan.New(s.Load.Plan("simulated", seed))
	if err != nil {
		return nil, &badinput.Error{What: "load: " + err.Error()}
	}
	cfg := p.Config()
	r := reader{cfg: &cfg, api: api, ends: newEnds(s)}
	if cfg.Model == plan.ModelClosed {
		return r.beside(p, r.closed(p)), nil
	}
	speed := s.Speed()
	timed := func(yield func(timedOp) bool) {
		for op := range p.Timed() {
			if !yield(timedOp{speed.Length(op.At), op}) {
				return
			}
		}
	}
	return r.beside(p, timed), nil
}

// timedOp is an operation and when it is dispatched.
type timedOp struct {
	at time.Duration
	op plan.Op
}

// reader makes arrivals of operations.
type reader struct {
	cfg   *plan.Config
	api   time.Duration
	ends  ends
	names []string
}

// beside puts the bystander's updates between the operations.
func (r *reader) beside(p *plan.Plan, ops iter.Seq[timedOp]) iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		next, stop := iter.Pull(p.Bystander(oplog.PhaseLoad))
		defer stop()
		trickle, more := next()
		for x := range ops {
			for ; more && trickle.At <= x.at; trickle, more = next() {
				if !yield(Arrival{
					At: trickle.At + r.api, Lag: r.api, Kind: bystanderKind, Namespace: r.namespace(0), Name: trickle.Target.Name,
					UID: "bystander", Version: uint64(trickle.N), Uncounted: true,
				}) {
					return
				}
			}
			a := r.arrival(x)
			if r.ends.first(&a, x.op.Type) {
				if !yield(state(a)) {
					return
				}
			}
			if !yield(a) {
				return
			}
		}
	}
}

func (r *reader) arrival(x timedOp) Arrival {
	op := &x.op
	a := Arrival{At: x.at + r.api, Lag: r.api, Delete: op.Type == oplog.TypeDelete, Version: uint64(op.ID)}
	t := op.Target
	a.Kind, a.Namespace, a.Name, a.UID = t.Kind, r.namespace(t.Namespace), t.Name, uid(t.Name, t.Incarnation)
	return a
}

// ends knows which deletions of Pods make two events: a real apiserver first writes the deletion time.
type ends struct {
	two   bool
	asked map[string]struct{} // uids
}

func newEnds(s *spec.Scenario) ends { return ends{!s.Simulated(), map[string]struct{}{}} }

// first reports whether an arrival comes with such a state before it.
func (e *ends) first(a *Arrival, op string) bool {
	if !e.two || a.Kind != podKind {
		return false
	}
	if op == oplog.TypeTerminate {
		e.asked[a.UID] = struct{}{}
		return false
	}
	if !a.Delete {
		return false
	}
	_, asked := e.asked[a.UID]
	delete(e.asked, a.UID)
	return !asked
}

// state is the change that precedes a deletion, which no operation waits for.
func state(a Arrival) Arrival {
	a.Delete, a.Uncounted = false, true
	return a
}

// namespace keeps the names, which are made of numbers.
func (r *reader) namespace(i int) string {
	if i < 0 {
		return r.cfg.NamespaceName(i)
	}
	for len(r.names) <= i {
		r.names = append(r.names, r.cfg.NamespaceName(len(r.names)))
	}
	return r.names[i]
}

// uid of an object, by the number of deletions of its name before it.
func uid(name string, incarnation int) string {
	if incarnation == 0 {
		return name
	}
	return name + "+" + strconv.Itoa(incarnation)
}

// closed are the threads of a closed loop, each of which waits for its answers, and for all
// of a burst's.
func (r *reader) closed(p *plan.Plan) iter.Seq[timedOp] {
	return func(yield func(timedOp) bool) {
		var all threads
		for k := range r.cfg.Threads {
			next, stop := iter.Pull(p.Thread(k))
			defer stop()
			if t := (&thread{next: next, number: k}); t.step(r.cfg, 0) {
				all = append(all, t)
			}
		}
		heap.Init(&all)
		end := r.cfg.Duration.Std()
		for len(all) > 0 {
			t := all[0]
			if end > 0 && t.at >= end {
				return
			}
			if !yield(timedOp{t.at, t.op}) {
				return
			}
			free := t.at + r.api
			if t.op.Hot && t.op.Burst > 0 { // the rest of the burst does not wait
				free = t.at
			}
			if t.step(r.cfg, free) {
				heap.Fix(&all, 0)
			} else {
				heap.Pop(&all)
			}
		}
	}
}

// thread is one thread of a closed loop with its next operation.
type thread struct {
	next   func() (plan.Op, bool)
	number int
	op     plan.Op
	at     time.Duration
}

// step takes the next operation, at the earliest when the thread is free.
func (t *thread) step(cfg *plan.Config, free time.Duration) (ok bool) {
	inBurst := t.op.Hot && t.op.Burst > 0
	if t.op, ok = t.next(); !ok {
		return false
	}
	t.at = free + t.op.Gap
	if !inBurst {
		t.at += cfg.ThinkTime.Std()
	}
	return true
}

// threads is a heap by the time of the next operation.
type threads []*thread

func (t threads) Len() int { return len(t) }
func (t threads) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].number < t[j].number
}
func (t threads) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *threads) Push(x any)   { *t = append(*t, x.(*thread)) }
func (t *threads) Pop() any {
	old := *t
	x := old[len(old)-1]
	*t = old[:len(old)-1]
	return x
}
