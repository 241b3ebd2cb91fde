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
