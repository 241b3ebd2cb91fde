package search

import (
	"context"
	"math"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// burst is 20,000 writes as fast as the watcher reads them, into a storage that takes 40 at
// a time.
const burst = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: planted}
cluster: {provider: replay, replay: {speed: unlimited}}
storage: {latency: 'lognormal(mean=15ms,p99=30ms)', capacity: {inflight: 40}}
load: {model: open, rate: 20000, duration: 1s}
watcher: {synchronizer: {disabled: true}}
`

// world is a storage and a watcher by arithmetic: what queues, strategies and a storage's
// limit come to, without a process.
type world struct {
	knee     int
	latency  float64               // s
	events   float64               // of the load
	skew     map[string]float64    // what a strategy takes longer
	noise    float64               // of a seed
	slower   float64               // measured ÷ simulated
	real     func(Setting) float64 // the same by setting; nil: 1
	wrong    string                // a strategy that loses
	stalled  []string              // evidence for that
	late     int                   // so many cells are late
	memory   float64               // MiB of a process; 0: not known
	measured []Setting
	seeds    []uint64
}

func (w *world) drain(s *spec.Scenario, seed uint64) float64 {
	n := s.Watcher.PodQueueNum
	if s.Watcher.Strategy == adaptive {
		n = w.knee
	}
	events := w.events
	if s.Watcher.Strategy == dedup || s.Watcher.Strategy == adaptive {
		events *= 0.6
	}
	d := events * w.latency / float64(min(n, w.knee)) * max(1, w.skew[s.Watcher.Strategy])
	return d * (1 + w.noise*math.Sin(float64(seed)*7+float64(n)))
}

func (w *world) simulate(_ context.Context, p Play) (Figures, error) {
	d, s := w.drain(p.Scenario, p.Seed), p.Scenario
	return Figures{
		Events: int64(w.events), Requests: int64(w.events), Drain: new(d), DrainAfter: new(d),
		HandlerDepth: new(min(w.events/2, float64(s.Watcher.HandlerQueueLen))), InFlight: new(float64(s.Watcher.PodQueueNum)),
	}, nil
}

// Stalled is the evidence for what is late.
func (w *world) Stalled(*result.Results, string) []string { return w.stalled }

func (w *world) Measure(_ context.Context, f *spec.File) (*result.Results, error) {
	s := f.Cells()[0].Scenario
	w.measured = append(w.measured, Setting{Strategy: s.Watcher.Strategy, Queues: s.Watcher.PodQueueNum,
		WriterLen: s.Watcher.WriterQueueLen, HandlerLen: s.Watcher.HandlerQueueLen})
	w.seeds = append(w.seeds, s.Seed)
	d := w.drain(&s, s.Seed+1000) * max(1, w.slower)
	if w.real != nil {
		d *= w.real(w.measured[len(w.measured)-1])
	}
	c := result.Cell{ID: "only", Valid: true, Handler: result.Handler{DrainSeconds: new(d), DrainAfterLoad: new(d)},
		Checks: map[string]result.Check{}}
	for _, g := range []string{"G1", "G2", "G3"} {
		c.Checks[g] = result.Check{Verdict: result.Pass}
	}
	c.Events = &result.Events{Received: int64(w.events), Lost: new(int64(0))}
	if w.memory > 0 {
		c.Watcher.RSSPeakMiB = new(w.memory)
	}
	if s.Watcher.Strategy == w.wrong {
		c.Checks["G1"], c.Events.Lost = result.Check{Verdict: result.Fail}, new(int64(3))
	}
	if w.late > 0 {
		w.late--
		c.Valid, c.InvalidReasons, c.LateReasons = false, []string{"late"}, []string{"late"}
	}
	return &result.Results{Run: result.Run{ID: "x"}, Cells: []result.Cell{c}}, nil
}

func options(t *testing.T, w *world, text, objective string) Options {
	t.Helper()
	f, err := faults.Format.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseObjective(objective)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Scenario: f, Objective: o, Queues: QueueRange, Lengths: LengthRange, Strategies: []string{single, partitioned, keyed,
			dedup, adaptive}, Repeat: 3,
		Simulate: w.simulate,
	}
}

func quiet(string) {}

func run(t *testing.T, o Options, m Measurer) *result.Tuning {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(t.Context(), m, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func planted() *world {
	return &world{knee: 40, latency: 0.015, events: 20_000, skew: map[string]float64{partitioned: 1.4}, noise: 0.01}
}

// exhaustive is the smallest number of a strategy that holds by what would be measured, of
// every number there is.
func (w *world) exhaustive(t *testing.T, o Options, strategy string, bound float64) int {
	for n := o.Queues.Low; n <= o.Queues.High; n++ {
		f, err := o.Scenario.With(overrides(Setting{Strategy: strategy, Queues: n, WriterLen: leastWriter,
			HandlerLen: LengthRange.High})...)
		if err != nil {
			t.Fatal(err)
		}
		if s := f.Cells()[0].Scenario; w.drain(&s, s.Seed+1000)*max(1, w.slower) <= bound {
			return n
		}
	}
	return 0
}

type measureFunc func(context.Context, *spec.File) (*result.Results, error)

func (f measureFunc) Measure(ctx context.Context, s *spec.File) (*result.Results, error) {
	return f(ctx, s)
}
