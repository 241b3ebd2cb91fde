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

// Comparison is what several runs have in common, compared with the first of them.
type Comparison struct {
	Schema string    `json:"schema"`
	Runs   []RunInfo `json:"runs"`
	// Verdicts and Origins are a sentence each per run after the first: what came out, and how far the two compare.
	Verdicts    []string     `json:"verdicts"`
	Origins     []string     `json:"origins"`
	Differences []Difference `json:"differences"` // of the runs themselves
	Figures     []Figure     `json:"figures"`     // most changed first
	Left        []string     `json:"left"`        // what was left out, and why
	Notes       []string     `json:"notes"`       // how sure the verdicts are
	Points      []Point      `json:"-"`           // that the first run and another one have
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

// Side is a figure as one run has it, and its ratio to the first run's.
type Side struct {
	N     int      `json:"n"`               // repetitions that know it
	Value *float64 `json:"value,omitempty"` // median; of percentiles, of all operations together; of faults, the total
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
}

// Verdict is the result of a figure's comparison with the first run's.
type Verdict string

// Verdicts.
const (
	BetterThan    Verdict = "better"
	WorseThan     Verdict = "worse"
	Differs       Verdict = "differs" // and neither is better
	NoDifference  Verdict = "no difference shown"
	NotComparable Verdict = "not comparable"
)

// Compare compares runs with the first of them, in the given metrics.
func Compare(metrics []result.Metric, runs ...Run) (*Comparison, error) {
	c := &Comparison{
		Schema: Schema, Verdicts: []string{}, Origins: []string{}, Differences: []Difference{},
		Figures: []Figure{}, Left: []string{}, Notes: []string{},
	}
	var all []*result.Results
	for i, r := range runs {
		run := &r.Results.Run
		info := RunInfo{
			Name: Name(i), Label: r.Label, ID: run.ID, Scenario: run.Scenario, Started: run.Started, Seed: run.Seed,
			Cells: len(r.Results.Cells),
		}
		for _, cell := range r.Results.Cells {
			if cell.Valid {
				info.Valid++
			}
		}
		all, c.Runs = append(all, r.Results), append(c.Runs, info)
	}
	differences, err := Differences(all...)
	if err != nil {
		return nil, err
	}
	for _, d := range differences {
		if d.Kind != kindOther {
			c.Differences = append(c.Differences, d)
		}
	}
	slices.SortStableFunc(c.Differences, func(a, b Difference) int { // settings before programs
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(b.What[:1], a.What[:1]))
	})
	for _, p := range Match(all...) {
		if has := runsOf(&p); has[0] == 0 && len(has) > 1 {
			c.Points = append(c.Points, p)
		} else {
			c.Left = append(c.Left, fmt.Sprintf("%s: in %s only", p.Name, names(has)))
		}
	}
	c.Figures = append(c.Figures, figuresOf(metrics, c.Points, len(runs))...)
	slices.SortStableFunc(c.Figures, func(a, b Figure) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.change(), a.change()))
	})
	c.Left = append(c.leftOut(all), c.Left...)
	for i := 1; i < len(runs); i++ {
		c.Verdicts, c.Origins = append(c.Verdicts, c.verdict(i)), append(c.Origins, c.origin(i))
	}
	c.Notes = append(c.Notes, c.sureness()...)
	return c, nil
}

// Name is the name of the i-th run in tables: A to Z, then run 27 and so on.
func Name(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("run %d", i+1)
}

// figuresOf returns the metrics at each point, judged. Noise of a metric is pooled over the points.
func figuresOf(metrics []result.Metric, points []Point, runs int) (known []Figure) {
	all := make([][]Figure, len(metrics))
	for m, metric := range metrics {
		for i := range points {
			all[m] = append(all[m], figureOf(metric, &points[i]))
		}
		for run := 1; run < runs; run++ {
			var base, now [][]float64
			for _, f := range all[m] {
				base, now = append(base, f.Sides[0].values), append(now, f.Sides[run].values)
			}
			for i, r := range stats.Against(base, now) {
				all[m][i].judge(&points[i], run, r)
			}
		}
	}
	for i := range points {
		for m := range metrics {
			if f := all[m][i]; f.known() {
				known = append(known, f)
			}
		}
	}
	return known
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
	f := Figure{Point: p.Name, Metric: m.Name, Unit: m.Unit, Better: traits[m.Name].better}
	if traits[m.Name].byPlan && p.open() {
		f.Better = 0
	}
	for run := range p.Cells {
		f.Sides = append(f.Sides, sideOf(m, p, run))
	}
	return f
}

// sideOf sums a metric up over a run's cells.
func sideOf(m result.Metric, p *Point, run int) (s Side) {
	if traits[m.Name].fault {
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
		s.Value = nil
		if merged := result.Merge(all); merged != nil {
			s.Value = new(float64(merged.ValueAtPercentile(percentile)) / micros)
		}
	}
	if i, ok := stats.Of(s.values); ok && s.Value != nil && finite(i.High) {
		s.Low, s.High = &i.Low, &i.High
	}
	return s
}

// finite reports whether JSON can carry a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// counted adds up faults, also those in cut and invalid cells: a loss is one however late the machine was.
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
		if n != nil && (c.Valid || *n > 0) {
			s.values, total = append(s.values, float64(*n)), total+float64(*n)
		}
	}
	if s.N = len(s.values); s.N > 0 {
		s.Value = &total
	}
	return s
}

// rounding is the width, as a part of the ratio, of the interval of values without noise.
const rounding = 1e-9

// judge compares a run's side with the first run's; r is the ratio of the two.
func (f *Figure) judge(p *Point, run int, r stats.Ratio) {
	base, s, t := &f.Sides[0], &f.Sides[run], traits[f.Metric]
	if s.Why = f.obstacle(p, run); s.Why != "" {
		s.Verdict = NotComparable
		return
	}
	// Totals over unequal numbers of cells have no ratio.
	if ratio := *s.Value / *base.Value; finite(ratio) && (!t.fault || s.N == base.N) {
		s.Ratio = &ratio
	}
	side := beyond(base.values, s.values)
	if i := r.At(1 - stats.Alpha); r.N > 0 && s.Ratio != nil && !t.fault && finite(i.High) {
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
	if t.fault && *base.Value == 0 && *s.Value > 0 { // one fault where there was none needs no repetition
		side = 1
	}
	better := f.Better
	if t.perRequest && p.otherWork(run, requests) || t.perLoad && p.otherWork(run, writes) {
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

// beyond is for figures of which some are zero, so that they have no ratio: 1 if all of now are above all of base,
// -1 if below, with enough of both.
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

// requests and writes are amounts of work.
func requests(c *result.Cell) float64 { return float64(c.Storage.Requests) }
func writes(c *result.Cell) float64   { return float64(c.Load.Done) }

// sameWork is how much two amounts may differ and still be the same work.
const sameWork = 0.10

// share is a run's amount of work as a part of the first run's; 1 if unknown.
func (p *Point) share(run int, of func(*result.Cell) float64) float64 {
	var medians [2]float64
	for i, r := range []int{0, run} {
		var values []float64
		for _, c := range p.Cells[r] {
			values = append(values, of(c))
		}
		if medians[i], _ = stats.Median(values); medians[i] == 0 {
			return 1
		}
	}
	return medians[1] / medians[0]
}

func (p *Point) otherWork(run int, of func(*result.Cell) float64) bool {
	return math.Abs(p.share(run, of)-1) > sameWork
}

// obstacle is why a run's side cannot be compared with the first one's; empty if it can.
func (f *Figure) obstacle(p *Point, run int) string {
	load, fault := strings.HasPrefix(f.Metric, "load."), traits[f.Metric].fault
	for _, i := range []int{0, run} {
		cut := p.cut(i)
		switch failing := p.failing(i); {
		case !p.Has(i):
			return Name(i) + " does not have this point"
		case fault:
		case len(p.Cells[i])+cut == 0:
			return Name(i) + " has no valid cell here"
		case cut > 0 && !load:
			return fmt.Sprintf("%d of %d cells of %s were cut at the drain limit", cut, len(p.Cells[i])+cut, Name(i))
		case len(failing) > 0 && !load:
			return fmt.Sprintf("%s fails %s", Name(i), strings.Join(failing, " "))
		}
	}
	for _, i := range []int{0, run} {
		if f.Sides[i].Value == nil {
			return "not known in " + Name(i)
		}
	}
	return ""
}

// class orders figures: what went wrong, what changed, what did not, what does not compare.
func (f *Figure) class() int {
	class := 3
	for _, s := range f.Sides[1:] {
		switch s.Verdict {
		case NotComparable:
		case NoDifference:
			class = min(class, 2)
		case WorseThan:
			if traits[f.Metric].fault {
				class = 0
			}
			fallthrough
		default:
			class = min(class, 1)
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
