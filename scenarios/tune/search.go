package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/replay"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Measurer runs all cells of a variant of the scenario. With an error come the results so
// far, which may be nil.
type Measurer interface {
	Measure(ctx context.Context, f *spec.File) (*result.Results, error)
}

// Simulator plays one cell in virtual time.
type Simulator func(ctx context.Context, s *spec.Scenario, seed uint64) (Figures, error)

// Options are what a search is given.
type Options struct {
	Scenario   *spec.File
	Objective  Objective
	Limits     Limits
	Queues     Range
	Lengths    Range
	Strategies []string
	Repeat     int           // how often the recommendation is measured
	Budget     time.Duration // of the whole search; 0: any
	Resolution float64       // of FindRates: width of the last bracket as a part of its upper end, such as 0.05
	Simulate   Simulator
	Measurer   Measurer
	Asked      float64            // writes per second that a plan of a profile must have, within 5 %; 0: any
	Known      []result.TunedCell // of an earlier search for the same scenario
	Line       func(string)       // progress
}

// Search is one search. It is not for concurrent use.
type Search struct {
	o       Options
	base    *spec.Scenario
	kinds   []string
	planned int64
	length  time.Duration   // of the load
	factor  float64         // measured ÷ predicted, so far
	memory  float64         // MiB that a watcher takes besides its queues; 0: not known
	short   map[Setting]int // length of handler queues by strategy and number, where the longest take too much

	late     map[string][]Setting // could not be measured, by strategy
	compared map[string]bool      // strategies that were measured beside an answer
	began    time.Time
	took     time.Duration // of the first screening

	mu       sync.Mutex // guards what follows, while simulations run side by side
	cands    map[Setting]*candidate
	probes   map[Setting]*candidate // of other lengths, with all plans
	plans    []uint64               // seeds by repetition
	sims     int
	measured int
	retries  int
	reused   int
	spent    time.Duration
	notes    []string
}

// candidate is a setting with what is known of it.
type candidate struct {
	set      Setting
	by       []Figures // predicted, by seed
	excluded string
	cells    []result.TunedCell
}

// New reads what is to be searched.
func New(o Options) (*Search, error) {
	if n := len(o.Scenario.Cells()); n != 1 {
		// The axes of the watcher are the search's own.
		f, err := o.Scenario.With(overrides(Setting{Strategy: keyed, Queues: 1, WriterLen: leastWriter, HandlerLen: MaxLength})...)
		if err != nil {
			return nil, err
		}
		o.Scenario = f
	}
	cells := o.Scenario.Cells()
	if err := onePoint(cells); err != nil {
		return nil, err
	}
	x := &Search{o: o, base: &cells[0].Scenario, factor: 1, cands: map[Setting]*candidate{}, probes: map[Setting]*candidate{}, short: map[Setting]int{}, late: map[string][]Setting{}, compared: map[string]bool{}}
	if x.base.Watcher.Command != "" || x.base.Watcher.Profile != "default" {
		return nil, badinput.New("drop watcher.command and watcher.profile", "tune searches the settings of k8s-watch")
	}
	x.kinds = x.base.Kinds()
	return x, x.extent()
}

// onePoint refuses a scenario with several points besides what is searched, and says how to choose one.
func onePoint(cells []spec.Cell) error {
	if len(cells) == 1 {
		return nil
	}
	axis := spec.Param{Name: "AXIS", Value: "POINT"}
	for _, p := range cells[0].Params {
		if slices.ContainsFunc(cells, func(c spec.Cell) bool { return !slices.Contains(c.Params, p) }) {
			axis = p
			break
		}
	}
	return badinput.New(fmt.Sprintf("choose one, for example --set matrix.%s=%s", axis.Name, axis.Value),
		"%s has %d points besides what is searched: tune needs one", cells[0].Scenario.Metadata.Name, len(cells))
}

// extent is how much the load is, and how long.
func (x *Search) extent() (err error) {
	s := x.base
	if s.Traced() {
		var n int64
		if n, x.length, err = replay.Extent(s.Cluster.Replay.Trace); err != nil {
			return badinput.New("name a file of watchbench record", "%v", err)
		}
		x.planned = n
	} else {
		if s.Load.Model != result.ModelOpen {
			return badinput.New("use a scenario with load.model: open, or --rate", "%s is a closed loop, whose rate follows the answers: there is nothing to tune for", s.Metadata.Name)
		}
		seed, err := x.seed(0)
		if err != nil {
			return err
		}
		p, err := plan.New(s.Load.Plan("tune", seed))
		if err != nil {
			return badinput.New("see watchbench scenarios validate", "%v", err)
		}
		x.planned, x.length = p.Planned(), s.Load.Duration.Std()
	}
	if s.Simulated() {
		x.length = s.Speed().Length(x.length)
	}
	o := &x.o.Objective
	if o.Rate > 0 { // it is carried if what is owed at the end of the load is soon there
		o.Bound = max(3*s.Storage.LatencyFigures(podKind).P99, x.length/20)
	}
	if o.Metric == metricDrain && o.Bound > 0 && o.Bound <= x.length {
		return badinput.New("use a longer time, or drainAfterLoad="+o.Bound.String(), "--objective %s: the load alone lasts %s", o.Text, x.length)
	}
	return nil
}

// variant is the scenario with a setting.
func (x *Search) variant(s Setting, sets ...string) (*spec.File, error) {
	f, err := x.o.Scenario.With(slices.Concat(overrides(s), sets)...)
	if err == nil && len(f.Cells()) != 1 {
		err = errors.New("a variant with several cells")
	}
	return f, err
}

// seed is that of a repetition: the next one whose plan has the rate that was asked for.
func (x *Search) seed(rep int) (uint64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.plans) <= rep {
		next := x.base.Seed
		if n := len(x.plans); n > 0 {
			next = x.plans[n-1] + 1
		}
		for ; x.o.Asked > 0; next++ {
			rate, err := rateOf(x.base.Load.Load, next)
			if err != nil {
				return 0, err
			}
			if math.Abs(rate-x.o.Asked) <= nearRate*x.o.Asked {
				break
			}
			if next >= x.base.Seed+maxSeeds {
				return 0, badinput.New("use a longer load", "of %d plans only %d have about %s writes/s", maxSeeds, len(x.plans), figure(x.o.Asked))
			}
		}
		x.plans = append(x.plans, next)
	}
	return x.plans[rep], nil
}

func (x *Search) line(format string, args ...any) {
	if x.o.Line != nil {
		x.o.Line(fmt.Sprintf(format, args...))
	}
}

func (x *Search) cand(s Setting) *candidate {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cands[s] == nil {
		x.cands[s] = &candidate{set: s}
	}
	return x.cands[s]
}

// Use says what measures, and where progress is shown.
func (x *Search) Use(m Measurer, line func(string)) { x.o.Measurer, x.o.Line = m, line }
