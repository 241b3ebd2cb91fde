package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const ratesScenario = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: limits}
cluster: {provider: simulated}
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
	change    func(rate float64, c *result.Cell)
	crash     bool
	cells     int
}

func (m *carrier) p99(rate, limit float64) float64 {
	return 0.05 + 1.95*math.Pow(min(1, rate/limit), 20) + 10*max(0, rate-limit)/limit
}

// simulate predicts a limit that is a fifth too high.
func (m *carrier) simulate(_ context.Context, s spec.Scenario, _ uint64) (Figures, error) {
	if s.Watcher.Strategy == single {
		return Figures{}, badinput.New("", "cannot be simulated")
	}
	return Figures{P99: new(m.p99(s.Load.Rate, 1.2*m.limits[s.Watcher.Strategy]))}, nil
}

func (m *carrier) Measure(ctx context.Context, f *spec.File) (*result.Results, error) {
	s := f.Base()
	res := &result.Results{Run: result.Run{ID: "limits", Scenario: s.Metadata.Name}}
	switch m.cells++; {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case m.crash:
		res.Run.Crashed = []result.Crash{{ID: "keyed", Why: "killed"}}
		return res, errors.New("cell keyed: the watcher ended")
	}
	rate, limit := s.Load.Rate, m.limits[s.Watcher.Strategy]
	p99 := m.p99(rate, limit)
	if m.noise != nil {
		p99 *= math.Exp(0.3 * m.noise.NormFloat64())
	}
	c := result.Cell{
		Valid: true, Freshness: &result.Quantiles{Count: 1000, P99: p99}, Checks: map[string]result.Check{"G1": {Verdict: result.Pass}},
		Events: &result.Events{Received: 1, Sent: 1, Lost: new(int64)}, Pace: &result.Pace{KeepsUp: rate <= 1.05*limit},
	}
	if m.generator > 0 && rate > m.generator {
		c.Valid, c.InvalidReasons = false, []string{"the generator was 900 ms late"}
	}
	if m.change != nil {
		m.change(rate, &c)
	}
	res.Cells = []result.Cell{c}
	return res, nil
}

func findRates(t *testing.T, m *carrier, strategies ...string) *result.Tuning {
	t.Helper()
	o := options(t, planted(), ratesScenario, "freshness.p99=2s", strategies...)
	o.Rate, o.Simulate = true, m.simulate
	return run(t, o, m)
}

// TestHighestRate: it is within a step below the planted one, whatever was predicted, and with noise near it.
func TestHighestRate(t *testing.T) {
	for _, limit := range []float64{7, 49, 350, 351, 900, 12_345, 60_000} {
		for _, strategy := range []string{keyed, single} {
			m := &carrier{limits: map[string]float64{strategy: limit}}
			got := findRates(t, m, strategy)
			r := got.Rates[0]
			if !got.Met || r.Rate == nil || r.Above == nil || r.AtLeast || *r.Rate > limit || *r.Above <= limit || *r.Above / *r.Rate > 1.07 {
				t.Errorf("%s, %g: %+v", strategy, limit, r)
			}
			if m.cells > 22 {
				t.Errorf("%s, %g: %d cells", strategy, limit, m.cells)
			}
		}
	}
	for seed := range uint64(60) {
		r := findRates(t, &carrier{limits: map[string]float64{keyed: 350}, noise: rand.New(rand.NewPCG(seed, 0))}, keyed).Rates[0]
		if r.Rate == nil || *r.Rate < 0.75*350 || *r.Rate > 1.1*350 {
			t.Fatalf("seed %d: %+v", seed, r)
		}
	}
}

// TestRateOfEachStrategy: one sentence each, with the rate, the next and why.
func TestRateOfEachStrategy(t *testing.T) {
	got := findRates(t, &carrier{limits: map[string]float64{keyed: 400, single: 40}}, keyed, single)
	for _, want := range []string{"keyed carries ", "single carries 3", "writes/s with freshness p99 ≤ 2 s and nothing lost (not 4", "freshness p99 was 2.", "."} {
		if !strings.Contains(got.Sentence, want) {
			t.Errorf("no %q in %s", want, got.Sentence)
		}
	}
}

// TestRateNotMeasured: a rate that could not be measured is a limit of the generator or the machine, not the strategy's.
func TestRateNotMeasured(t *testing.T) {
	r := findRates(t, &carrier{limits: map[string]float64{keyed: 2_000}, generator: 800}, keyed).Rates[0]
	if r.Rate == nil || !r.AtLeast || *r.Rate > 800 || *r.Rate < 750 || !strings.Contains(r.Why, "generator") {
		t.Errorf("%+v", r)
	}
	if r = findRates(t, &carrier{limits: map[string]float64{keyed: 1e9}}, keyed).Rates[0]; r.Rate == nil || *r.Rate != MaxRate || !r.AtLeast {
		t.Errorf("%+v", r)
	}
	if got := findRates(t, &carrier{limits: map[string]float64{keyed: 0.01}}, keyed); got.Met || got.Rates[0].Rate != nil || got.Rates[0].Why == "" {
		t.Errorf("%+v", got.Rates)
	}
	if got := findRates(t, &carrier{crash: true, limits: map[string]float64{keyed: 1}}, keyed); got.Met || !strings.Contains(got.Rates[0].Why, "killed") {
		t.Errorf("%+v", got.Rates)
	}
}

// TestNotCarried: what ends a rate whatever freshness is.
func TestNotCarried(t *testing.T) {
	for want, change := range map[string]func(c *result.Cell){
		"1 object lost":         func(c *result.Cell) { *c.Events.Lost, c.Valid, c.InvalidReasons = 1, false, []string{"late"} },
		"G1 failed":             func(c *result.Cell) { c.Checks = map[string]result.Check{"G1": {Verdict: result.Allowed}} },
		"not drained":           func(c *result.Cell) { c.Cut, c.CutFraction = true, 0.4 },
		"not known whether":     func(c *result.Cell) { c.Events = nil },
		"is not known":          func(c *result.Cell) { c.Freshness = nil },
		"backlog grew":          func(c *result.Cell) { c.Pace.KeepsUp = false },
		"freshness p99 was 2.5": func(c *result.Cell) { c.Freshness.P99 = 2.5 },
	} {
		r := findRates(t, &carrier{limits: map[string]float64{keyed: 400}, change: func(rate float64, cell *result.Cell) {
			if rate > 100 {
				change(cell)
			}
		}}, keyed).Rates[0]
		if r.Rate == nil || *r.Rate > 100 || *r.Rate < 94 || r.AtLeast || !strings.Contains(r.Why, want) {
			t.Errorf("%s: %+v", want, r)
		}
	}
}

// TestRatesInterrupted: what was decided is kept.
func TestRatesInterrupted(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &carrier{limits: map[string]float64{keyed: 400, single: 40}}
	m.change = func(float64, *result.Cell) {
		if m.cells == 3 {
			cancel(stop)
		}
	}
	o := options(t, planted(), ratesScenario, "freshness.p99=2s", keyed, single)
	o.Rate, o.Simulate = true, m.simulate
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(ctx, m, quiet)
	if !errors.Is(err, stop) || !got.Interrupted || got.Measured != 3 || len(got.Rates) != 2 || got.Rates[1].Sentence != "single: nothing was measured." {
		t.Errorf("%v, %s", err, fmt.Sprint(got.Rates))
	}
}
