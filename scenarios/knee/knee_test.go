package knee

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestConverges: without noise the knee is within the resolution below the planted one, and
// the rate above it was not carried.
func TestConverges(t *testing.T) {
	for _, planted := range []float64{7, 49, 350, 351, 900, 12_345, 60_000} {
		for _, resolution := range []float64{0.01, 0.05, 0.2} {
			m := &fake{knees: map[string]float64{"keyed": planted}}
			s := find(t, m, func(o *Options) { o.Resolution = resolution }).Strategies[0]
			if s.Knee == nil || s.Above == nil || !s.Complete || s.Bound != ByStrategy {
				t.Fatalf("knee %g, resolution %g: %+v", planted, resolution, s)
			}
			if *s.Knee > planted || *s.Above <= planted || (*s.Above-*s.Knee)/(*s.Above) > resolution+0.005 { // three digits
				t.Errorf("knee %g, resolution %g: %g to %g", planted, resolution, *s.Knee, *s.Above)
			}
			if s.Cells > DefaultCells || m.measured != s.Cells+DefaultRepeat {
				t.Errorf("knee %g, resolution %g: %d cells of the search, %d in all", planted, resolution, s.Cells, m.measured)
			}
			if y := s.Steady; y == nil || y.Carried != DefaultRepeat || y.P99 == nil || *y.P99 > 0.06 || math.Abs(y.Rate-0.7**s.Knee) > 0.005*y.Rate {
				t.Errorf("knee %g: at 70%% %+v", planted, y)
			}
		}
	}
}

func TestEachStrategyHasItsOwn(t *testing.T) {
	m := &fake{knees: map[string]float64{"keyed": 400, "single": 40}}
	r := find(t, m, func(o *Options) { o.Strategies = Strategies(o.Scenario) })
	if len(r.Strategies) != 2 || r.Strategies[0].Strategy != "keyed" || r.Strategies[1].Strategy != "single" {
		t.Fatalf("%+v", r.Strategies)
	}
	for _, s := range r.Strategies {
		if planted := m.knees[s.Strategy]; *s.Knee > planted || *s.Knee < 0.94*planted {
			t.Errorf("%s: %g, planted %g", s.Strategy, *s.Knee, planted)
		}
	}
	for strategy, seeds := range m.seeds {
		if slices.Min(seeds) != 1 || slices.Max(seeds) > most {
			t.Errorf("%s has the seeds %v", strategy, seeds)
		}
	}
}

// TestNoise: a noisy measurer still gives a knee near the planted one, which most of its cells
// carried, with a bounded number of cells.
func TestNoise(t *testing.T) {
	const planted = 350.0
	for seed := range uint64(60) {
		m := &fake{knees: map[string]float64{"keyed": planted}, noise: 0.3, rng: rand.New(rand.NewPCG(seed, 0))}
		s := find(t, m).Strategies[0]
		if s.Knee == nil || s.Cells > DefaultCells {
			t.Fatalf("seed %d: %+v", seed, s)
		}
		if *s.Knee < 0.85*planted || *s.Knee > 1.1*planted {
			t.Errorf("seed %d: knee %g, planted %g", seed, *s.Knee, planted)
		}
		carried, not := 0, 0
		for _, p := range s.Probes {
			if p.Rate == *s.Knee {
				carried += map[bool]int{true: 1}[p.Verdict == Carried]
				not += map[bool]int{true: 1}[p.Verdict == Not]
			}
		}
		if carried <= not {
			t.Errorf("seed %d: the knee was carried by %d cells and not by %d", seed, carried, not)
		}
	}
}

// TestGenerator: rates at which the generator is late are its ceiling, not the strategy's knee.
func TestGenerator(t *testing.T) {
	m := &fake{knees: map[string]float64{"keyed": 2_000}, generator: 800}
	s := find(t, m).Strategies[0]
	if s.Knee == nil || !s.AtLeast() || s.Bound != ByGenerator || *s.Knee > 800 || *s.Knee < 750 || !strings.Contains(s.Why, "generator") {
		t.Errorf("%+v", s)
	}
	// One late cell is measured again.
	m = &fake{knees: map[string]float64{"keyed": 2_000}, change: func(_ float64, nth int, c *result.Cell) {
		if nth == 0 {
			c.Valid, c.InvalidReasons = false, []string{"stalled"}
		}
	}}
	if s := find(t, m, func(o *Options) { o.MaxCells = 40 }).Strategies[0]; s.Knee == nil || s.Bound != ByStrategy || *s.Knee < 1_880 {
		t.Errorf("%+v", s)
	}
	// Where the generator is on time, it is the machine.
	m = &fake{knees: map[string]float64{"keyed": 2_000}, change: func(rate float64, _ int, c *result.Cell) {
		if rate > 500 {
			c.Valid, c.InvalidReasons = false, []string{"storage answered late"}
		}
	}}
	if s := find(t, m).Strategies[0]; s.Bound != ByMachine || !s.AtLeast() || *s.Knee > 500 {
		t.Errorf("%+v", s)
	}
}

// TestNotCarried: what ends a rate for good, whatever freshness is, also in an invalid cell.
func TestNotCarried(t *testing.T) {
	above := func(f func(c *result.Cell)) func(float64, int, *result.Cell) {
		return func(rate float64, _ int, c *result.Cell) {
			if rate > 100 {
				f(c)
			}
		}
	}
	for want, f := range map[string]func(c *result.Cell){
		"3 objects were lost":   func(c *result.Cell) { *c.Events.Lost = 3 },
		"5 events were dropped": func(c *result.Cell) { c.Events.Dropped = 5 },
		"cut at 40%":            func(c *result.Cell) { c.Cut, c.CutFraction = true, 0.4 },
		"G2 failed":             func(c *result.Cell) { c.Checks = map[string]result.Check{"G2": {Verdict: result.Fail, Violations: 1}} },
		"G1 failed": func(c *result.Cell) {
			c.Checks = map[string]result.Check{"G1": {Verdict: result.Allowed, Violations: 1}}
		},
		"1 objects were lost": func(c *result.Cell) {
			*c.Events.Lost, c.Valid, c.InvalidReasons, c.Load.LagMs.P99 = 1, false, []string{"late"}, 900
		},
		"not known whether":      func(c *result.Cell) { c.Events = nil },
		"freshness is not known": func(c *result.Cell) { c.Freshness = nil },
		"backlog grew by":        func(c *result.Cell) { c.Pace.KeepsUp = false },
		"freshness p99 was 2.5":  func(c *result.Cell) { c.Freshness.P99 = 2.5 },
	} {
		m := &fake{knees: map[string]float64{"keyed": 400}, change: above(f)}
		s := find(t, m).Strategies[0]
		if s.Knee == nil || *s.Knee > 100 || *s.Knee < 94 || s.Bound != ByStrategy || !strings.Contains(s.Why, want) {
			t.Errorf("%s: knee %v, %+v", want, s.Knee, s)
		}
	}
	// A guarantee that the scenario lets fail is no matter.
	m := &fake{knees: map[string]float64{"keyed": 400}, change: above(func(c *result.Cell) {
		c.Checks = map[string]result.Check{"G2": {Verdict: result.Allowed, Violations: 1}}
	})}
	if s := find(t, m).Strategies[0]; *s.Knee < 376 {
		t.Errorf("%+v", s)
	}
	m = &fake{crash: true}
	if s := find(t, m).Strategies[0]; s.Knee != nil || !strings.Contains(s.Why, "ended") && !strings.Contains(s.Why, "killed") {
		t.Errorf("%+v", s)
	}
}

func TestNoKnee(t *testing.T) {
	m := &fake{knees: map[string]float64{"keyed": 0.01}}
	s := find(t, m).Strategies[0]
	if s.Knee != nil || s.Steady != nil || s.Complete || s.Cells > 12 || s.Why == "" {
		t.Errorf("%+v", s)
	}
	m = &fake{knees: map[string]float64{"keyed": 1e9}}
	if s := find(t, m).Strategies[0]; s.Knee == nil || *s.Knee != mostRate || s.Bound != ByFormat || !s.AtLeast() {
		t.Errorf("%+v", s)
	}
	m = &fake{knees: map[string]float64{"keyed": 400}}
	s = find(t, m, func(o *Options) { o.MaxCells = 4 }).Strategies[0]
	if s.Cells != 4 || s.Complete || s.Knee == nil || !strings.Contains(strings.Join(s.Remarks, "\n"), "used all of its 4 cells") {
		t.Errorf("%+v", s)
	}
}

// TestContradictions: what does not agree is said, and a knee is below all that was not
// carried.
func TestContradictions(t *testing.T) {
	// Carried once, and then never again.
	m := &fake{knees: map[string]float64{"keyed": 400}, change: func(rate float64, nth int, c *result.Cell) {
		if rate > 300 && nth > 0 {
			c.Freshness.P99 = 3
		}
	}}
	s := find(t, m, func(o *Options) { o.MaxCells = 60 }).Strategies[0]
	said := strings.Join(s.Remarks, "\n")
	if s.Knee == nil || *s.Knee > 300 || !strings.Contains(said, "not when it was measured again") || !strings.Contains(said, "cells carried it") {
		t.Errorf("knee %v: %s", s.Knee, said)
	}
	f := finder{Options: options(t), s: &searched{}, unit: "writes/s", tried: map[float64][]Probe{
		100: {{Rate: 100, Verdict: Carried}}, 150: {{Rate: 150, Verdict: Not}}, 200: {{Rate: 200, Verdict: Carried}},
	}}
	for _, rate := range []float64{100, 150, 200} {
		f.probes = append(f.probes, f.tried[rate]...)
	}
	if r := f.result(); *r.Knee != 100 || *r.Above != 150 || !strings.Contains(strings.Join(r.Remarks, "\n"), "200 writes/s was carried, though a lower rate was not: not monotonic") {
		t.Errorf("%+v", r)
	}
	// What fails at a part of the knee is said.
	m = &fake{knees: map[string]float64{"keyed": 400}, change: func(rate float64, nth int, c *result.Cell) {
		if rate < 290 && nth == 1 {
			c.Freshness.P99 = 2.1
		}
	}}
	s = find(t, m).Strategies[0]
	if y := s.Steady; y == nil || y.Valid != 3 || y.Carried != 2 || !strings.Contains(strings.Join(s.Remarks, "\n"), "only 2 of 3") {
		t.Errorf("%+v, %v", y, s.Remarks)
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("no cluster")
	r, err := Find(t.Context(), &fake{fail: broken}, options(t))
	if !errors.Is(err, broken) || r == nil || len(r.Strategies) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	m := &fake{knees: map[string]float64{"keyed": 400}, change: func(float64, int, *result.Cell) {
		if n++; n == 3 {
			cancel()
		}
	}}
	r, err = Find(ctx, stopped{m}, options(t))
	if !errors.Is(err, context.Canceled) || !r.Interrupted || len(r.Strategies) != 1 || len(r.Strategies[0].Probes) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// stopped measures until its context is cancelled.
type stopped struct{ *fake }

func (s stopped) Measure(ctx context.Context, f *spec.File) (*result.Results, error) {
	res, err := s.fake.Measure(ctx, f)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return res, err
}

func TestBadInput(t *testing.T) {
	for want, text := range map[string]string{
		"a closed loop has no rate":        strings.Replace(scenario, "model: open, rate: 200, duration: 10s", "model: closed, threads: 2, operations: 10", 1),
		"load.arrival ramp":                strings.Replace(scenario, "rate: 200,", "rate: 200, arrival: ramp, ramp: {from: 1},", 1),
		"choose one, such as --set matrix": strings.Replace(scenario, "[keyed, single]", "[keyed, single], watcher.podQueueNum: [5, 10]", 1),
		"the speed 10x":                    strings.Replace(scenario, "provider: replay", "provider: replay, replay: {speed: 10x}", 1),
	} {
		if want == "a closed loop has no rate" {
			text = strings.Replace(text, "provider: replay", "provider: embedded", 1)
		}
		m := &fake{}
		_, err := Find(t.Context(), m, options(t, func(o *Options) { o.Scenario = parsed(t, text) }))
		if !badinput.Is(err) || !strings.Contains(err.Error(), want) || m.measured > 0 {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, change := range []func(*Options){
		func(o *Options) { o.Resolution = 0 }, func(o *Options) { o.Resolution = math.NaN() }, func(o *Options) { o.MaxCells = 1 }, func(o *Options) { o.Repeat = 0 },
	} {
		if _, err := Find(t.Context(), &fake{}, options(t, change)); !badinput.Is(err) {
			t.Errorf("%v", err)
		}
	}
}

func TestParseObjective(t *testing.T) {
	o, err := ParseObjective(" freshness.p99 = 1500ms ")
	if err != nil || o.Limit != 1.5 || o.String() != "freshness p99 ≤ 1.5 s" {
		t.Errorf("%v, %v", o, err)
	}
	for text, want := range map[string]string{
		"": "no objective", "freshness.p99": "no objective", "freshness.p9=2s": "did you mean freshness.p9", "drain=30s": "use one of", "freshness.p99=2": "has no unit",
		"freshness.p99=0s": "no time above 0", "freshness.p99=-2s": "no time above 0", "freshness.p99=<2s": "no time above 0", "freshness.count=3": "use one of", "freshness.p99=2s=3s": "no time above 0",
	} {
		if _, err := ParseObjective(text); !badinput.Is(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzObjective(f *testing.F) {
	f.Add("freshness.p99=2s")
	f.Add("freshness.max=1h2m")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseObjective(text)
		if err == nil && !(o.Limit > 0 && !math.IsInf(o.Limit, 0)) || err != nil && !badinput.Is(err) {
			t.Errorf("%q: %v, %v", text, o, err)
		}
	})
}
