package gate

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// ComparisonSchema names the format of a Comparison as JSON.
const ComparisonSchema = "watchbench/comparison/v2" // v1 had any number of runs

// Run is one run, and what it is called.
type Run struct {
	Label   string
	Results *result.Results
}

// Names of the two runs in tables.
var Names = [2]string{"A", "B"}

// Comparison compares a run, B, with another, A.
type Comparison struct {
	Schema string     `json:"schema"`
	Runs   [2]RunInfo `json:"runs"`
	// Verdict and Origin are a sentence each: what came out, and how far the two compare.
	Verdict     string       `json:"verdict"`
	Origin      string       `json:"origin"`
	Differences []Difference `json:"differences"` // of the runs themselves
	Figures     []Figure     `json:"figures"`     // most changed first
	Left        []string     `json:"left"`        // what was left out, and why
	points      []*point     // that both have
}

// RunInfo identifies a run.
type RunInfo struct {
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
	Point  string        `json:"point"`
	Metric string        `json:"metric"`
	Unit   string        `json:"unit,omitempty"` // of the values: s, ms, µs, MiB, B, KiB/s, /s, share; empty for a count
	Sides  [2]FigureSide `json:"sides"`          // by run
	// Ratio is B's value divided by A's, with its interval at 1 - stats.Alpha.
	Ratio     *float64 `json:"ratio,omitempty"`
	RatioLow  *float64 `json:"ratioLow,omitempty"`
	RatioHigh *float64 `json:"ratioHigh,omitempty"`
	Verdict   Change   `json:"verdict"`
	Why       string   `json:"why,omitempty"` // it is not comparable
	metric    result.Metric
}

// FigureSide is a figure as one run has it.
type FigureSide struct {
	N     int      `json:"n"`               // repetitions that know it
	Value *float64 `json:"value,omitempty"` // median; of percentiles, of all operations together; of faults, the total
	// Low and High are the ends of the value's interval at stats.Level, where it has one.
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	values []float64
}

// Change is the result of a figure's comparison.
type Change string

// Changes.
const (
	BetterThan    Change = "better"
	WorseThan     Change = "worse"
	Differs       Change = "differs" // and neither is better
	NoDifference  Change = "no difference shown"
	NotComparable Change = "not comparable"
)

// Metrics finds the metrics that patterns name, in the order of results.json: a name, such as freshness.p99, or one
// with * for any part of it, such as watcher.*. Without patterns they are those with a better side, and a few that show
// whether both sides had the same load, storage and work.
func Metrics(patterns ...string) (all []result.Metric, err error) {
	wanted := map[string]bool{}
	for _, p := range patterns {
		found := false
		for _, m := range result.Metrics() {
			ok, err := path.Match(p, m.Name)
			if err != nil {
				const remedy = "write a metric's name, or * for any part of one, such as watcher.*"
				return nil, badinput.New(remedy, "metric %q: %v", p, err)
			}
			found, wanted[m.Name] = found || ok, wanted[m.Name] || ok
		}
		if found {
			continue
		}
		if _, err = result.MetricByName(p); strings.Contains(p, "*") {
			err = fmt.Errorf("no such metric; watcher.* and freshness.p99 are examples")
		}
		return nil, &badinput.Error{What: fmt.Sprintf("metric %q", p), Err: err}
	}
	for _, m := range result.Metrics() {
		if wanted[m.Name] || len(patterns) == 0 && (m.Better != "" || m.Compared) {
			all = append(all, m)
		}
	}
	return all, nil
}

// Compare compares a run with another, in the given metrics.
func Compare(metrics []result.Metric, base, now Run) (*Comparison, error) {
	c := &Comparison{Schema: ComparisonSchema, Differences: []Difference{}, Figures: []Figure{}, Left: []string{}}
	for i, r := range []Run{base, now} {
		run := &r.Results.Run
		c.Runs[i] = RunInfo{
			Label: r.Label, ID: run.ID, Scenario: run.Scenario, Started: run.Started, Seed: run.Seed,
			Cells: len(r.Results.Cells),
		}
		for _, cell := range r.Results.Cells {
			if cell.Valid {
				c.Runs[i].Valid++
			}
		}
		if gap := r.Results.Gap(); gap != "" {
			c.Left = append(c.Left, Names[i]+" is "+gap)
		}
	}
	differences, err := Differences(base.Results, now.Results)
	if err != nil {
		return nil, err
	}
	for _, d := range differences {
		if d.Kind != "" {
			c.Differences = append(c.Differences, d)
		}
	}
	for _, p := range match(base.Results, now.Results) {
		switch {
		case len(p.all[0]) == 0:
			c.Left = append(c.Left, p.id+": in "+Names[1]+" only")
		case len(p.all[1]) == 0:
			c.Left = append(c.Left, p.id+": in "+Names[0]+" only")
		default:
			c.points = append(c.points, p)
			c.Left = append(c.Left, p.leftOut()...)
		}
	}
	for _, m := range metrics { // noise of a metric is pooled over the points
		figures := make([]Figure, len(c.points))
		var before, after [][]float64
		for i := range c.points {
			figures[i] = figureAt(m, c.points[i])
			before, after = append(before, figures[i].Sides[0].values), append(after, figures[i].Sides[1].values)
		}
		for i, r := range stats.Against(before, after) {
			if f := &figures[i]; f.known() {
				f.judge(c.points[i], r)
				c.Figures = append(c.Figures, *f)
			}
		}
	}
	slices.SortStableFunc(c.Figures, func(a, b Figure) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.change(), a.change()))
	})
	c.Verdict, c.Origin = c.verdict(), c.origin()
	return c, nil
}

// known reports whether a run knows the figure, and it is not 0 in both.
func (f *Figure) known() bool {
	known := func(s FigureSide) bool { return s.Value != nil && *s.Value != 0 }
	return known(f.Sides[0]) || known(f.Sides[1]) || (f.Sides[0].Value == nil) != (f.Sides[1].Value == nil)
}

// figureAt is a metric at a point. What went wrong counts also in cut and invalid cells.
func figureAt(m result.Metric, p *point) Figure {
	f := Figure{Point: p.id, Metric: m.Name, Unit: m.Unit, metric: m}
	for run, cells := range p.cells {
		if m.Total || strings.HasPrefix(m.Name, "load.") {
			cells = p.all[run]
		}
		sum := m.Over(cells)
		s := FigureSide{N: len(sum.Values), values: sum.Values}
		if sum.Value != nil && finite(*sum.Value) {
			s.Value = sum.Value
		}
		if i, ok := sum.Interval(); ok && finite(i.High) && !m.Total {
			s.Low, s.High = &i.Low, &i.High
		}
		f.Sides[run] = s
	}
	return f
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

const noiseless = 1e-9

// judge compares both sides; r is the ratio of the two.
func (f *Figure) judge(p *point, r stats.Ratio) {
	base, now, m := &f.Sides[0], &f.Sides[1], f.metric
	if f.Why = f.obstacle(p); f.Why != "" {
		f.Verdict = NotComparable
		return
	}
	// Totals over unequal numbers of cells have no ratio.
	if ratio := *now.Value / *base.Value; finite(ratio) && (!m.Total || now.N == base.N) {
		f.Ratio = &ratio
	}
	side := beyond(base.values, now.values)
	if i := r.At(1 - stats.Alpha); r.N > 0 && f.Ratio != nil && !m.Total && finite(i.High) {
		low, high := min(i.Low, *f.Ratio), max(i.High, *f.Ratio)
		if high/low-1 < noiseless {
			low, high = *f.Ratio, *f.Ratio
		}
		f.RatioLow, f.RatioHigh = &low, &high
		switch side = 0; {
		case low > 1:
			side = 1
		case high < 1:
			side = -1
		}
	}
	if m.Total && *base.Value == 0 && *now.Value > 0 { // one fault where there was none needs no repetition
		side = 1
	}
	better := map[string]int{result.Lower: -1, result.Higher: 1}[m.Better]
	if m.ByPlan && p.open() || m.PerRequest && p.otherWork(requests) || m.PerLoad && p.otherWork(writes) {
		better = 0
	}
	switch {
	case side == 0:
		f.Verdict = NoDifference
	case better == 0:
		f.Verdict = Differs
	case side == better:
		f.Verdict = BetterThan
	default:
		f.Verdict = WorseThan
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
func requests(c *result.Cell) *float64 { return new(float64(c.Storage.Requests)) }
func writes(c *result.Cell) *float64   { return new(float64(c.Load.Done)) }

// sameWork is how much two amounts may differ and still be the same work.
const sameWork = 0.10

// share is B's amount of work as a part of A's; 1 if unknown.
func (p *point) share(of func(*result.Cell) *float64) float64 {
	a, b := (&result.Group{Cells: p.cells[0]}).Median(of), (&result.Group{Cells: p.cells[1]}).Median(of)
	if a == nil || b == nil || *a == 0 || *b == 0 {
		return 1
	}
	return *b / *a
}

func (p *point) otherWork(of func(*result.Cell) *float64) bool {
	return math.Abs(p.share(of)-1) > sameWork
}

// obstacle is why the sides cannot be compared; empty if they can.
func (f *Figure) obstacle(p *point) string {
	if !f.metric.Total {
		for i, name := range Names {
			cut, failing, load := p.cut(i), p.failing(i), strings.HasPrefix(f.Metric, "load.")
			switch {
			case len(p.cells[i])+cut == 0:
				return name + " has no valid cell here"
			case cut > 0 && !load:
				return fmt.Sprintf("%d of %d cells of %s were cut at the drain limit", cut, len(p.cells[i])+cut, name)
			case len(failing) > 0 && !load:
				return fmt.Sprintf("%s fails %s", name, strings.Join(failing, " "))
			}
		}
	}
	for i, name := range Names {
		if f.Sides[i].Value == nil {
			return "not known in " + name
		}
	}
	return ""
}

func (f *Figure) class() int {
	switch {
	case f.Verdict == NotComparable:
		return 3
	case f.Verdict == NoDifference:
		return 2
	case f.Verdict == WorseThan && f.metric.Total:
		return 0
	}
	return 1
}

func (f *Figure) change() float64 {
	switch {
	case f.Verdict == NotComparable:
		return 0
	case f.Ratio == nil || *f.Ratio <= 0: // from or to nothing
		return math.MaxFloat64
	}
	return math.Abs(math.Log(*f.Ratio))
}

// leftOut lists what of a point was left out, and why.
func (p *point) leftOut() (all []string) {
	for i, name := range Names {
		invalid, why := 0, ""
		for _, c := range p.all[i] {
			if !c.Valid {
				invalid, why = invalid+1, strings.Join(c.InvalidReasons, "; ")
			}
		}
		if invalid > 0 {
			all = append(all, fmt.Sprintf("%s: %d of %d cells of %s invalid: %s", p.id, invalid, len(p.all[i]), name, why))
		}
	}
	if p.otherWork(writes) {
		all = append(all, fmt.Sprintf("%s: B wrote %.3g %% of A's writes", p.id, 100*p.share(writes)))
	}
	if p.otherWork(requests) {
		all = append(all, fmt.Sprintf("%s: B sent %.3g %% of A's requests", p.id, 100*p.share(requests)))
	}
	return all
}

const shownFaults = 4

// verdict says what came out: first what went wrong, then what changed most.
func (c *Comparison) verdict() string {
	if len(c.Figures) == 0 {
		return "A and B have no point in common."
	}
	parts := c.faults()
	if n := len(parts); n > shownFaults {
		parts = append(parts[:shownFaults], fmt.Sprintf("and %d more such faults", n-shownFaults))
	}
	count, most := map[Change]int{}, map[Change]string{}
	for i := range c.Figures {
		f := &c.Figures[i]
		count[f.Verdict]++
		if most[f.Verdict] == "" && f.Ratio != nil {
			most[f.Verdict] = fmt.Sprintf(" (most: %s of %s, %s ×", f.Metric, f.Point, number(*f.Ratio))
			if f.RatioLow != nil && *f.RatioLow < *f.RatioHigh {
				most[f.Verdict] += fmt.Sprintf(", %s to %s", number(*f.RatioLow), number(*f.RatioHigh))
			}
			most[f.Verdict] += ")"
		}
	}
	var found []string
	for _, v := range []Change{WorseThan, BetterThan, Differs} {
		if count[v] > 0 {
			word := strings.Replace(string(v), "differs", "different", 1)
			found = append(found, fmt.Sprintf("%d %s%s", count[v], word, most[v]))
		}
	}
	for _, v := range []Change{NoDifference, NotComparable} {
		if count[v] > 0 {
			found = append(found, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	parts = append(parts, fmt.Sprintf("of %s, %s", units.Count(len(c.Figures), "figure"), units.List(found)))
	s := strings.Join(parts, "; ") + "."
	return strings.ToUpper(s[:1]) + s[1:]
}

// faults are checks that B fails and A does not, or the other way round, and what was lost or reordered.
func (c *Comparison) faults() (parts []string) {
	for _, p := range c.points {
		before, now := p.failing(0), p.failing(1)
		if failing := minus(now, before); len(failing) > 0 {
			parts = append(parts, fmt.Sprintf("B fails %s at %s, A does not", strings.Join(failing, " "), p.id))
		}
		fixed := slices.DeleteFunc(minus(before, now), func(g string) bool {
			return len(p.cells[1]) == 0 || // a check that was not judged is not fixed
				slices.ContainsFunc(p.cells[1], func(c *result.Cell) bool { return c.Checks[g].Verdict != result.Pass })
		})
		if len(fixed) > 0 {
			parts = append(parts, fmt.Sprintf("B no longer fails %s at %s", strings.Join(fixed, " "), p.id))
		}
	}
	for _, f := range c.Figures {
		if f.metric.Total && f.Verdict == WorseThan {
			fault := strings.TrimPrefix(f.Metric, "events.")
			what := map[string]string{"lost": "object", "reordered": "write"}[fault]
			parts = append(parts, fmt.Sprintf("B %s %s at %s (A: %s)", fault, units.Count(int64(*f.Sides[1].Value), what),
				f.Point, number(*f.Sides[0].Value)))
		}
	}
	return parts
}

func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// number has three significant digits, and all those before the point.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
