package tune

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/badinput"
)

const (
	// margin is what a prediction must stay below a bound: fresh seeds differ.
	margin = 0.05
	// tolerance is what counts as equally low where the objective has no bound.
	tolerance = 0.05
	// seeds is how many plans a candidate near the answer is played with.
	seeds = 3
	// step is the least part by which the next candidate is larger than one that failed; it
	// doubles with each that does.
	step = 16
)

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

// screenInTime is the first screening, which ends with the budget.
func (x *Search) screenInTime(ctx context.Context) error {
	if x.o.Budget > 0 {
		var done context.CancelFunc
		ctx, done = context.WithDeadlineCause(ctx, x.began.Add(x.o.Budget), errBudget)
		defer done()
	}
	err := x.screen(ctx)
	x.took = time.Since(x.began)
	return err
}

// screen plays every rung of every strategy.
func (x *Search) screen(ctx context.Context) error {
	var all []Setting
	for _, strategy := range x.o.Strategies {
		all = append(all, x.rungs(strategy)...)
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
	all = nil // as long as the limits have left them
	for _, strategy := range x.o.Strategies {
		all = append(all, x.rungs(strategy)...)
	}
	// The lowest of one plan each is luck; and that of all plans is higher, so that others are
	// near it.
	for x.relative() {
		bound := x.bound()
		again := slices.DeleteFunc(slices.Clone(all), func(s Setting) bool { c := x.cand(s); return len(c.by) >= seeds || !x.near(c, bound) })
		if len(again) == 0 {
			break
		}
		if err := x.play(ctx, seeds, again...); err != nil {
			return err
		}
	}
	x.line("screened %d settings in virtual time in %s", n, time.Since(began).Round(100*time.Millisecond))
	return nil
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

// play simulates settings with the first n seeds where that was not done yet.
func (x *Search) play(ctx context.Context, n int, all ...Setting) error {
	cands := make([]*candidate, len(all))
	for i, s := range all {
		cands[i] = x.cand(s)
	}
	return x.playAll(ctx, n, cands...)
}

func (x *Search) playAll(ctx context.Context, n int, all ...*candidate) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range all {
		have := len(c.by)
		if have < n {
			c.by = append(c.by, make([]Figures, n-have)...)
		}
		for i := have; i < n; i++ {
			g.Go(func() error {
				f, err := x.simulate(ctx, c.set, i)
				c.by[i] = f
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, c := range all {
		x.exclude(c)
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
	out, err := x.o.Simulate(ctx, &f.Cells()[0].Scenario, seed)
	if err != nil {
		return out, fmt.Errorf("simulate %s: %w", s.Name(), err)
	}
	return out, nil
}
