package tune

import (
	"fmt"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// why gives the reasons for an answer, in figures.
func (x *Search) why(c, runner *candidate) (all []result.TuningFact) {
	add := func(name, format string, args ...any) {
		all = append(all, result.TuningFact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	s := x.base
	mean := s.Storage.MeanLatency(podKind)
	requests, first := 0.0, Figures{}
	if len(c.by) > 0 {
		first = c.by[0]
		requests = float64(first.Requests)
	}
	each := ms(mean) + " ms each, as configured"
	if x.length > 0 && mean > 0 && requests > 0 {
		rate := requests / x.length.Seconds()
		add("Little's law", "%s requests a second, simulated, of %s, keep %s in flight on average; what is beyond that catches up", figure(rate), each, figure(rate*mean.Seconds()))
	} else if mean > 0 && requests > 0 {
		n, limit := int(x.inFlight(c)), ""
		if most := s.Storage.Capacity.Inflight; most > 0 && n > most {
			n, limit = most, ", storage's own limit,"
		}
		rate := float64(n) / mean.Seconds()
		add("Little's law", "%d in flight%s of %s, are %s requests a second; the %s that were simulated take %s s by that",
			n, limit, each, figure(rate), thousands(int64(requests)), figure(requests/rate))
	}
	if first.Requests < first.Events && first.Events > 0 {
		add("merging", "%s of %s changes are sent, simulated: later ones took their place", thousands(first.Requests), thousands(first.Events))
	}
	if v := first.Imbalance; v != nil && *v > 1.005 {
		add("skew", "the busiest of %d queues has %s times the mean share, simulated, and decides when all is done", c.set.Queues, figure(*v))
	}
	if d := depth(c, handlerDepth); d > 0 {
		add("burst", "at most %s changes of Pods wait in handler queues at once, simulated; each queue has room for %s", thousands(int64(d)), thousands(int64(c.set.HandlerLen)))
	}
	if low := x.smaller(c); low != nil {
		v, measured := x.worst(low)
		how := "measured"
		if !measured {
			v, how = x.value(low), "simulated"
		}
		verdict := "would do"
		switch {
		case !x.holds(low, x.bound()):
			verdict = "does not"
		case !measured:
			verdict = "might do, and was not measured"
		}
		add("fewer", "%s %s: %s, %s", low.set.Name(), verdict, x.said(v), how)
	}
	if runner != nil {
		v, _ := x.worst(runner)
		add("runner-up", "%s %s: %s, measured in %s", runner.set.Name(), x.verdict(runner), x.said(v), units.Count(x.valid(runner), "run"))
	}
	return all
}

// smaller is the largest setting below one of the same strategy that is known: measured, if
// one is. What was played with fewer plans is no comparison.
func (x *Search) smaller(c *candidate) (low *candidate) {
	for _, k := range x.cands {
		if k.set.Strategy != c.set.Strategy || k.set.Queues >= c.set.Queues || len(k.by) < len(c.by) && len(k.cells) == 0 || len(k.by) == 0 && len(k.cells) == 0 {
			continue
		}
		if low == nil || (x.valid(k) > 0) != (x.valid(low) > 0) && x.valid(k) > 0 ||
			(x.valid(k) > 0) == (x.valid(low) > 0) && bySize(k.set, low.set) > 0 {
			low = k
		}
	}
	return low
}
