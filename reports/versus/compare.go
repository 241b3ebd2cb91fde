package versus

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// Schema names the format of a Comparison as JSON.
const Schema = "watchbench/comparison/v1"

// Run is one run, and what it is called.
type Run struct {
	Label   string
	Results *result.Results
}

// Comparison is what several runs have in common, held against the first of them.
type Comparison struct {
	Schema string    `json:"schema"`
	Runs   []RunInfo `json:"runs"`
	// Verdicts and Origins are a sentence each per run after the first: what came out, and
	// how far the two compare.
	Verdicts []string `json:"verdicts"`
	Origins  []string `json:"origins"`
	// Differences are those of the runs themselves: scenario, watcher, machine and others.
	Differences []Difference `json:"differences"`
	Figures     []Figure     `json:"figures"` // most changed first
	Left        []string     `json:"left"`    // what was left out, and why
	Notes       []string     `json:"notes"`   // how sure the verdicts are
	Points      []Point      `json:"-"`
}

// RunInfo identifies a run.
type RunInfo struct {
	Name     string    `json:"name"` // A, B, …: what it is called in tables
	Label    string    `json:"label"`
	ID       string    `json:"id"`
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Seed     uint64    `json:"seed"`
	Cells    int       `json:"cells"`
	Valid    int       `json:"valid"`
}

// Figure is one metric at one point.
type Figure struct {
	Point  string `json:"point"`
	Metric string `json:"metric"`
	Unit   string `json:"unit,omitempty"` // of the values: s, ms, µs, MiB, B, KiB/s, /s, share; empty for a count
	Better int    `json:"better"`         // -1: lower values are, 1: higher values are, 0: none
	Sides  []Side `json:"sides"`          // by run
}

// Side is a figure as one run has it, and what it is against the first run's.
type Side struct {
	N     int      `json:"n"`               // repetitions that know it
	Value *float64 `json:"value,omitempty"` // their median; of percentiles, that of all operations together; of lost and reordered, the total
	// Low and High are the ends of the value's interval at stats.Level, where it has one.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Ratio is the value divided by the first run's, with its interval at 1 - stats.Alpha.
	Ratio     *float64 `json:"ratio,omitempty"`
	RatioLow  *float64 `json:"ratioLow,omitempty"`
	RatioHigh *float64 `json:"ratioHigh,omitempty"`
	Verdict   Verdict  `json:"verdict,omitempty"` // not of the first run
	Why       string   `json:"why,omitempty"`     // it is not comparable
	values    []float64
	absent    bool // the run does not know it, or does not have the point
}

// Verdict is what a figure is against the first run's.
type Verdict string

// Verdicts.
const (
	BetterThan    Verdict = "better"
	WorseThan     Verdict = "worse"
	Differs       Verdict = "differs" // and neither is better
	NoDifference  Verdict = "no difference shown"
	NotComparable Verdict = "not comparable"
)

// Compare holds runs against the first of them, in the given metrics.
func Compare(metrics []result.Metric, runs ...Run) (*Comparison, error) {
	c := &Comparison{Schema: Schema, Verdicts: []string{}, Origins: []string{}, Differences: []Difference{}, Figures: []Figure{}, Left: []string{}, Notes: []string{}}
	var all []*result.Results
	for i, r := range runs {
		all = append(all, r.Results)
		info := RunInfo{Name: Name(i), Label: r.Label, ID: r.Results.Run.ID, Scenario: r.Results.Run.Scenario, Started: r.Results.Run.Started, Seed: r.Results.Run.Seed, Cells: len(r.Results.Cells)}
		for _, cell := range r.Results.Cells {
			if cell.Valid {
				info.Valid++
			}
		}
		c.Runs = append(c.Runs, info)
	}
	var err error
	if c.Differences, err = differences(all); err != nil {
		return nil, err
	}
	points, left := Match(all...)
	c.Points = points
	for _, row := range figuresOf(metrics, points, len(runs)) {
		for _, f := range row {
			if f.known() {
				c.Figures = append(c.Figures, f)
			}
		}
	}
	slices.SortStableFunc(c.Figures, func(a, b Figure) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.change(), a.change()))
	})
	c.Left = append(c.Left, c.leftOut(all, left)...)
	for i := 1; i < len(runs); i++ {
		c.Verdicts = append(c.Verdicts, c.verdict(i))
		c.Origins = append(c.Origins, c.origin(i))
	}
	c.Notes = append(c.Notes, c.sureness()...)
	return c, nil
}

// Name is what the i-th run is called in tables: A to Z, then run 27 and so on.
func Name(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("run %d", i+1)
}

// figuresOf are the metrics at each point, judged. What chance makes of a metric is learnt from all points together.
func figuresOf(metrics []result.Metric, points []Point, runs int) [][]Figure {
	all := make([][]Figure, len(points))
	for i := range points {
		for _, m := range metrics {
			all[i] = append(all[i], figureOf(m, &points[i]))
		}
	}
	for m := range metrics {
		for run := 1; run < runs; run++ {
			var base, now [][]float64
			for i := range points {
				base, now = append(base, all[i][m].Sides[0].values), append(now, all[i][m].Sides[run].values)
			}
			for i, r := range stats.Against(base, now) {
				all[i][m].judge(&points[i], run, r)
			}
		}
	}
	return all
}

// known reports whether a run knows the figure, and it is not 0 in all of them.
func (f *Figure) known() bool {
	known, zero := 0, 0
	for _, s := range f.Sides {
		if s.Value != nil {
			known++
			if *s.Value == 0 {
				zero++
			}
		}
	}
	return known > 0 && zero < len(f.Sides)
}

// figureOf is a metric at a point.
func figureOf(m result.Metric, p *Point) Figure {
	f := Figure{Point: p.Name, Metric: m.Name, Unit: m.Unit, Better: better[m.Name]}
	if byPlan[m.Name] && p.open() {
		f.Better = 0
	}
	for run := range p.Cells {
		f.Sides = append(f.Sides, sideOf(m, p, run))
	}
	return f
}

// sideOf sums a metric up over a run's cells.
func sideOf(m result.Metric, p *Point, run int) (s Side) {
	if ofCorrectness[m.Name] {
		return counted(m.Name, p.all[run])
	}
	var known []*result.Cell
	for _, c := range p.Cells[run] {
		if v := m.Of(c); v != nil {
			s.values, known = append(s.values, *v), append(known, c)
		}
	}
	s.N = len(s.values)
	if v, ok := stats.Median(s.values); ok && finite(v) {
		s.Value = &v
	}
	if percentile, micros, ok := m.Percentile(); ok && s.N > 1 {
		var all []*result.Quantiles
		for _, c := range known {
			all = append(all, m.Distribution(c))
		}
		if s.Value = nil; result.Merge(all) != nil {
			s.Value = new(float64(result.Merge(all).ValueAtPercentile(percentile)) / micros)
		}
	}
	if i, ok := stats.Of(s.values); ok && s.Value != nil && finite(i.High) {
		s.Low, s.High = &i.Low, &i.High
	}
	return s
}

// finite reports whether JSON can carry a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// counted adds up what went wrong, over all cells that say so: a loss is one however late
// the machine was.
func counted(name string, cells []*result.Cell) (s Side) {
	total := 0.0
	for _, c := range cells {
		if c.Events == nil {
			continue
		}
		n := c.Events.Lost
		if name == "events.reordered" {
			n = c.Events.Reordered
		}
		if n == nil || !c.Valid && *n == 0 {
			continue
		}
		s.values = append(s.values, float64(*n))
		total += float64(*n)
	}
	if s.N = len(s.values); s.N > 0 {
		s.Value = &total
	}
	return s
}

// rounding is the width, as a part of the ratio, of the interval of values without noise.
const rounding = 1e-9

// judge holds a run's side against the first run's, of which it is r times as much.
func (f *Figure) judge(p *Point, run int, r stats.Ratio) {
	base, s := &f.Sides[0], &f.Sides[run]
	correctness := ofCorrectness[f.Metric]
	if s.Why = f.obstacle(p, run); s.Why != "" {
		s.Verdict = NotComparable
		return
	}
	// Totals over unequal numbers of cells have no ratio.
	if ratio := *s.Value / *base.Value; finite(ratio) && (!correctness || s.N == base.N) {
		s.Ratio = &ratio
	}
	side := beyond(base.values, s.values)
	if i := r.At(1 - stats.Alpha); r.N > 0 && s.Ratio != nil && !correctness && finite(i.High) {
		low, high := min(i.Low, *s.Ratio), max(i.High, *s.Ratio)
		if high/low-1 < rounding {
			low, high = *s.Ratio, *s.Ratio
		}
		s.RatioLow, s.RatioHigh = &low, &high
		switch side = 0; {
		case low > 1:
			side = 1
		case high < 1:
			side = -1
		}
	}
	if correctness && *base.Value == 0 && *s.Value > 0 { // one fault where there was none needs no repetition
		side = 1
	}
	better := f.Better
	if perRequest[f.Metric] && p.otherWork(run) || perLoad[f.Metric] && p.otherLoad(run) {
		better = 0
	}
	switch {
	case side == 0:
		s.Verdict = NoDifference
	case better == 0:
		s.Verdict = Differs
	case side == better:
		s.Verdict = BetterThan
	default:
		s.Verdict = WorseThan
	}
}

// beyond is for figures of which some are zero and a ratio says nothing: 1 if all of now are above all of base, -1 if
// below, with enough of both.
func beyond(base, now []float64) int {
	switch {
	case len(base) < stats.Least || len(now) < stats.Least:
	case slices.Min(now) > slices.Max(base):
		return 1
	case slices.Max(now) < slices.Min(base):
		return -1
	}
	return 0
}

// obstacle is why a run's side cannot be held against the first one's; empty if it can.
func (f *Figure) obstacle(p *Point, run int) string {
	load := strings.HasPrefix(f.Metric, "load.")
	for _, i := range []int{0, run} {
		switch {
		case !p.Has(i):
			f.Sides[run].absent = true
			return Name(i) + " does not have this point"
		case ofCorrectness[f.Metric]:
		case len(p.Cells[i]) == 0 && p.Cut[i] == 0:
			return fmt.Sprintf("%s has no valid cell here", Name(i))
		case p.Cut[i] > 0 && !load:
			return fmt.Sprintf("%d of %d cells of %s were cut at the drain limit", p.Cut[i], len(p.Cells[i])+p.Cut[i], Name(i))
		}
		if failing := p.failing(i); len(failing) > 0 && !load && !ofCorrectness[f.Metric] {
			return fmt.Sprintf("%s fails %s", Name(i), strings.Join(failing, " "))
		}
	}
	for _, i := range []int{0, run} {
		if f.Sides[i].Value == nil {
			f.Sides[run].absent = true
			return "not known in " + Name(i)
		}
	}
	return ""
}

// class orders figures: what went wrong, what changed, what did not, what does not compare.
func (f *Figure) class() int {
	class := 3
	for _, s := range f.Sides[1:] {
		switch {
		case ofCorrectness[f.Metric] && s.Verdict == WorseThan:
			class = min(class, 0)
		case s.Verdict == WorseThan || s.Verdict == BetterThan || s.Verdict == Differs:
			class = min(class, 1)
		case s.Verdict == NoDifference:
			class = min(class, 2)
		}
	}
	return class
}

// change is how far the figure is from the first run's, as a logarithm.
func (f *Figure) change() (most float64) {
	for _, s := range f.Sides[1:] {
		switch {
		case s.Verdict == NotComparable:
		case s.Ratio == nil || *s.Ratio <= 0: // from or to nothing
			if s.Value != nil && *s.Value != *f.Sides[0].Value {
				most = math.MaxFloat64
			}
		default:
			most = max(most, math.Abs(math.Log(*s.Ratio)))
		}
	}
	return most
}
