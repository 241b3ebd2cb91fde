package capacity

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/scenarios/model"
)

// Document is the report as terminal, Markdown and page draw it.
func (r *Report) Document() *render.Document {
	d := &render.Document{Title: "capacity model of " + r.Scenario, Subtitle: "run " + r.Run}
	for _, c := range r.Curves {
		d.Findings = append(d.Findings, c.sentence())
	}
	d.Sections = []render.Section{{
		Title: "model and measurement", Table: Table(r.Lines),
		Text: []string{"Predictions are made of the configured latency and capacity and the writes in the op log. An error above 0 says that the model promised more than was measured; that of an upper bound is what it leaves open, that of a fit is no error of prediction."},
	}}
	for _, c := range r.Curves {
		d.Sections[0].Plots = append(d.Sections[0].Plots, c.plot())
	}
	if len(r.Refused) > 0 {
		d.Sections = append(d.Sections, render.Section{Title: "refused", Notes: r.Refused})
	}
	if len(r.LeftOut) > 0 {
		d.Sections = append(d.Sections, render.Section{Title: "left out", Notes: r.LeftOut})
	}
	return d
}

func (c *Curve) sentence() string {
	s := fmt.Sprintf("%s: X(N) = γN ÷ (1 + α(N−1) + βN(N−1)) with γ %.3g/s, α %.3g (%.3g to %.3g), β %.3g (%.3g to %.3g) at %.0f%%; R² %.3f", c.Of, c.Law.Gamma,
		c.Law.Alpha, c.Alpha[0], c.Alpha[1], c.Law.Beta, c.Beta[0], c.Beta[1], 100*model.ScalingLevel, c.R2)
	if c.Peak == nil {
		return s + ". " + c.NoPeak + "."
	}
	most := c.Points[len(c.Points)-1][0]
	if *c.Peak > most {
		s += fmt.Sprintf(". The rate would be highest at %.0f queues, beyond the %.0f that were measured", *c.Peak, most)
	} else {
		s += fmt.Sprintf(". The rate is highest at %.0f queues", *c.Peak)
	}
	return s + fmt.Sprintf(" (%.0f to %.0f).", c.PeakIn[0], c.PeakIn[1])
}

// curveSteps is how many points a fitted curve is drawn with.
const curveSteps = 60

func (c *Curve) plot() render.Plot {
	fitted := render.PlotLine{Name: "law", Model: true}
	first, last := c.Points[0][0], c.Points[len(c.Points)-1][0]
	for k := range curveSteps + 1 {
		n := int(first + (last-first)*float64(k)/curveSteps + 0.5)
		fitted.Points = append(fitted.Points, [2]float64{float64(n), c.Law.At(n)})
	}
	return render.Plot{
		Title: "Storage rate by queues: " + c.Of, X: "queues", Unit: "requests/s",
		Caption: "Medians of the cells, Little's limit, and the universal scalability law fitted to them.",
		Lines:   []render.PlotLine{{Name: c.Of, Points: c.Points}, {Name: "Little's limit", Model: true, Points: c.Limits}, fitted},
	}
}
