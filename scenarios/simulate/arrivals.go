package simulate

import (
	"iter"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
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
	return r.all(p, s.Speed()), nil
}

// reader makes arrivals of operations.
type reader struct {
	cfg   *plan.Config
	api   time.Duration
	ends  ends
	names []string
}

// all has the operations with the bystander's updates between them.
func (r *reader) all(p *plan.Plan, speed units.Speed) iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		next, stop := iter.Pull(p.Bystander(oplog.PhaseLoad))
		defer stop()
		trickle, more := next()
		for op := range p.Timed() {
			at := speed.Length(op.At)
			for ; more && trickle.At <= at; trickle, more = next() {
				if !yield(Arrival{
					At: trickle.At + r.api, Lag: r.api, Kind: bystanderKind, Namespace: r.namespace(0), Name: trickle.Target.Name,
					UID: "bystander", Version: uint64(trickle.N), Uncounted: true,
				}) {
					return
				}
			}
			a := r.arrival(at, &op)
			if r.ends.first(&a, op.Type) {
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

func (r *reader) arrival(at time.Duration, op *plan.Op) Arrival {
	a := Arrival{At: at + r.api, Lag: r.api, Delete: op.Type == oplog.TypeDelete, Version: uint64(op.ID)}
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
