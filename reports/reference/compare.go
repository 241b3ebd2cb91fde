package reference

import (
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Scenario is the name of the scenario whose runs are compared.
const Scenario = "reference"

// Params of its matrix.
const (
	paramWatcher = "watcher"
	legacyPrefix = "legacy-"
)

// MostDrain is the longest window, in seconds, of Line.All: that of a drain as published
// after. A drain before is longer, and its rate the same all along, while the other kinds' last.
const MostDrain = 30

// Windows are the lengths, in seconds, over which the published storage rates were averaged,
// by setup: what fits the published figures best, by TestWindows. They are not the same.
var Windows = map[string]float64{Before: 300, After: 60}

// Line is one watcher in the place of a published row.
type Line struct {
	Row     *Row
	Watcher string // one of Watchers
	Why     string // without a valid cell
	valid   []*result.Cell
}

// Watchers that are compared: Ours and, in the place of the original, either of the others.
const (
	Ours     = "k8s-watch"
	Legacy   = "legacy"   // its rules, as k8s-watch has them
	Original = "original" // the binary of --watcher-command
)

// Watchers in the order in which they are shown.
var Watchers = []string{Ours, Legacy, Original}

// Comparison is a run of the scenario beside the published tables.
type Comparison struct {
	Lines   []Line // by published row, then watcher
	Factors []Factor
	Rules   []Rule
}

// Compare compares a run with the published tables; nil if none of its cells is of a published row.
func Compare(res *result.Results) *Comparison {
	if res.Run.Scenario != Scenario {
		return nil
	}
	c := &Comparison{}
	for i := range Rows() {
		row := &Rows()[i]
		for _, watcher := range Watchers {
			point := row.Setup
			if watcher != Ours {
				point = legacyPrefix + point
			}
			l, found := Line{Row: row, Watcher: watcher}, false
			for j := range res.Cells {
				cell := &res.Cells[j]
				other := watcher != Ours && (watcher == Original) != (len(cell.Watcher.Command) > 0)
				if p := cell.Params; p[result.ParamLoad] != row.Name() || p[paramWatcher] != point || other {
					continue
				}
				if found = true; cell.Valid {
					l.valid = append(l.valid, cell)
				} else {
					l.Why = strings.Join(cell.InvalidReasons, "; ")
				}
			}
			if len(l.valid) > 0 {
				l.Why = ""
			}
			if found {
				c.Lines = append(c.Lines, l)
			}
		}
	}
	if len(c.Lines) == 0 {
		return nil
	}
	for _, w := range Watchers {
		if len(c.of(w, "")) > 0 {
			factors := c.factors(w)
			c.Factors = append(c.Factors, factors...)
			c.Rules = append(c.Rules, c.rules(w, factors)...)
		}
	}
	return c
}

// of are the lines with figures of a watcher, of one setup or ("") of both.
func (c *Comparison) of(watcher, setup string) (lines []*Line) {
	for i := range c.Lines {
		if l := &c.Lines[i]; l.Watcher == watcher && (setup == "" || l.Row.Setup == setup) {
			lines = append(lines, l)
		}
	}
	return lines
}

// Of is a figure of the line; the storage rate is that of all kinds, over a window as published. nil is not known.
func (l *Line) Of(name string) *float64 {
	if name == "storage.qps" {
		return l.median(func(c *result.Cell) *float64 { return Busiest(c, Windows[l.Row.Setup]) })
	}
	m, err := result.MetricByName(name)
	if err != nil {
		panic(err) // the names are constants
	}
	return m.Over(l.valid).Value
}

// Projected reports whether the drain was not waited for.
func (l *Line) Projected() bool {
	return slices.ContainsFunc(l.valid, func(c *result.Cell) bool { return c.Handler.DrainProjected })
}

// All is the rate of requests of all kinds, over the drain of Pods or its busiest MostDrain.
func (l *Line) All() *float64 { return l.median(AllKinds) }

// fixed is the same, in the busiest MostDrain whether Pods drained sooner or not.
func (l *Line) fixed() *float64 {
	return l.median(func(c *result.Cell) *float64 { return Busiest(c, MostDrain) })
}

// mostQueued is how many Pod events waited at one time.
func (l *Line) mostQueued() *float64 {
	return l.median(func(c *result.Cell) *float64 {
		if s := c.Series[result.SeriesQueueDepth]; len(s.V) > 0 {
			return new(slices.Max(s.V))
		}
		return nil
	})
}

func (l *Line) median(of func(*result.Cell) *float64) *float64 {
	return (&result.Group{Cells: l.valid}).Median(of)
}

// queueFull is whether the Writer queue was full. The profile legacy has none in the path of Pods; its one queue has
// the room of both.
func (l *Line) queueFull() (full *bool) {
	for _, c := range l.valid {
		depth, least := c.Writer.FullSeconds, math.SmallestNonzeroFloat64
		if c.Handler.Strategy == Legacy {
			depth, least = c.Handler.MaxDepth, float64(c.Handler.Capacity)
		}
		if depth != nil && (full == nil || *depth >= least) {
			full = new(*depth >= least)
		}
	}
	return full
}

// AllKinds is the rate of requests of all kinds over the drain of Pods: from the start of the
// load, if that is less than MostDrain, else in the busiest MostDrain.
func AllKinds(c *result.Cell) *float64 {
	window := float64(MostDrain)
	if d := c.Handler.DrainSeconds; d != nil && !c.Handler.DrainProjected {
		window = min(window, *d)
	}
	return Busiest(c, window)
}

// Busiest is the highest mean of the acknowledged requests of all kinds over so many seconds; nil if the cell was not
// watched for as long. After a drain that was waited for nothing comes, so such a cell counts as watched.
func Busiest(c *result.Cell, seconds float64) *float64 {
	s := c.Series[result.SeriesStorageQPS]
	if len(s.V) < 2 || len(s.T) != len(s.V) {
		return nil
	}
	bin := s.T[1] - s.T[0]
	n := int(math.Round(seconds / bin))
	if bin <= 0 || n < 1 || n > len(s.V) && c.Cut {
		return nil
	}
	sum, most := 0.0, 0.0
	for i, v := range s.V {
		if sum += v; i >= n {
			sum -= s.V[i-n]
		}
		most = max(most, sum)
	}
	return new(most / float64(n))
}
