package result

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/stats"
)

// Threshold is a bound that the scenario sets on a metric, at one point of its matrix, and
// whether it holds there. The median over the valid repetitions decides.
type Threshold struct {
	Point  string            `json:"point"` // the id of the point's cells, without their repetition
	Params map[string]string `json:"params,omitempty"`
	Metric string            `json:"metric"`         // path of the figure below a cell, e.g. freshness.p99
	Bound  string            `json:"bound"`          // as the scenario has it, e.g. < 1s
	Unit   string            `json:"unit,omitempty"` // of value
	Value  *float64          `json:"value,omitempty"`
	Valid  int               `json:"valid"` // repetitions; with 0 nothing was judged
	Holds  bool              `json:"holds"`
	Why    string            `json:"why,omitempty"` // why the value is missing; the bound does not hold then
}

// Failed reports whether the bound does not hold at a point that has valid cells. An unknown figure does not hold.
func (t *Threshold) Failed() bool { return !t.Holds && t.Valid > 0 }

// Figure is the value with its unit.
func (t *Threshold) Figure() string {
	switch {
	case t.Value == nil:
		return "not known"
	case t.Unit == "share":
		return strconv.FormatFloat(100**t.Value, 'g', 4, 64) + "%"
	}
	return strconv.FormatFloat(*t.Value, 'g', 4, 64) + t.Unit
}

func (t *Threshold) String() string {
	point := t.Point
	if _, err := strconv.ParseFloat(point, 64); err == nil && len(t.Params) == 1 { // of one swept number
		for name := range t.Params {
			point = name[strings.LastIndex(name, ".")+1:] + "=" + point
		}
	}
	s := fmt.Sprintf("%s %s is %s, bound %s", point, t.Metric, t.Figure(), t.Bound)
	if t.Why != "" {
		s += " (" + t.Why + ")"
	}
	return s
}

func servesReaders(c *Cell) bool { return c.Readers != nil && c.Readers.From == "watcher" }

// JudgeThresholds sets Thresholds from the scenario's bounds and the cells, sorted by point and metric. Figures of
// readers are bounded only where they read from the watcher. An error is a bound that cannot be read.
func (r *Results) JudgeThresholds() error {
	r.Thresholds = nil
	bounds, _ := r.Scenario["thresholds"].(map[string]any)
	if len(bounds) == 0 {
		return nil
	}
	points := r.Groups()
	slices.SortStableFunc(points, func(a, b *Group) int { return ByNumber(a.Name, b.Name) })
	for _, p := range points {
		for _, name := range slices.Sorted(maps.Keys(bounds)) {
			if strings.HasPrefix(name, "readers.") && !slices.ContainsFunc(p.Cells, servesReaders) {
				continue
			}
			t := Threshold{Point: p.Name, Params: p.Params, Metric: name, Bound: fmt.Sprint(bounds[name])}
			if err := t.judge(p.Cells); err != nil {
				return fmt.Errorf("scenario.thresholds.%s: %w", name, err)
			}
			r.Thresholds = append(r.Thresholds, t)
		}
	}
	return nil
}

// ByNumber orders names that end in numbers by those: 2 before 16, 5% before 20%.
func ByNumber(a, b string) int {
	const digits = "0123456789."
	x, y := strings.TrimSuffix(a, "%"), strings.TrimSuffix(b, "%")
	p, q := strings.TrimRight(x, digits), strings.TrimRight(y, digits)
	m, err := strconv.ParseFloat(x[len(p):], 64)
	n, err2 := strconv.ParseFloat(y[len(q):], 64)
	if p == q && err == nil && err2 == nil {
		return cmp.Compare(m, n)
	}
	return cmp.Compare(a, b)
}

func (t *Threshold) judge(cells []*Cell) error {
	m, err := MetricByName(t.Metric)
	if err != nil {
		return err
	}
	bound, err := m.Bound(t.Bound)
	if err != nil {
		return err
	}
	t.Unit = m.Unit
	var values []float64
	for _, c := range cells {
		if !c.Valid {
			continue
		}
		t.Valid++
		switch v := m.Of(c); {
		case v != nil:
			values = append(values, *v)
		case c.Cut:
			t.Why = c.ID + " was cut"
		default:
			t.Why = c.ID + " has none"
		}
	}
	if t.Valid == 0 {
		t.Why = "no valid cell"
	}
	if t.Why != "" {
		return nil
	}
	t.Value = stats.Median(values)
	t.Holds = bound.Holds(*t.Value)
	return nil
}
