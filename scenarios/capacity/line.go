package capacity

import (
	"fmt"
	"math"
	"strconv"

	"github.com/watchbench/watchbench/reports/render"
)

// Line is one figure as a model has it and as it was measured.
type Line struct {
	Point     string   `json:"point"`  // such as "keyed, 30 queues"
	Figure    string   `json:"figure"` // such as "storage rate"
	Unit      string   `json:"unit,omitempty"`
	Model     string   `json:"model"` // by which formula
	Kind      Kind     `json:"kind"`
	Predicted *float64 `json:"predicted,omitempty"`
	Measured  *float64 `json:"measured,omitempty"` // median
	N         int      `json:"n"`                  // measurements
	Note      string   `json:"note,omitempty"`     // why there is no figure, or what to know of it
}

// Kind is what a prediction claims.
type Kind string

// Kinds.
const (
	Predicts    Kind = "prediction"
	Bounds      Kind = "upper bound"
	Approximate Kind = "approximation"
	Fits        Kind = "fit" // to these very measurements, so its error is no error of prediction
)

// Error is how far the prediction is from what was measured, as a part of that: above 0 it
// promised too much. ok is false where one of both is not known, or the measured is 0.
func (l Line) Error() (part float64, ok bool) {
	if l.Predicted == nil || l.Measured == nil || *l.Measured == 0 {
		return 0, false
	}
	e := *l.Predicted / *l.Measured - 1
	return e, !math.IsNaN(e) && !math.IsInf(e, 0)
}

// Broken reports whether what was measured is above an upper bound by more than a part of it,
// which means that the model or the measurement is wrong.
func (l Line) Broken(by float64) bool {
	e, ok := l.Error()
	return ok && l.Kind == Bounds && e < -by
}

// brokenBy is how far above a bound a measured rate may be by chance: a bound is made of the
// mean latency that was configured, and a cell draws some hundred.
const brokenBy = 0.1

// Table sets model and measurement side by side.
func Table(lines []Line) render.Table {
	t := render.Table{Keys: 3, Heads: []render.Head{
		{Title: "point", Words: true}, {Title: "figure", Words: true}, {Title: "model", Words: true}, {Title: "is a", Words: true},
		{Title: "predicted"}, {Title: "measured"}, {Title: "n"}, {Title: "error"}, {Title: "unit", Words: true}, {Title: "", Words: true},
	}}
	for _, l := range lines {
		row := render.Cells(l.Point, l.Figure, l.Model, string(l.Kind), figure(l.Predicted), figure(l.Measured), strconv.Itoa(l.N), "–", l.Unit, l.Note)
		if e, ok := l.Error(); ok {
			row[7].Text = fmt.Sprintf("%+.1f %%", 100*e)
		}
		if l.Broken(brokenBy) {
			row[7].Tone, row[9].Text = render.Bad, "measured above the bound"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// figure writes a value with three digits; one that is not known is a dash.
func figure(v *float64) string {
	switch {
	case v == nil || math.IsNaN(*v) || math.IsInf(*v, 0):
		return "–"
	case math.Abs(*v) >= 1000:
		return strconv.FormatFloat(*v, 'f', 0, 64)
	}
	return strconv.FormatFloat(*v, 'g', 3, 64)
}
