package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// sentence is the answer for whoever pays, made of what was measured.
func (x *Search) sentence(c *candidate, met bool) string {
	s := x.situation() + ", "
	n := x.valid(c)
	v, _ := x.worst(c)
	switch {
	case met:
		s += enough(c.set, x.kinds) + x.beaten() + ": " + x.achieved(*v)
		if merges(c.set.Strategy) || len(c.by) > 0 && c.by[0].Requests < c.by[0].Events {
			s += " (the latest state of an object; states that it had in between may be left out)"
		}
		return s + "; " + x.proof(c) + "."
	case len(c.cells) == 0:
		how := "comes closest"
		if x.holds(c, x.bound()) {
			how = "would do"
		}
		return s + "nothing was measured that holds the objective; by simulation " + named(c.set) + " " + how + ", with " + x.said(x.predicted(c)) + "."
	}
	s += "no setting that was tried " + x.missed() + "; "
	bad := slices.IndexFunc(c.cells, func(t result.TunedCell) bool { return len(t.Failed) > 0 })
	switch {
	case bad >= 0:
		return s + named(c.set) + " comes closest, and fails " + strings.Join(c.cells[bad].Failed, " ") + "."
	case n == 0:
		return s + "of " + named(c.set) + " no measurement is valid (" + c.cells[len(c.cells)-1].Reason + ")."
	case v == nil:
		return s + named(c.set) + " comes closest, and was not done when it was cut."
	}
	return s + fmt.Sprintf("%s comes closest, with %s s (%s).", named(c.set), figure(*v), units.Count(n, "run"))
}

// situation is load and storage.
func (x *Search) situation() string {
	s := x.base
	of := "changes"
	if len(x.kinds) == 1 {
		of = "changes of Pods"
	}
	var at string
	switch {
	case x.length == 0:
		at = fmt.Sprintf("For a burst of %s %s", thousands(x.planned), of)
	case s.Traced():
		at = fmt.Sprintf("For a recording with %s changes in %s", thousands(x.planned), x.length)
	case x.o.Asked > 0:
		at = fmt.Sprintf("At about %s %s a second", figure(x.o.Asked), of)
	default:
		at = fmt.Sprintf("At %s %s a second", figure(float64(x.planned)/x.length.Seconds()), of)
	}
	if f := s.Storage.LatencyFigures(podKind); f.P50 > 0 {
		at += fmt.Sprintf(" and a storage that answers in %s ms (99 of 100 times within %s ms)", ms(f.P50), ms(f.P99))
	}
	return at
}

// enough says what a setting is, by the names that a configuration has for it.
func enough(s Setting, kinds []string) string {
	at := fmt.Sprintf("%d requests at once", s.Queues)
	if s.Queues <= 1 {
		at = "one request at a time"
	}
	if len(kinds) > 1 {
		at += fmt.Sprintf(" for each of %d kinds of object", len(kinds))
	}
	name := "the strategy " + named(s)
	switch s.Strategy {
	case single:
		return name + ", which has no podQueueNum (" + at + "), is enough"
	case adaptive:
		return name + ", which needs no podQueueNum (it finds the number of requests itself), is enough"
	case partitioned:
		at = fmt.Sprintf("%d queues for Pods", s.Queues)
		others := len(kinds) - 1
		if slices.Contains(kinds, eventKind) {
			others--
			at += fmt.Sprintf(", %d for Events", originalEventQueues*s.Queues)
		}
		if others > 0 {
			at += ", one for each other kind"
		}
	}
	return name + " (" + at + ") is enough"
}

// named is a setting by the names of a configuration.
func named(s Setting) string {
	if !numbered(s.Strategy) {
		return s.Strategy
	}
	return fmt.Sprintf("%s with podQueueNum %d", s.Strategy, s.Queues)
}

// beaten says what it was held against, where the user named no bound.
func (x *Search) beaten() string {
	if !x.relative() {
		return ""
	}
	others := -1
	for _, c := range x.cands {
		others += min(1, len(x.values(c)))
	}
	switch others {
	case 0:
		return " (no other setting was measured)"
	case 1:
		return " (the one other setting that was measured is not clearly faster)"
	}
	return fmt.Sprintf(" (none of the %d other settings that were measured is clearly faster)", others)
}

func (x *Search) missed() string {
	o := x.o.Objective
	switch {
	case o.Rate > 0:
		return fmt.Sprintf("carries %s changes a second", figure(o.Rate))
	case o.Bound > 0:
		return "keeps " + o.Metric + " within " + figure(o.Bound.Seconds()) + " s"
	}
	return "could be confirmed"
}

// achieved is the worst of the runs.
func (x *Search) achieved(v float64) string {
	within := figure(roundUp(v)) + " s"
	switch x.o.Objective.Metric {
	case metricP50:
		return "half of the changes are in storage within " + within
	case metricP90:
		return "9 of 10 changes are in storage within " + within
	case metricP99:
		return "99 of 100 changes are in storage within " + within
	case metricMax:
		return "every change is in storage within " + within
	case metricDrain:
		return "all of it is in storage within " + within + " of the first change"
	}
	return "all of it is in storage within " + within + " of the last change"
}

// proof says what was found in how many runs, and nothing of what was not judged.
func (x *Search) proof(c *candidate) string {
	n, safe, ordered, events := 0, 0, 0, int64(0)
	for i := range c.cells {
		t := &c.cells[i]
		if !t.Valid {
			continue
		}
		if n++; events == 0 || t.Figures.Events < events {
			events = t.Figures.Events
		}
		if t.Safe {
			safe++
		}
		if t.Ordered {
			ordered++
		}
	}
	s := "measured in " + units.Count(n, "run")
	if safe == n && n > 0 {
		s = "nothing was lost in " + units.Count(n, "run")
		if ordered == n {
			s = "nothing was lost or reordered in " + units.Count(n, "run")
		}
	}
	if events > 0 {
		s += " of " + map[bool]string{true: "at least "}[n > 1] + thousands(events) + " changes"
	}
	if x.base.Simulated() {
		s += " from a simulated API server"
	}
	return s
}

// roundUp keeps two digits, upwards: "within" must stay true.
func roundUp(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	up, err := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(v/unit-1e-9)*unit, 'g', 2, 64), 64)
	if err != nil {
		return v
	}
	return up
}

// thousands writes 20,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
