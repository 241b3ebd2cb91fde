package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/replay"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Measurer runs all cells of a variant of the scenario. With an error come the results so
// far, which may be nil.
type Measurer interface {
	Measure(ctx context.Context, f *spec.File) (*result.Results, error)
}

// Simulator plays one cell in virtual time.
type Simulator func(ctx context.Context, s *spec.Scenario, seed uint64, overhead time.Duration) (Figures, error)

// Options are what a search is given.
type Options struct {
	Scenario   *spec.File
	Objective  Objective
	Limits     Limits
	Queues     Range
	Lengths    Range
	Strategies []string
	Repeat     int           // how often the recommendation is measured
	Budget     time.Duration // of measuring
	Simulate   Simulator
	Measurer   Measurer
	Asked      float64            // writes per second that a plan of a profile must have, within 5 %; 0: any
	Known      []result.TunedCell // of an earlier search for the same scenario
	Line       func(string)       // progress
}

const (
	// margin is what a prediction must stay below a bound: fresh seeds differ.
	margin = 0.05
	// tolerance is what counts as equally low where the objective has no bound.
	tolerance = 0.05
	// noise is how far a measurement may be above what is expected before that is refuted,
	// where the objective has no bound.
	noise = 0.25
	// seeds is how many plans a candidate near the answer is played with.
	seeds = 3
	// step is the least part by which the next candidate is larger than one that failed; it
	// doubles with each that does.
	step = 16
)

// Search is one search. It is not for concurrent use.
type Search struct {
	o        Options
	base     *spec.Scenario
	kinds    []string
	planned  int64
	length   time.Duration // of the load
	overhead time.Duration
	fitted   bool
	factor   float64         // measured ÷ predicted, so far
	memory   float64         // MiB that a watcher takes besides its queues; 0: not known
	short    map[Setting]int // length of handler queues by strategy and number, where the longest take too much

	first *candidate      // what the original is told, where nothing of it was measured
	late  map[string]bool // strategies of which a setting could not be measured

	mu       sync.Mutex // guards what follows, while simulations run side by side
	cands    map[Setting]*candidate
	plans    []uint64 // seeds by repetition
	sims     int
	measured int
	second   int
	reused   int
	spent    time.Duration
	notes    []string
}

// candidate is a setting with what is known of it.
type candidate struct {
	set      Setting
	by       []Figures // predicted, by seed
	ladder   bool      // one of those that are screened
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
	if len(cells) != 1 {
		i := slices.IndexFunc(cells[0].Params, func(p spec.Param) bool {
			return slices.ContainsFunc(cells, func(c spec.Cell) bool { return !slices.Contains(c.Params, p) })
		})
		axis := spec.Param{Name: "AXIS", Value: "POINT"}
		if i >= 0 {
			axis = cells[0].Params[i]
		}
		return nil, badinput.New(fmt.Sprintf("choose one, for example --set matrix.%s=%s", axis.Name, axis.Value),
			"%s has %d points besides the watcher's settings: tune needs one load", o.Scenario.Base().Metadata.Name, len(cells))
	}
	x := &Search{o: o, base: &cells[0].Scenario, factor: 1, cands: map[Setting]*candidate{}, short: map[Setting]int{}, late: map[string]bool{}}
	if cells[0].Calibrates || cells[0].Calibration != "" {
		return nil, badinput.New("give the load a rate", "%s has a load that follows each strategy's capacity", x.base.Metadata.Name)
	}
	if x.base.Watcher.Command != "" || x.base.Watcher.Profile != "default" {
		return nil, badinput.New("drop watcher.command and watcher.profile", "tune searches the settings of k8s-watch")
	}
	x.kinds = x.base.Kinds()
	return x, x.extent()
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

// play simulates settings with the first n seeds where that was not done yet.
func (x *Search) play(ctx context.Context, n int, all ...Setting) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range all {
		c := x.cand(s)
		have := len(c.by)
		if have < n {
			c.by = append(c.by, make([]Figures, n-have)...)
		}
		for i := have; i < n; i++ {
			g.Go(func() error {
				f, err := x.simulate(ctx, s, i)
				c.by[i] = f
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, s := range all {
		x.exclude(x.cand(s))
	}
	return nil
}

func (x *Search) simulate(ctx context.Context, s Setting, rep int) (Figures, error) {
	if ctx.Err() != nil {
		return Figures{}, context.Cause(ctx)
	}
	f, err := x.variant(s)
	if err != nil {
		return Figures{}, err
	}
	x.mu.Lock()
	x.sims++
	x.mu.Unlock()
	seed, err := x.seed(rep)
	if err != nil {
		return Figures{}, err
	}
	out, err := x.o.Simulate(ctx, &f.Cells()[0].Scenario, seed, x.overhead)
	if err != nil {
		return out, fmt.Errorf("simulate %s: %w", s.Name(), err)
	}
	return out, nil
}

func (x *Search) cand(s Setting) *candidate {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cands[s] == nil {
		x.cands[s] = &candidate{set: s}
	}
	return x.cands[s]
}

// exclude takes out what is beyond a limit, or loses events.
func (x *Search) exclude(c *candidate) {
	if c.excluded != "" {
		return
	}
	var queued float64
	var dropped int64
	for _, f := range c.by {
		if f.QueuedMiB != nil {
			queued = max(queued, *f.QueuedMiB)
		}
		if f.Dropped != nil {
			dropped = max(dropped, *f.Dropped)
		}
	}
	limit := float64(x.o.Limits.Memory) / (1 << 20)
	switch {
	case dropped > 0:
		c.excluded = fmt.Sprintf("drops %d events in the simulation", dropped)
	case limit > 0 && queued+x.memory > limit:
		c.excluded = fmt.Sprintf("its queues would hold %.1f MiB", queued)
		if x.memory > 0 {
			c.excluded += fmt.Sprintf(" beside %.1f MiB of the watcher itself", x.memory)
		}
	}
}

// beyond says why a setting is beyond a limit whatever is simulated; empty if it is not.
func (x *Search) beyond(s Setting) string {
	limit := x.o.Limits.InFlight
	switch n := most(s, x.kinds); {
	case limit == 0:
	case s.Strategy == adaptive:
		return "finds its number itself: a limit on it would not be what was measured"
	case n > limit:
		return fmt.Sprintf("may have %d requests in flight", n)
	}
	return ""
}

// roomy is a setting with queues as long as may be, within the memory limit.
func (x *Search) roomy(strategy string, queues int) Setting {
	s := Setting{Strategy: strategy, WriterLen: max(leastWriter, x.o.Lengths.High), HandlerLen: x.o.Lengths.High}
	if numbered(strategy) {
		s.Queues = queues
	}
	if n := x.short[Setting{Strategy: strategy, Queues: s.Queues}]; n > 0 {
		s.HandlerLen = n
	}
	return s
}

// shorten gives the settings that hold more than the memory limit shorter queues, which
// merge earlier.
func (x *Search) shorten(ctx context.Context, all []Setting) error {
	if x.o.Limits.Memory == 0 {
		return nil
	}
	for _, s := range all {
		for s.HandlerLen > x.o.Lengths.Low && x.cand(s).excluded != "" {
			s.HandlerLen = max(x.o.Lengths.Low, s.HandlerLen/8)
			if err := x.play(ctx, 1, s); err != nil {
				return err
			}
		}
		if x.cand(s).excluded == "" {
			x.short[Setting{Strategy: s.Strategy, Queues: s.Queues}] = s.HandlerLen
		}
	}
	return nil
}

// rungs are the settings of a strategy that are screened, smallest first.
func (x *Search) rungs(strategy string) (all []Setting) {
	steps := []int{0}
	if numbered(strategy) {
		steps = ladder(x.o.Queues)
	}
	for _, n := range steps {
		if s := x.roomy(strategy, n); x.beyond(s) == "" {
			all = append(all, s)
		}
	}
	return all
}

// screen plays every rung of every strategy.
func (x *Search) screen(ctx context.Context) error {
	var all []Setting
	for _, strategy := range x.o.Strategies {
		for _, s := range x.rungs(strategy) {
			x.cand(s).ladder = true
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return badinput.New("raise the limit", "no setting is within --limit %v", x.o.Limits.Text)
	}
	began, n := time.Now(), len(all)
	if err := x.play(ctx, 1, all...); err != nil {
		return err
	}
	if err := x.shorten(ctx, all); err != nil {
		return err
	}
	if x.o.Objective.Bound == 0 { // the lowest of one plan each is luck
		bound := x.bound()
		all = slices.DeleteFunc(all, func(s Setting) bool { return !x.near(x.cand(s), bound) })
		if err := x.play(ctx, seeds, all...); err != nil {
			return err
		}
	}
	x.line("screened %d settings in virtual time in %s", n, time.Since(began).Round(100*time.Millisecond))
	return nil
}

func (x *Search) line(format string, args ...any) {
	if x.o.Line != nil {
		x.o.Line(fmt.Sprintf(format, args...))
	}
}

// predicted is the worst of the seeds, nil where one is not known.
func (x *Search) predicted(c *candidate) *float64 {
	var worst *float64
	for i := range c.by {
		v := x.o.Objective.of(&c.by[i])
		if v == nil {
			return nil
		}
		if worst == nil || *v > *worst {
			worst = v
		}
	}
	return worst
}

// value is what is to be expected of a candidate: what was measured, else what was
// predicted, corrected by how wrong predictions were. nil if it is out or not known.
func (x *Search) value(c *candidate) *float64 {
	if c.excluded != "" {
		return nil
	}
	if m, measured := x.worst(c); measured {
		return m
	}
	if p := x.predicted(c); p != nil {
		return new(*p * x.factor)
	}
	return nil
}

// worst is the worst of the valid cells, nil if that is not known; known says that there are.
func (x *Search) worst(c *candidate) (worst *float64, known bool) {
	for i := range c.cells {
		if !c.cells[i].Valid {
			continue
		}
		v := x.o.Objective.of(&c.cells[i].Figures)
		if v == nil {
			return nil, true
		}
		if known = true; worst == nil || *v > *worst {
			worst = v
		}
	}
	return worst, known
}

// bound is what a setting must stay within: the objective's, or what is as good as the
// lowest. Infinite if nothing is known.
func (x *Search) bound() float64 {
	if x.o.Objective.Bound > 0 {
		return x.o.Objective.Bound.Seconds()
	}
	low := 0.0
	for _, c := range x.cands {
		if v := x.predicted(c); v != nil && c.excluded == "" && (low == 0 || *v < low) && !x.wrong(c.set.Strategy) && !x.late[c.set.Strategy] {
			low = *v
		}
	}
	return low * x.factor * (1 + tolerance)
}

// holds judges a candidate: by its valid cells where it has some, else by prediction.
func (x *Search) holds(c *candidate, bound float64) bool {
	if _, measured := x.worst(c); measured {
		return x.verdict(c, bound) == result.TunedHolds
	}
	v := x.value(c)
	if v == nil {
		return false
	}
	if x.o.Objective.Bound > 0 {
		bound *= 1 - margin
	}
	return *v <= bound
}

// verdict is that of the measurements.
func (x *Search) verdict(c *candidate, bound float64) string {
	if slices.ContainsFunc(c.cells, func(t result.TunedCell) bool { return len(t.Failed) > 0 }) {
		return result.TunedWrong
	}
	v, measured := x.worst(c)
	slow := slices.ContainsFunc(c.cells, func(t result.TunedCell) bool {
		return t.Valid && (!t.Safe || x.o.Objective.Rate > 0 && t.KeepsUp != nil && !*t.KeepsUp)
	})
	if x.o.Objective.Bound == 0 && v != nil {
		// Nothing is promised: measurements differ from one another, and the middle one counts.
		bound *= 1 + noise
		v = x.middle(c)
	}
	switch {
	case !measured && len(c.cells) > 0:
		return result.TunedInvalid
	case !measured:
		return result.TunedUnmeasured
	case v == nil || slow || *v > bound || x.tooBig(c):
		return result.TunedFails
	}
	return result.TunedHolds
}

// middle is the median of the valid cells.
func (x *Search) middle(c *candidate) *float64 {
	var all []float64
	for i := range c.cells {
		if v := x.o.Objective.of(&c.cells[i].Figures); c.cells[i].Valid && v != nil {
			all = append(all, *v)
		}
	}
	if m, ok := stats.Median(all); ok {
		return &m
	}
	return nil
}

// tooBig reports whether a cell took more memory than allowed, or a number that is not known.
func (x *Search) tooBig(c *candidate) bool {
	limit := float64(x.o.Limits.Memory) / (1 << 20)
	return limit > 0 && slices.ContainsFunc(c.cells, func(t result.TunedCell) bool {
		return t.Valid && (t.Figures.RSSMiB == nil || *t.Figures.RSSMiB > limit)
	})
}

// cost orders settings: fewer requests in flight first, of those that have none to be set
// what they came to; then fewer requests, then shorter queues.
func (x *Search) cost(a, b *candidate) int {
	return cmp.Or(cmp.Compare(x.inFlight(a), x.inFlight(b)), cmp.Compare(x.requests(a), x.requests(b)),
		cmp.Compare(a.set.HandlerLen, b.set.HandlerLen), bySize(a.set, b.set))
}

// inFlight is what a setting may have in flight, or came to.
func (x *Search) inFlight(c *candidate) float64 {
	if n := most(c.set, x.kinds); n > 0 {
		return float64(n)
	}
	peak := 0.0
	for _, f := range c.by {
		if f.InFlight != nil {
			peak = max(peak, *f.InFlight)
		}
	}
	for i := range c.cells {
		if v := c.cells[i].Figures.InFlight; v != nil {
			peak = max(peak, *v)
		}
	}
	return peak
}

func (x *Search) requests(c *candidate) int64 {
	if len(c.by) == 0 {
		return 0
	}
	return c.by[0].Requests
}

// learn takes from the measurements how wrong the predictions are.
func (x *Search) learn() {
	var ratios []float64
	for _, c := range x.cands {
		if c.excluded == "" {
			ratios = append(ratios, x.ratios(c)...)
		}
	}
	if k, ok := stats.Median(ratios); ok {
		x.factor = min(max(k, 0.25), 4)
	}
}

// ratios are measured ÷ predicted, of the valid cells whose plan was simulated as well.
func (x *Search) ratios(c *candidate) (all []float64) {
	for i := range c.cells {
		t := &c.cells[i]
		rep := slices.Index(x.plans, t.Seed)
		if !t.Valid || rep < 0 || rep >= len(c.by) {
			continue
		}
		m, p := x.o.Objective.of(&t.Figures), x.o.Objective.of(&c.by[rep])
		if m != nil && p != nil && *p > 0 {
			all = append(all, *m / *p)
		}
	}
	return all
}

// Use says what measures, and where progress is shown.
func (x *Search) Use(m Measurer, line func(string)) { x.o.Measurer, x.o.Line = m, line }
