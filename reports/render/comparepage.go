package render

import (
	"fmt"
	"io"
	"slices"

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/versus"
)

// CompareHTML writes the comparison as one file, with the curves of the runs over one
// another.
func CompareHTML(w io.Writer, c *versus.Comparison) error {
	script, _ := assets.ECharts()
	return writeComparison(w, c, script)
}

type comparisonPage struct {
	comparison
	shell
}

func writeComparison(w io.Writer, c *versus.Comparison, echarts []byte) error {
	return fill(w, pageTemplates.Lookup("compare.html"), comparisonPage{comparison{c}, newShell(echarts)})
}

// pointView are the charts of one point.
type pointView struct {
	ID, Name string
	Charts   []*chart
}

// openPoints is how many points' charts are drawn at once; those of the others wait until
// they are opened.
const openPoints = 3

// First are the points that changed most, with their charts; Rest are the others.
func (c comparison) First() []pointView { v := c.views(); return v[:min(len(v), openPoints)] }

// Rest are the points that are drawn on request.
func (c comparison) Rest() []pointView { v := c.views(); return v[min(len(v), openPoints):] }

// views are the points that have charts, in the order in which figures name them.
func (c comparison) views() (all []pointView) {
	var order []string
	for _, f := range c.Figures {
		if !slices.Contains(order, f.Point) {
			order = append(order, f.Point)
		}
	}
	most := pointsPerLine(len(order) * len(c.Runs) * len(mainCurves))
	for i, name := range order {
		j := slices.IndexFunc(c.Points, func(p versus.Point) bool { return p.Name == name })
		rows := c.rows(&c.Points[j])
		id := fmt.Sprintf("point%d", i+1)
		fresh := freshnessCurve(id+"-distribution", rows)
		if fresh != nil {
			fresh.Caption = "How many per cent of the operations had been acknowledged by storage within how many seconds, all repetitions together."
		}
		v := pointView{ID: id, Name: clean(name), Charts: drawn(append([]*chart{fresh}, curveCharts(id+"-curve", rows, mainCurves, most)...))}
		if len(v.Charts) > 0 {
			all = append(all, v)
		}
	}
	return all
}

// rows are the runs' cells at a point, as the charts know them: a row a run.
func (c comparison) rows(p *versus.Point) (rows []*row) {
	for i, run := range c.Runs {
		r := &row{strategy: run.Name + " " + run.Label, load: p.Name, place: i, checks: map[string]result.Check{}}
		for _, cell := range p.All(i) {
			r.add(cell)
		}
		if len(r.cells) > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}
