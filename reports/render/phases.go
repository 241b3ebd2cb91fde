package render

import (
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

// phases collects how long the load of a chart's rows was, and until when they drained.
type phases struct {
	loads   []float64
	drained float64 // the latest, in seconds from the start of the load
}

func (p *phases) add(c *result.Cell) {
	if c.Load.DurationS <= 0 {
		return
	}
	p.loads = append(p.loads, c.Load.DurationS)
	if d := c.Handler.DrainAfterLoad; d != nil {
		p.drained = max(p.drained, c.Load.DurationS+*d)
	}
	if c.Cut {
		p.drained = math.Inf(1) // the record ends before
	}
}

// shade marks the median load and the longest drain in a chart whose curves end at the given
// time. The marks are a series without a name, which has no place in the legend, so that no
// click there removes them.
func (p *phases) shade(line *charts.Line, end float64) {
	m := median(p.loads)
	if m == nil || end <= 0 {
		return
	}
	type edge struct {
		Name  string          `json:"name,omitempty"`
		XAxis float64         `json:"xAxis"`
		Style *opts.ItemStyle `json:"itemStyle,omitempty"`
		Label *opts.Label     `json:"label,omitempty"`
	}
	// Names stand at the outer ends, so that those of a short phase do not meet.
	area := func(name, color, position string, from, to float64) []edge {
		return []edge{{name, from, &opts.ItemStyle{Color: color, Opacity: opts.Float(0.3)}, &opts.Label{Position: position}}, {XAxis: to}}
	}
	shaded := opts.MarkAreas{Data: []any{area("load", "#8fb0ea", "insideTopLeft", 0, min(*m, end))}}
	if until := min(p.drained, end); until > *m {
		shaded.Data = append(shaded.Data, area("drain", "#c7d7f5", "insideTopRight", *m, until))
	}
	line.AddSeries("", []opts.LineData{})
	line.MultiSeries[len(line.MultiSeries)-1].MarkAreas = &shaded
}
