package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const ratesScenario = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: limits}
cluster: {provider: replay}
storage: {latency: 20ms}
load: {model: open, rate: 200, duration: 10s}
watcher: {podQueueNum: 10}
matrix: {watcher.strategy: [keyed, single]}
repeat: 5
thresholds: {freshness.p99: '< 1s'}
`

// carrier is a watcher with a highest rate for each strategy, and what else is planted.
type carrier struct {
	limits    map[string]float64
	generator float64 // the highest rate that it keeps up with; 0: any
	noise     *rand.Rand
	change    func(rate float64, nth int, c *result.Cell) // by the number of cells at that rate before
	at        map[string]int                              // cells by strategy and rate
	seeds     map[string][]uint64
	fail      error
	crash     bool
}

func (m *carrier) Measure(ctx context.Context, f *spec.File) (*result.Results, error) {
	s := f.Base()
	res := &result.Results{Run: result.Run{ID: "limits", Scenario: s.Metadata.Name}}
	switch {
	case m.fail != nil:
		return nil, m.fail
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case m.crash:
		res.Run.Crashed = []result.Crash{{ID: "keyed", Why: "killed"}}
		return res, errors.New("cell keyed: the watcher ended")
	case m.at == nil:
		m.at, m.seeds = map[string]int{}, map[string][]uint64{}
	}
	rate, limit := s.Load.Rate, m.limits[s.Watcher.Strategy]
	key := fmt.Sprint(s.Watcher.Strategy, rate)
	m.seeds[s.Watcher.Strategy] = append(m.seeds[s.Watcher.Strategy], s.Seed)
	p99, growth := 0.05+1.95*math.Pow(min(1, rate/limit), 20), max(0, rate-limit)
	p99 += growth / limit * s.Load.Duration.Std().Seconds()
	if m.noise != nil {
		p99 *= math.Exp(0.3 * m.noise.NormFloat64())
	}
	c := result.Cell{
		Valid: true, Load: result.Load{Model: "open", QPS: rate},
		Freshness: &result.Quantiles{Count: 1000, P50: p99 / 3, P90: p99 / 2, P99: p99, Max: 2 * p99},
		Events:    &result.Events{Received: 1, Sent: 1, Lost: new(int64)},
		Pace:      &result.Pace{KeepsUp: growth <= 0.05*rate, GrowthQPS: growth},
	}
	if m.generator > 0 && rate > m.generator {
		c.Valid, c.InvalidReasons = false, []string{"the generator was 900 ms late"}
	}
	if m.change != nil {
		m.change(rate, m.at[key], &c)
	}
	m.at[key]++
	res.Cells = []result.Cell{c}
	return res, nil
}

func rateOptions(t *testing.T, text string, strategies ...string) Options {
	t.Helper()
	f, err := faults.Format.Parse("limits.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseObjective("freshness.p99=2s")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Scenario: f, Strategies: strategies, Objective: o, Resolution: 0.05}
}

func findRates(ctx context.Context, t *testing.T, o Options, m Measurer) (*Rates, error) {
	t.Helper()
	x, err := NewRates(o)
	if err != nil {
		t.Fatal(err)
	}
	return x.Run(ctx, m, quiet)
}

func rateFound(t *testing.T, m *carrier) StrategyRate {
	t.Helper()
	r, err := findRates(t.Context(), t, rateOptions(t, ratesScenario, keyed), m)
	if err != nil {
		t.Fatal(err)
	}
	return r.Strategies[0]
}

// TestHighestRate: without noise it is within the resolution below the planted one, by two cells for each rate that was
// tried, and with noise near it.
func TestHighestRate(t *testing.T) {
	for _, planted := range []float64{7, 49, 350, 351, 900, 12_345, 60_000} {
		for _, resolution := range []float64{0.01, 0.05, 0.2} {
			m := &carrier{limits: map[string]float64{keyed: planted}}
			o := rateOptions(t, ratesScenario, keyed)
			o.Resolution = resolution
			r, err := findRates(t.Context(), t, o, m)
			if err != nil {
				t.Fatal(err)
			}
			s := r.Strategies[0]
			if s.Rate == nil || s.Above == nil || !s.Complete || s.AtLeast || *s.Rate > planted || *s.Above <= planted ||
				(*s.Above-*s.Rate)/(*s.Above) > resolution+0.005 { // three digits
				t.Errorf("%g, resolution %g: %+v", planted, resolution, s)
			}
			for rate, n := range m.at {
				if n != 2 {
					t.Errorf("%s was decided by %d cells", rate, n)
				}
			}
		}
	}
	for seed := range uint64(60) {
		s := rateFound(t, &carrier{limits: map[string]float64{keyed: 350}, noise: rand.New(rand.NewPCG(seed, 0))})
		if s.Rate == nil || *s.Rate < 0.8*350 || *s.Rate > 1.1*350 {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
}

// TestRateIsDecidedByTwo: one cell that differs from two others changes nothing, and is reported.
func TestRateIsDecidedByTwo(t *testing.T) {
	for nth := range 2 {
		s := rateFound(t, &carrier{limits: map[string]float64{keyed: 400}, change: func(_ float64, n int, c *result.Cell) {
			if n == nth { // one cell of each rate is slow
				c.Freshness.P99 = 3
			}
		}})
		if s.Rate == nil || *s.Rate < 376 || !strings.Contains(strings.Join(s.Remarks, "\n"), "2 of 3 cells carried it") {
			t.Errorf("cell %d: %+v", nth, s)
		}
	}
}

func TestRateOfEachStrategy(t *testing.T) {
	m := &carrier{limits: map[string]float64{keyed: 400, single: 40}}
	r, err := findRates(t.Context(), t, rateOptions(t, ratesScenario, keyed, single), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Strategies {
		if planted := m.limits[s.Strategy]; s.Rate == nil || *s.Rate > planted || *s.Rate < 0.94*planted {
			t.Errorf("%+v, planted %g", s, planted)
		}
		if seeds := m.seeds[s.Strategy]; slices.Min(seeds) != 1 || slices.Max(seeds) != 2 {
			t.Errorf("%s has the seeds %v", s.Strategy, seeds)
		}
	}
	var b strings.Builder
	if err := render.DocumentTerminal(&b, r.Document(), render.TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"keyed carries the most: at least ", "keyed carries 39", "single carries 3", "writes/s with freshness p99 ≤ 2 s and nothing lost (not 4", "not carried"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestRateNotMeasured: a rate that could not be measured is a limit of the generator or the machine, not the strategy's.
func TestRateNotMeasured(t *testing.T) {
	s := rateFound(t, &carrier{limits: map[string]float64{keyed: 2_000}, generator: 800})
	if s.Rate == nil || !s.AtLeast || *s.Rate > 800 || *s.Rate < 750 || !strings.Contains(s.Why, "generator") {
		t.Errorf("%+v", s)
	}
	s = rateFound(t, &carrier{limits: map[string]float64{keyed: 2_000}, change: func(_ float64, nth int, c *result.Cell) {
		if nth == 0 {
			c.Valid, c.InvalidReasons = false, []string{"stalled"}
		}
	}})
	if s.Rate == nil || s.AtLeast || *s.Rate < 1_880 {
		t.Errorf("one invalid cell of each rate: %+v", s)
	}
	if s = rateFound(t, &carrier{limits: map[string]float64{keyed: 1e9}}); s.Rate == nil || *s.Rate != MaxRate || !s.AtLeast || !s.Complete {
		t.Errorf("%+v", s)
	}
	if s = rateFound(t, &carrier{limits: map[string]float64{keyed: 0.01}}); s.Rate != nil || s.Complete || s.Why == "" || len(s.Cells) > 20 {
		t.Errorf("%+v", s)
	}
	if s = rateFound(t, &carrier{crash: true}); s.Rate != nil || !strings.Contains(s.Why, "killed") {
		t.Errorf("%+v", s)
	}
}

// TestNotCarried: what ends a rate whatever freshness is, of violations also in an invalid cell and by one cell.
func TestNotCarried(t *testing.T) {
	check := func(verdict string) map[string]result.Check {
		return map[string]result.Check{"G1": {Verdict: verdict, Violations: 1}}
	}
	for _, c := range []struct {
		want   string
		change func(c *result.Cell)
		final  bool
	}{
		{"3 objects lost", func(c *result.Cell) { *c.Events.Lost = 3 }, true},
		{"5 events dropped", func(c *result.Cell) { c.Events.Dropped = 5 }, true},
		{"G1 failed", func(c *result.Cell) { c.Checks = check(result.Fail) }, true},
		{"G1 failed", func(c *result.Cell) { c.Checks = check(result.Allowed) }, true},
		{"1 object lost", func(c *result.Cell) { *c.Events.Lost, c.Valid, c.InvalidReasons = 1, false, []string{"late"} }, true},
		{"cut at 40%", func(c *result.Cell) { c.Cut, c.CutFraction = true, 0.4 }, false},
		{"not known whether", func(c *result.Cell) { c.Events = nil }, false},
		{"freshness is not known", func(c *result.Cell) { c.Freshness = nil }, false},
		{"backlog grew by", func(c *result.Cell) { c.Pace.KeepsUp = false }, false},
		{"freshness p99 was 2.5", func(c *result.Cell) { c.Freshness.P99 = 2.5 }, false},
	} {
		m := &carrier{limits: map[string]float64{keyed: 400}, change: func(rate float64, _ int, cell *result.Cell) {
			if rate > 100 {
				c.change(cell)
			}
		}}
		s := rateFound(t, m)
		if s.Rate == nil || *s.Rate > 100 || *s.Rate < 94 || s.AtLeast || !strings.Contains(s.Why, c.want) {
			t.Errorf("%s: %+v", c.want, s)
		}
		if n := m.at[fmt.Sprint(keyed, *s.Above)]; (n == 1) != c.final {
			t.Errorf("%s was decided by %d cells", c.want, n)
		}
	}
	s := rateFound(t, &carrier{limits: map[string]float64{keyed: 400}, change: func(_ float64, _ int, c *result.Cell) {
		c.Checks = map[string]result.Check{"G2": {Verdict: result.Allowed, Violations: 1}}
	}})
	if s.Rate == nil || *s.Rate < 376 {
		t.Errorf("a guarantee that the scenario lets fail: %+v", s)
	}
}

func TestRateErrors(t *testing.T) {
	broken := errors.New("no cluster")
	if r, err := findRates(t.Context(), t, rateOptions(t, ratesScenario, keyed), &carrier{fail: broken}); !errors.Is(err, broken) || len(r.Strategies) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	m := &carrier{limits: map[string]float64{keyed: 400}, change: func(float64, int, *result.Cell) {
		if n++; n == 3 {
			cancel()
		}
	}}
	r, err := findRates(ctx, t, rateOptions(t, ratesScenario, keyed), m)
	if !errors.Is(err, context.Canceled) || !r.Interrupted || len(r.Strategies[0].Cells) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	o := rateOptions(t, ratesScenario, keyed)
	o.Budget = 1
	if r, err := findRates(t.Context(), t, o, &carrier{limits: map[string]float64{keyed: 400}}); err != nil || r.Strategies[0].Rate != nil || !strings.Contains(r.Strategies[0].Remarks[0], "--budget") {
		t.Errorf("%+v, %v", r, err)
	}
	for want, text := range map[string]string{
		"a closed loop has no rate": strings.Replace(strings.Replace(ratesScenario, "model: open, rate: 200, duration: 10s",
			"model: closed, threads: 2, operations: 10", 1), "replay", "embedded", 1),
		"load.steps do not have one rate": strings.Replace(ratesScenario, "rate: 200,", "steps: [{length: 1s, rate: 200}],", 1),
		"choose one, for example --set matrix.watcher.podQueueNum=5": strings.Replace(ratesScenario, "[keyed, single]",
			"[keyed, single], watcher.podQueueNum: [5, 10]", 1),
		"at the speed 10x": strings.Replace(ratesScenario, "provider: replay", "provider: replay, replay: {speed: 10x}", 1),
	} {
		if _, err := NewRates(rateOptions(t, text, keyed)); !badinput.Is(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestRatesTakeTurns: where the time ends, all strategies are as far, and none is said to be first that could not be.
func TestRatesTakeTurns(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	m := &carrier{limits: map[string]float64{keyed: 400, single: 40}, change: func(float64, int, *result.Cell) {
		if n++; n == 8 {
			cancel(stop)
		}
	}}
	r, err := findRates(ctx, t, rateOptions(t, ratesScenario, keyed, single), m)
	if !errors.Is(err, stop) || len(r.Strategies) != 2 || len(r.Strategies[0].Cells) != 4 || len(r.Strategies[1].Cells) != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	r.Strategies[1] = StrategyRate{Strategy: single}
	if s := r.most(); !strings.Contains(s, "not known: nothing was decided of single") {
		t.Error(s)
	}
}
