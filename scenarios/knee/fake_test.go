package knee

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const scenario = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: planted}
cluster: {provider: replay}
storage: {latency: 20ms}
load: {model: open, rate: 200, duration: 10s}
watcher: {podQueueNum: 10}
matrix: {watcher.strategy: [keyed, single]}
repeat: 5
thresholds: {freshness.p99: '< 1s'}
`

func parsed(t *testing.T, text string, sets ...string) *spec.File {
	t.Helper()
	f, err := spec.Format{}.Parse("planted.yaml", []byte(text), sets...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fake is a watcher with a knee for each strategy, and what else is planted.
type fake struct {
	knees     map[string]float64
	generator float64 // highest rate it keeps up with; 0: any
	noise     float64 // of freshness, as a factor
	rng       *rand.Rand
	change    func(rate float64, nth int, c *result.Cell) // by the number of cells at that rate
	measured  int
	at        map[string]int // cells by strategy and rate
	seeds     map[string][]uint64
	fail      error
	crash     bool
	took      time.Duration // of a cell
}

func (m *fake) Measure(_ context.Context, f *spec.File) (*result.Results, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	if m.at == nil {
		m.at, m.seeds = map[string]int{}, map[string][]uint64{}
	}
	s := f.Base()
	res := &result.Results{Run: result.Run{ID: fmt.Sprintf("planted-%d", m.measured), Scenario: s.Metadata.Name}}
	if m.crash {
		res.Run.Crashed = []result.Crash{{ID: "keyed", Why: "killed"}}
		return res, fmt.Errorf("cell keyed: the watcher ended")
	}
	for i := range s.Repeat {
		c := m.cell(s)
		c.Repetition = i + 1
		c.ID = fmt.Sprintf("only-r%d", c.Repetition)
		res.Cells = append(res.Cells, c)
		time.Sleep(m.took)
	}
	return res, nil
}

func (m *fake) cell(s spec.Scenario) result.Cell {
	m.measured++
	rate, knee := s.Load.Rate, m.knees[s.Watcher.Strategy]
	key := fmt.Sprint(s.Watcher.Strategy, rate)
	nth := m.at[key]
	m.at[key]++
	m.seeds[s.Watcher.Strategy] = append(m.seeds[s.Watcher.Strategy], s.Seed)
	p99, growth := 2.0, 0.0 // at the knee
	if rate < knee {
		p99 = 0.05 + 1.95*math.Pow(rate/knee, 20)
	} else {
		growth = rate - knee
		p99 += growth / knee * s.Load.Duration.Std().Seconds()
	}
	if m.rng != nil {
		p99 *= math.Exp(m.noise * m.rng.NormFloat64())
	}
	c := result.Cell{
		Valid: true, Load: result.Load{Model: "open", QPS: rate, DurationS: 10, PlannedQPS: &rate, LagMs: &result.Quantiles{P99: 3}},
		Freshness: &result.Quantiles{Count: 1000, P50: p99 / 3, P90: p99 / 2, P99: p99, Max: 2 * p99},
		Events:    &result.Events{Received: 1, Sent: 1, Lost: new(int64)},
		Pace:      &result.Pace{KeepsUp: growth <= 0.05*rate, GrowthQPS: growth},
	}
	if m.generator > 0 && rate > m.generator {
		c.Valid, c.InvalidReasons = false, []string{"the generator was 900 ms late (p99); the limit is 250 ms"}
		c.LateReasons = c.InvalidReasons
		c.Load.LagMs.P99 = 900
	}
	if m.change != nil {
		m.change(rate, nth, &c)
	}
	return c
}

func find(t *testing.T, m *fake, change ...func(*Options)) *Report {
	t.Helper()
	r, err := Find(t.Context(), m, options(t, change...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func options(t *testing.T, change ...func(*Options)) Options {
	t.Helper()
	objective, err := ParseObjective("freshness.p99=2s")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Scenario: parsed(t, scenario), Strategies: []string{"keyed"}, Objective: objective,
		Resolution: DefaultResolution, MaxCells: DefaultCells, Repeat: DefaultRepeat,
	}
	for _, c := range change {
		c(&o)
	}
	return o
}
