package reference

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// Scenario is the name of the scenario whose runs are compared.
const Scenario = "reference"

// Params of its matrix.
const (
	paramWatcher = "watcher"
	legacyPrefix = "legacy-"
)

// MostDrain is the longest window, in seconds, of Figures.All: that of a drain as published
// after. A drain before is longer, and its rate the same all along, while the other kinds' last.
const MostDrain = 30

// Windows are the lengths, in seconds, over which the published storage rates were averaged,
// by setup: what fits the published figures best, by TestWindows. They are not the same.
var Windows = map[string]float64{Before: 300, After: 60}

// Figures of one row, as medians of the repetitions; nil is not known.
type Figures struct {
	QPS         *float64 // writes per second against the API server
	Writes      *float64 // that the load made
	WriterFullS *float64
	DrainS      *float64
	Projected   bool // the drain was not waited for
	LatencyMs   *float64
	All         *float64 // requests of all kinds per second, over the drain of Pods or its busiest MostDrain
	Fixed       *float64 // the same, in the busiest MostDrain whether Pods drained sooner or not
	Windowed    *float64 // the same, in the busiest window of the length in Windows
	CPUCores    *float64
	MemMiB      *float64
	NetKiBps    *float64
	MostQueued  *float64 // Pod events that waited at one time
	QueueFull   *bool    // the queue that takes what handler queues do not was full
	Dropped     *float64 // events
}

// Line has the figures of one watcher in the place of a published row.
type Line struct {
	Row     *Row
	Watcher string // one of Watchers
	Valid   int    // repetitions
	Why     string // the figures are missing
	Figures
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
			var cells []*result.Cell
			for j := range res.Cells {
				cell := &res.Cells[j]
				other := watcher != Ours && (watcher == Original) != (len(cell.Watcher.Command) > 0)
				if p := cell.Params; p[result.ParamLoad] == row.Name() && p[paramWatcher] == point && !other {
					cells = append(cells, cell)
				}
			}
			if len(cells) > 0 {
				c.Lines = append(c.Lines, lineOf(row, watcher, cells))
			}
		}
	}
	if len(c.Lines) == 0 {
		return nil
	}
	for _, w := range Watchers {
		if len(c.of(w, "")) == 0 {
			continue
		}
		factors := c.factors(w)
		c.Factors = append(c.Factors, factors...)
		c.Rules = append(c.Rules, c.rules(w, factors)...)
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

func lineOf(row *Row, watcher string, cells []*result.Cell) Line {
	l := Line{Row: row, Watcher: watcher}
	var valid []*result.Cell
	for _, c := range cells {
		if c.Valid {
			valid = append(valid, c)
		} else if l.Why == "" {
			l.Why = strings.Join(c.InvalidReasons, "; ")
		}
	}
	if l.Valid = len(valid); l.Valid == 0 {
		return l
	}
	l.Why = ""
	of := func(figure func(*result.Cell) *float64) *float64 {
		var values []float64
		for _, c := range valid {
			if v := figure(c); v != nil {
				values = append(values, *v)
			}
		}
		if m, ok := stats.Median(values); ok {
			return &m
		}
		return nil
	}
	l.QPS = of(func(c *result.Cell) *float64 { return known(c.Load.QPS) })
	l.Writes = of(func(c *result.Cell) *float64 { return known(float64(c.Load.Done)) })
	l.WriterFullS = of(func(c *result.Cell) *float64 { return c.Writer.FullSeconds })
	l.DrainS = of(func(c *result.Cell) *float64 { return c.Handler.DrainSeconds })
	l.Projected = slices.ContainsFunc(valid, func(c *result.Cell) bool { return c.Handler.DrainProjected })
	l.LatencyMs = of(func(c *result.Cell) *float64 { return c.Storage.SeenMeanMs })
	l.All = of(AllKinds)
	l.Fixed = of(func(c *result.Cell) *float64 { return Busiest(c, MostDrain) })
	l.Windowed = of(func(c *result.Cell) *float64 { return Busiest(c, Windows[row.Setup]) })
	l.CPUCores = of(func(c *result.Cell) *float64 { return c.Watcher.CPUCores })
	l.MemMiB = of(func(c *result.Cell) *float64 { return c.Watcher.RSSPeakMiB })
	l.NetKiBps = of(func(c *result.Cell) *float64 { return c.Watcher.NetKiBps })
	l.MostQueued = of(func(c *result.Cell) *float64 {
		if s := c.Series[result.SeriesQueueDepth]; len(s.V) > 0 {
			return new(slices.Max(s.V))
		}
		return nil
	})
	l.Dropped = of(func(c *result.Cell) *float64 {
		if c.Events == nil {
			return nil
		}
		return new(float64(c.Events.Dropped))
	})
	for _, c := range valid {
		if full := queueFull(c); full != nil && (l.QueueFull == nil || *full) {
			l.QueueFull = full
		}
	}
	return l
}

// queueFull is whether the Writer queue was full. The profile legacy has none in the path of Pods; its one queue has
// the room of both.
func queueFull(c *result.Cell) *bool {
	depth, least := c.Writer.FullSeconds, math.SmallestNonzeroFloat64
	if c.Handler.Strategy == Legacy {
		depth, least = c.Handler.MaxDepth, float64(c.Handler.Capacity)
	}
	if depth == nil {
		return nil
	}
	return new(*depth >= least)
}

// known is nil for what a cell without it has as 0.
func known(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
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

// Busiest is the highest mean of the acknowledged requests of all kinds over so many seconds;
// nil if the cell was not watched for as long. After a drain that was waited for nothing
// comes, so such a cell counts as watched.
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

// Label names a line in a sentence.
func (l *Line) Label() string { return l.Row.Setup + " " + strconv.Itoa(l.Row.Threads) + " threads" }
