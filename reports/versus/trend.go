package versus

import (
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Reading is what one run has at one of its points.
type Reading struct {
	Point  string // as in Point.Name
	Params map[string]string
	Sides  []Side // by metric; without values where Why says so
	// Why says that the figures are not to be compared: nothing valid was measured, or a core check fails.
	Why string
}

// Readings sums a run up at each of its points.
func Readings(res *result.Results, metrics []result.Metric) (all []Reading) {
	points := Match(res)
	for i := range points {
		p := &points[i]
		r := Reading{Point: p.Name, Params: p.Params, Sides: make([]Side, len(metrics))}
		failing := p.failing(0)
		switch {
		case len(failing) > 0:
			r.Why = "fails " + strings.Join(failing, " ")
		case p.cut(0) > 0: // the cells that were not cut are the faster ones
			r.Why = "cut"
		case len(p.Cells[0]) == 0:
			r.Why = "invalid"
		default:
			for i, m := range metrics {
				r.Sides[i] = sideOf(m, p, 0)
			}
		}
		all = append(all, r)
	}
	return all
}
