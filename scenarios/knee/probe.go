package knee

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// noise is how far a figure may be from the objective, as a part of it, and still be on the
// other side in another cell. At the knee freshness grows by more than this within a few
// percent of the rate.
const noise = 0.2

// judge says whether a cell carried its rate.
func (o Objective) judge(c *result.Cell, limits spec.Limits) (p Probe) {
	p.QPS, p.Reached, p.paced = c.Load.QPS, o.of.Of(c), c.Pace != nil
	p.few = c.Freshness != nil && c.Freshness.P99IsMax()
	if c.Events != nil {
		p.Lost = c.Events.Lost
	}
	why := violation(c)
	if why == "" && !c.Valid {
		// Lateness explains no loss, but all else.
		p.Verdict, p.Why, p.generator = Invalid, strings.Join(c.InvalidReasons, "; "), generatorLate(&c.Load, limits)
		return p
	}
	if why == "" {
		why = unfinished(c)
	}
	if why == "" && p.Reached == nil {
		why = "freshness is not known"
	}
	if why != "" {
		p.Verdict, p.Why, p.hard = Not, why, true
		return p
	}
	reached := *p.Reached
	p.near = reached > o.Limit*(1-noise) && reached < o.Limit*(1+noise)
	switch {
	case reached > o.Limit:
		p.Verdict, p.Why = Not, fmt.Sprintf("%s was %s s", strings.Replace(o.Metric, ".", " ", 1), number(reached))
	case c.Pace != nil && !c.Pace.KeepsUp:
		p.Verdict, p.near = Not, true
		p.Why = fmt.Sprintf("the backlog grew by %s writes/s", number(c.Pace.GrowthQPS))
	default:
		p.Verdict = Carried
	}
	if p.Verdict == Carried && p.Lost == nil {
		p.Verdict, p.Why, p.hard = Not, "it is not known whether anything was lost", true
	}
	return p
}

// violation is a loss, or a guarantee that is violated and may not be; empty without one.
// Guarantees that the scenario allows to fail are no matter, but that nothing is lost.
func violation(c *result.Cell) string {
	if c.Events != nil && c.Events.Lost != nil && *c.Events.Lost > 0 {
		return fmt.Sprintf("%d objects were lost", *c.Events.Lost)
	}
	if c.Events != nil && c.Events.Dropped > 0 {
		return fmt.Sprintf("%d events were dropped", c.Events.Dropped)
	}
	var failed []string
	for _, g := range slices.Sorted(maps.Keys(c.Checks)) {
		v := c.Checks[g].Verdict
		if v == result.Fail && c.Counts(g) || v == result.Allowed && (g == "G1" || g == "G6") {
			failed = append(failed, g)
		}
	}
	if len(failed) > 0 {
		return strings.Join(failed, " ") + " failed"
	}
	return ""
}

// unfinished says that a cell was not measured to its end.
func unfinished(c *result.Cell) string {
	if c.Cut {
		return fmt.Sprintf("the drain was cut at %.0f%%", 100*c.CutFraction)
	}
	return ""
}

// generatorLate reports whether the generator itself was behind, by the rules of a cell's
// validity.
func generatorLate(l *result.Load, limits spec.Limits) bool {
	late := l.LagMs != nil && l.LagMs.P99 > limits.Lag.Std().Seconds()*1000
	short := l.PlannedQPS != nil && *l.PlannedQPS > 0 && l.QPS < *l.PlannedQPS*float64(limits.MinOffered)
	return late || short
}
