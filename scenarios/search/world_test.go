package search

import (
	"context"
	"math"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// burst is 20,000 writes as fast as the watcher reads them, into a storage that takes 40 at a time.
const burst = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: planted}
cluster: {provider: simulated, replay: {speed: unlimited}}
storage: {latency: 'lognormal(mean=15ms,p99=30ms)', capacity: {inflight: 40}}
load: {model: open, rate: 20000, duration: 1s}
watcher: {synchronizer: {disabled: true}}
`

// world is a storage and a watcher by arithmetic: what queues, strategies and a storage's
// limit come to, without a process.
type world struct {
	knee     int
	latency  float64 // s
	events   float64 // of the load
	noise    float64 // of a seed
	slower   float64 // measured ÷ simulated
	wrong    string  // a strategy that loses
	late     int     // so many cells are late
	measured []Setting
}

func (w *world) drain(s *spec.Scenario, seed uint64) float64 {
	n, events, skew := s.Watcher.PodQueueNum, w.events, 1.0
	switch s.Watcher.Strategy {
	case single:
		n = 1
	case partitioned:
		skew = 1.4
	case adaptive:
		n, events = w.knee, 0.6*events
	case dedup:
		events *= 0.6
	}
	d := events * w.latency / float64(min(n, w.knee)) * skew
	return d * (1 + w.noise*math.Sin(float64(seed)*7+float64(n)))
}

func (w *world) simulate(_ context.Context, s spec.Scenario, seed uint64) (Figures, error) {
	d := w.drain(&s, seed)
	return Figures{
		Events: int64(w.events), Requests: int64(w.events), Drain: new(d), DrainAfter: new(d),
		HandlerDepth: new(w.events / 2), InFlight: new(float64(s.Watcher.PodQueueNum)),
	}, nil
}

func (w *world) Measure(_ context.Context, f *spec.File) (*result.Results, error) {
	s := f.Cells()[0].Scenario
	w.measured = append(w.measured, Setting{Strategy: s.Watcher.Strategy, Queues: s.Watcher.PodQueueNum})
	d := w.drain(&s, s.Seed+1000) * w.slower
	c := result.Cell{ID: "only", Valid: true, Handler: result.Handler{DrainSeconds: new(d), DrainAfterLoad: new(d)},
		Checks: map[string]result.Check{}}
	for _, g := range []string{"G1", "G2", "G3"} {
		c.Checks[g] = result.Check{Verdict: result.Pass}
	}
	c.Events = &result.Events{Received: int64(w.events), Lost: new(int64(0))}
	if s.Watcher.Strategy == w.wrong {
		c.Checks["G1"], c.Events.Lost = result.Check{Verdict: result.Fail}, new(int64(3))
	}
	if w.late > 0 {
		w.late--
		c.Valid, c.InvalidReasons, c.LateReasons = false, []string{"late"}, []string{"late"}
	}
	return &result.Results{Run: result.Run{ID: "x"}, Cells: []result.Cell{c}}, nil
}

func options(t *testing.T, w *world, text, objective string, strategies ...string) Options {
	t.Helper()
	f, err := faults.Format.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseObjective(objective)
	if err != nil {
		t.Fatal(err)
	}
	if len(strategies) == 0 {
		strategies = Strategies
	}
	return Options{Scenario: f, Objective: o, Queues: QueueRange, Strategies: strategies, Repeat: 3, Simulate: w.simulate}
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
	return &world{knee: 40, latency: 0.015, events: 20_000, noise: 0.01, slower: 1}
}

// exhaustive is the smallest number of queues that holds by what would be measured, of every number there is.
func (w *world) exhaustive(t *testing.T, o Options, strategy string) int {
	for n := o.Queues.Low; n <= o.Queues.High; n++ {
		f, err := o.Scenario.With(overrides(Setting{Strategy: strategy, Queues: n, WriterLen: leastWriter,
			HandlerLen: mostLength})...)
		if err != nil {
			t.Fatal(err)
		}
		if s := f.Cells()[0].Scenario; w.drain(&s, s.Seed+1000)*w.slower <= o.Objective.Bound.Seconds() {
			return n
		}
	}
	return 0
}

type measureFunc func(context.Context, *spec.File) (*result.Results, error)

func (f measureFunc) Measure(ctx context.Context, s *spec.File) (*result.Results, error) {
	return f(ctx, s)
}
