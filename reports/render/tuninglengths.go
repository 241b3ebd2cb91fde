package render

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// tuningLengths says of each length which is enough, and what a shorter one comes to.
func tuningLengths(all []result.TuningLength) Table {
	t := Table{Keys: 2, Heads: []Head{{Title: "setting", Words: true}, {Title: "length", Words: true}, {Title: "shortest that holds"}, {Title: "recommended"}, {Title: "a shorter one, simulated", Words: true}}}
	for _, l := range all {
		shortest, shorter := fmt.Sprint(l.Shortest), "none: "+l.None
		switch {
		case l.Shortest == 0:
			shortest, shorter = unknown, "no effect: "+l.NoEffect
		case l.Shorter > 0:
			shorter = fmt.Sprintf("%d %s", l.Shorter, l.Comes)
		}
		t.Rows = append(t.Rows, Cells(l.Setting.Name(), l.Key, shortest, fmt.Sprint(l.Recommended), shorter))
	}
	return t
}

// lengthHeat is the map of lengths by number, of the strategy of the answer.
func lengthHeat(t *result.Tuning) Heat {
	l := t.LengthMap
	if l == nil {
		return Heat{}
	}
	h := Heat{
		Title: t.Objective.Metric + " of " + l.Strategy + " by podQueueNum and handlerQueueLen", X: "podQueueNum", Unit: "s", Values: l.Values,
		Caption: "Predicted in virtual time; the more a field stands out from the page, the longer. A gap is beyond a limit, or loses events. Where a column has one colour, its queues never fill.",
	}
	for _, n := range l.Queues {
		h.Columns = append(h.Columns, fmt.Sprint(n))
	}
	if len(h.Columns) == 0 {
		h.X, h.Columns = "", []string{"finds its number itself"}
		if l.Strategy == "single" {
			h.Columns[0] = "one queue"
		}
	}
	for _, n := range l.Lengths {
		h.Rows = append(h.Rows, fmt.Sprint(n))
	}
	return h
}
