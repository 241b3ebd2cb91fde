package result

import (
	_ "embed" // the figures that reports show
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/stats"
)

// Metric is a figure of a cell: what thresholds bound, tables show, gates judge and runs are compared by. figures.yaml
// explains what reports need of one.
type Metric struct {
	// Name is its path below a cell of results.json, such as freshness.p99.
	Name string `json:"name"`
	// Unit is the value's unit in results.json: s, ms, µs, MiB, B, KiB/s, /s, share, or empty for a count.
	Unit       string  `json:"-"`
	Title      string  `json:"title"`
	Meaning    string  `json:"meaning"`
	CSV        string  `json:"csv"`
	Bench      string  `json:"bench"`
	Better     string  `json:"better"`
	Decimals   int     `json:"decimals"`
	Published  bool    `json:"published"`
	Compared   bool    `json:"compared"` // by default, although neither side is better
	Total      bool    `json:"total"`
	ByPlan     bool    `json:"byPlan"`
	PerRequest bool    `json:"perRequest"`
	PerLoad    bool    `json:"perLoad"`
	index      [][]int // of the field in each struct on the way
}

// Values of Metric.Better.
const (
	Lower  = "lower"
	Higher = "higher"
)

//go:embed figures.yaml
var figuresFile []byte

// Figures are the metrics that reports show, in the order of their columns.
var Figures = sync.OnceValue(func() (all []Metric) {
	if err := yaml.UnmarshalStrict(figuresFile, &all); err != nil {
		panic(err) // the file is embedded, and tested
	}
	for i := range all {
		j := slices.IndexFunc(paths(), func(m Metric) bool { return m.Name == all[i].Name })
		all[i].Unit, all[i].index = paths()[j].Unit, paths()[j].index
	}
	return all
})

// Metrics lists the figures that a threshold may bound, in the order of results.json.
var Metrics = sync.OnceValue(func() []Metric {
	all := slices.Clone(paths())
	for _, f := range Figures() {
		all[slices.IndexFunc(all, func(m Metric) bool { return m.Name == f.Name })] = f
	}
	return all
})

// Summary is a metric over the repetitions of a point.
type Summary struct {
	Value     *float64  // nil: not known
	Values    []float64 // one per repetition that counts and knows it
	Projected bool      // computed, not waited for
	AtLeast   bool      // a lower bound
}

// Over sums a metric up: the median over the valid cells; of a percentile, that of all operations together, since
// percentiles cannot be averaged; of what went wrong, the total, also over invalid cells: a loss is one however late
// the machine was. Unlike Of it has the figures of cut cells, marked.
func (m Metric) Over(cells []*Cell) (s Summary) {
	valid, sum := 0, 0.0
	var known []*Cell
	for _, c := range cells {
		v := m.raw(c)
		if c.Valid {
			valid++
			s.Projected = s.Projected || m.Name == FigureDrain && c.Handler.DrainProjected
			s.AtLeast = s.AtLeast || c.Cut && strings.HasPrefix(m.Name, "freshness.")
		}
		if v != nil && (c.Valid || m.Total && *v > 0) {
			s.Values, known, sum = append(s.Values, *v), append(known, c), sum+*v
		}
	}
	percentile, micros, isPercentile := m.Percentile()
	switch {
	case len(s.Values) == 0:
		return Summary{}
	case m.Total:
		s.Value, s.AtLeast = &sum, len(known) < valid
	case isPercentile && len(known) > 1:
		var all []*Quantiles
		for _, c := range known {
			all = append(all, m.Distribution(c))
		}
		if merged := Merge(all); merged != nil {
			s.Value = new(float64(merged.ValueAtPercentile(percentile)) / micros)
		}
	default:
		s.Value = stats.Median(s.Values)
	}
	return s
}

// Interval is where a figure that was waited for may lie; ok is false with too few repetitions.
func (s Summary) Interval() (i stats.Interval, ok bool) {
	if s.Value == nil || s.Projected || s.AtLeast {
		return i, false
	}
	return stats.Of(s.Values)
}

// sections of a cell hold the figures that may be bounded.
var sections = []string{"load", "writer", "handler", "storage", "freshness", "bystander", "watcher", "events", "pace",
	"readers"}

// paths are the numbers below a cell, in the order of results.json.
var paths = sync.OnceValue(func() []Metric {
	var all []Metric
	var walk func(t reflect.Type, name, unit string, index [][]int)
	walk = func(t reflect.Type, name, unit string, index [][]int) {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Struct:
			for _, f := range reflect.VisibleFields(t) {
				of := unitOf(jsonName(f))
				if t == reflect.TypeFor[Quantiles]() {
					if of = unit; f.Name == "Count" {
						of = ""
					}
				}
				walk(f.Type, name+"."+jsonName(f), of, append(slices.Clone(index), f.Index))
			}
		case reflect.Int, reflect.Int64, reflect.Float64:
			all = append(all, Metric{Name: name, Unit: unit, index: index})
		}
	}
	cell := reflect.TypeFor[Cell]()
	for _, f := range reflect.VisibleFields(cell) {
		if name := jsonName(f); slices.Contains(sections, name) {
			walk(f.Type, name, unitOf(name), [][]int{f.Index})
		}
	}
	return all
})

// unitOf is the unit that a field's name says.
func unitOf(name string) string {
	switch {
	case strings.Contains(name, "EventSeconds"):
		return "" // a count times a time
	case strings.HasSuffix(name, "Seconds"), name == "freshness":
		return "s"
	case strings.HasSuffix(name, "Ms"):
		return "ms"
	case strings.Contains(name, "Micros"):
		return "µs"
	case strings.HasSuffix(name, "MiB"):
		return "MiB"
	case strings.HasSuffix(name, "KiBps"):
		return "KiB/s"
	case strings.HasSuffix(strings.ToLower(name), "qps"):
		return "/s"
	case name == "bytesPerEvent", name == "allocBytesPerEvent":
		return "B"
	case strings.HasPrefix(name, "efficiency"), name == "littleDiscrepancy":
		return "share"
	}
	return ""
}

// MetricByName finds a metric; the error says which one was probably meant.
func MetricByName(name string) (Metric, error) {
	var names []string
	for _, m := range Metrics() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	if near := badinput.Nearest(name, names); near != "" {
		return Metric{}, fmt.Errorf("unknown metric; did you mean %s?", near)
	}
	section, _, _ := strings.Cut(name, ".")
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, section+".") })
	if len(names) == 0 {
		names = sections
	}
	return Metric{}, fmt.Errorf("unknown metric; known are %s", strings.Join(names, ", "))
}

// Of is the metric's value in a cell, nil where it is not known. What a cut cell has of drain, freshness and counters
// covers only the part that was done, so it is not known there: only the load was whole.
func (m Metric) Of(c *Cell) *float64 {
	if c.Cut && !strings.HasPrefix(m.Name, "load.") && m.Name != "pace.growthQPS" && m.Name != "pace.writtenQPS" {
		return nil
	}
	return m.raw(c)
}

// raw is the value also of a cut cell.
func (m Metric) raw(c *Cell) *float64 {
	v, optional, ok := field(c, m.index)
	if !ok {
		return nil
	}
	if (!optional || strings.HasPrefix(m.Name, "events.")) && m.unknown(c, v.IsZero()) {
		return nil
	}
	if v.CanInt() {
		return new(float64(v.Int()))
	}
	return new(v.Float())
}

// field follows a path below a cell; optional says that a pointer was on the way, ok is false where one is nil.
func field(c *Cell, path [][]int) (v reflect.Value, optional, ok bool) {
	v = reflect.ValueOf(c).Elem()
	for _, i := range path {
		if v = v.FieldByIndex(i); v.Kind() != reflect.Pointer {
			continue
		}
		if v.IsNil() {
			return v, true, false
		}
		v, optional = v.Elem(), true
	}
	return v, optional, true
}

// unknown reports whether a number that is always there says nothing in a cell.
func (m Metric) unknown(c *Cell, zero bool) bool {
	section, field, _ := strings.Cut(m.Name, ".")
	switch {
	case section == "events":
		// Without an account of its own, or with that of the last process alone, a watcher
		// has only what the ledger says of it.
		return field != "lost" && field != "reordered" && (c.Events.Received == 0 || c.Watcher.Restarts > 0)
	case !zero:
		return false
	case c.Load.DurationS == 0 && c.Freshness == nil:
		return true // without a load
	case m.Name == "storage.latencyP50Ms", m.Name == "storage.latencyP99Ms":
		return c.Storage.LatencyMeanMs > 0
	}
	// Another watcher's sizes, and those of what the load does not have.
	return slices.Contains([]string{"writer.capacity", "handler.queues", "handler.workers", "handler.capacity",
		"load.threads"}, m.Name)
}

// Example is a bound on the metric, as a scenario writes it.
func (m Metric) Example() string {
	return map[string]string{
		"s": "< 1s", "ms": "< 250ms", "µs": "< 200µs", "MiB": "< 64MiB", "B": "< 4KiB", "KiB/s": "< 500KiB/s",
		"/s": "> 100/s", "share": "> 80%", "": "<= 0",
	}[m.Unit]
}

// Bound is one side of a metric's range, in the metric's unit.
type Bound struct {
	op    string
	Value float64
}

// Bound reads <, <=, > or >= and a number with a unit, such as "< 1s". Without a unit the
// number is in the metric's own, where the metric's name says which.
func (m Metric) Bound(text string) (Bound, error) {
	text = strings.TrimSpace(text)
	for _, op := range []string{"<=", ">=", "<", ">"} {
		if number, ok := strings.CutPrefix(text, op); ok {
			v, err := m.number(strings.TrimSpace(number))
			if err != nil {
				return Bound{}, fmt.Errorf("%w; write for example '%s'", err, m.Example())
			}
			return Bound{op, v}, nil
		}
	}
	return Bound{}, fmt.Errorf("%q begins with none of <, <=, > and >=; write for example '%s'", text, m.Example())
}

// number reads a value in one of the units that the metric's quantity has.
func (m Metric) number(text string) (float64, error) {
	if v, ok := plain(text); ok {
		if m.Unit == "s" && unitOf(m.Name) != "s" && v != 0 {
			return 0, fmt.Errorf("%q has no unit", text)
		}
		return v, nil
	}
	second := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "µs": time.Microsecond}[m.Unit]
	bytes := map[string]float64{"MiB": 1 << 20, "B": 1, "KiB/s": 1 << 10}[m.Unit]
	rest, rate := strings.CutSuffix(text, "/s")
	rated := strings.HasSuffix(m.Unit, "/s")
	switch {
	case second > 0:
		if d, err := time.ParseDuration(text); err == nil {
			return float64(d) / float64(second), nil
		}
	case bytes > 0 && rate == rated:
		if size, err := units.ParseSize(rest); err == nil {
			return float64(size) / bytes, nil
		}
	case m.Unit == "/s" && rate:
		if v, ok := plain(rest); ok {
			return v, nil
		}
	case m.Unit == "share" && strings.HasSuffix(text, "%"):
		if v, ok := plain(strings.TrimSuffix(text, "%")); ok {
			return v / 100, nil
		}
	}
	what := map[string]string{"s": "a time", "ms": "a time", "µs": "a time", "MiB": "a size", "B": "a size",
		"KiB/s": "a size per second", "/s": "a rate", "share": "a share", "": "a number"}[m.Unit]
	return 0, fmt.Errorf("%q is not %s", text, what)
}

// plain is a number without a unit.
func plain(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Holds reports whether a value is on the right side.
func (b Bound) Holds(v float64) bool {
	switch b.op {
	case "<":
		return v < b.Value
	case "<=":
		return v <= b.Value
	case ">":
		return v > b.Value
	}
	return v >= b.Value
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
