package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

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
	latency  float64            // s
	events   float64            // of the load
	skew     map[string]float64 // what a strategy takes longer
	noise    float64            // of a seed
	slower   float64            // measured ÷ simulated
	wrong    string             // a strategy that loses
	late     int                // so many cells are late
	memory   float64            // MiB of a process; 0: not known
	perEvent float64            // MiB of an event that waits
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

func (w *world) simulate(_ context.Context, s *spec.Scenario, seed uint64, overhead time.Duration) (Figures, error) {
	d := w.drain(s, seed) * (w.latency + overhead.Seconds()) / w.latency
	return Figures{Events: int64(w.events), Requests: int64(w.events), Drain: new(d), DrainAfter: new(d), HandlerDepth: new(w.events / 2), InFlight: new(float64(s.Watcher.PodQueueNum)), QueuedMiB: new(w.queued(s))}, nil
}

// queued is the MiB of what waits in a queue, as long as it is.
func (w *world) queued(s *spec.Scenario) float64 {
	return w.perEvent * min(w.events/2, float64(s.Watcher.HandlerQueueLen))
}

func (w *world) Measure(_ context.Context, f *spec.File) (*result.Results, error) {
	s := f.Cells()[0].Scenario
	w.measured = append(w.measured, Setting{Strategy: s.Watcher.Strategy, Queues: s.Watcher.PodQueueNum, WriterLen: s.Watcher.WriterQueueLen, HandlerLen: s.Watcher.HandlerQueueLen})
	w.seeds = append(w.seeds, s.Seed)
	d := w.drain(&s, s.Seed+1000) * max(1, w.slower)
	c := result.Cell{ID: "only", Valid: true, Handler: result.Handler{DrainSeconds: new(d), DrainAfterLoad: new(d)}, Checks: map[string]result.Check{}}
	for _, g := range []string{"G1", "G2", "G3"} {
		c.Checks[g] = result.Check{Verdict: result.Pass}
	}
	c.Events = &result.Events{Received: int64(w.events), Lost: new(int64(0))}
	if w.memory > 0 {
		c.Watcher.RSSPeakMiB = new(w.memory + w.queued(&s))
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
		Scenario: f, Objective: o, Queues: QueueRange, Lengths: LengthRange, Strategies: []string{single, partitioned, keyed, dedup, adaptive}, Repeat: 3,
		Simulate: w.simulate, Measurer: w,
	}
}

func run(t *testing.T, o Options) *result.Tuning {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(t.Context())
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
		f, err := o.Scenario.With(overrides(Setting{Strategy: strategy, Queues: n, WriterLen: leastWriter, HandlerLen: MaxLength})...)
		if err != nil {
			t.Fatal(err)
		}
		if s := f.Cells()[0].Scenario; w.drain(&s, s.Seed+1000)*max(1, w.slower) <= bound {
			return n
		}
	}
	return 0
}

// TestFindsTheKnee: with and without a bound, and where measurements are slower than
// predictions, the answer is within 15 % of what trying every number gives.
func TestFindsTheKnee(t *testing.T) {
	for _, c := range []struct {
		objective string
		slower    float64
		bound     float64
	}{
		{"drain=9s", 1, 9}, {"drain=12s", 1.2, 12}, {"drain=20s", 0.8, 20}, {"drain", 1, 0}, {"drain", 1.3, 0},
	} {
		t.Run(fmt.Sprint(c.objective, " ", c.slower), func(t *testing.T) {
			w := planted()
			w.slower = c.slower
			o := options(t, w, burst, c.objective)
			o.Strategies = []string{keyed}
			got := run(t, o)
			if !got.Met {
				t.Fatalf("not met: %s", got.Sentence)
			}
			bound := c.bound
			if bound == 0 {
				bound = 20_000 * 0.015 / 40 * c.slower * (1 + tolerance)
			}
			want, found := w.exhaustive(t, o, keyed, bound), got.At(got.Best).Queues
			if math.Abs(float64(found-want)) > 0.15*float64(want) {
				t.Errorf("recommends %d queues, the least that does is %d", found, want)
			}
			if got.Measured*5 > got.Exhaustive {
				t.Errorf("measured %d cells, a sweep has %d", got.Measured, got.Exhaustive)
			}
			if c := got.At(got.Best); len(c.Cells) != 3 || c.Cells[0].Seed == c.Cells[1].Seed {
				t.Errorf("the answer was measured with %d seeds", len(c.Cells))
			}
		})
	}
}

// TestWrongIsOutForGood: a strategy that loses is not recommended, however fast it is, and is
// not tried again.
func TestWrongIsOutForGood(t *testing.T) {
	w := planted()
	w.wrong = dedup
	got := run(t, options(t, w, burst, "drain=9s"))
	if c := got.At(got.Best); !got.Met || c.Strategy == dedup {
		t.Fatalf("recommends %s: %s", c.Name(), got.Sentence)
	}
	seen := 0
	for _, s := range w.measured {
		if s.Strategy != dedup {
			continue
		}
		if seen++; seen > 1 {
			t.Errorf("%s was measured although another setting of it lost objects", s.Name())
		}
	}
	for _, c := range got.Candidates {
		if c.Strategy == dedup && len(c.Cells) > 0 && (c.Verdict != result.TunedWrong || c.Excluded == "") {
			t.Errorf("%s: %s %s", c.Name(), c.Verdict, c.Excluded)
		}
	}
}

// TestLateGetsOneSecondTry: one, which is counted; what is late again is no evidence.
func TestLateGetsOneSecondTry(t *testing.T) {
	w := planted()
	w.late = 1
	o := options(t, w, burst, "drain=9s")
	o.Strategies = []string{keyed}
	got := run(t, o)
	if !got.Met || got.SecondTries != 1 {
		t.Errorf("met %t, %d second tries", got.Met, got.SecondTries)
	}
	w = planted()
	w.late = 1000
	o = options(t, w, burst, "drain=9s")
	o.Strategies = []string{keyed}
	o.Line = func(line string) {
		if strings.HasPrefix(line, keyed) && strings.Contains(line, " s (") {
			t.Errorf("a figure of an invalid cell is shown: %s", line)
		}
	}
	got = run(t, o)
	if got.Met || strings.Contains(got.Sentence, "enough") || len(w.measured) > 4 {
		t.Errorf("met %t after %d cells: %s", got.Met, len(w.measured), got.Sentence)
	}
}

// TestNothingMeetsIt: says so, with what comes closest, and recommends nothing.
func TestNothingMeetsIt(t *testing.T) {
	w := planted()
	got := run(t, options(t, w, burst, "drain=2s"))
	if got.Met || !strings.Contains(got.Sentence, "no setting that was tried keeps handler.drainSeconds within 2 s") || !strings.Contains(got.Sentence, "comes closest, with") {
		t.Errorf("met %t: %s", got.Met, got.Sentence)
	}
	for _, f := range got.Fragments {
		if f.Note == "" {
			t.Errorf("the fragment %s does not say that the objective does not hold", f.File)
		}
	}
}

// TestLimits: what is beyond them is not recommended, and the reason is in the table.
func TestLimits(t *testing.T) {
	w := planted()
	o := options(t, w, burst, "drain")
	o.Limits = Limits{Text: []string{"inflight=20"}, InFlight: 20}
	got := run(t, o)
	if c := got.At(got.Best); !got.Met || c.Queues > 20 || c.Strategy == adaptive {
		t.Errorf("recommends %s", c.Name())
	}
	o.Limits = Limits{Text: []string{"inflight=1"}, InFlight: 1}
	o.Strategies = []string{adaptive}
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no setting is within") {
		t.Errorf("error %v", err)
	}
}

// TestFirstMeasurements: a bound is kept with 5 % to spare, to the queue; and what a first
// measurement says of the predictions is in the next choice.
func TestFirstMeasurements(t *testing.T) {
	for _, c := range []struct {
		name, objective string
		slower          float64
		want            []int // numbers of queues, in the order in which they are measured first
	}{
		// 20,000 events of 15 ms are 300 s of requests: 34 queues drain in 8.8 s, 36 in 8.3 s.
		{"to spare", "drain=9s", 1, []int{36}},
		// 27 drain in 11.1 s by prediction and 14.4 s in truth; 35 in 8.6 s and 11.1 s.
		{"learns", "drain=12s", 1.3, []int{27, 35}},
		// 27 drain in 12.2 s in truth, 29 in 11.4 s: between what failed and the next rung.
		{"above what failed", "drain=12s", 1.1, []int{27, 29}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := planted()
			w.noise, w.slower = 0, c.slower
			o := options(t, w, burst, c.objective)
			o.Strategies = []string{keyed}
			run(t, o)
			var got []int
			for _, s := range w.measured[:len(c.want)] {
				got = append(got, s.Queues)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v queues are measured first, want %v", got, c.want)
			}
		})
	}
}

// TestMemoryLimit: queues that would hold more are shortened, a process that takes more is not
// recommended, and one whose memory is not known is no evidence.
func TestMemoryLimit(t *testing.T) {
	limited := func(memory, perEvent float64) (*world, *result.Tuning) {
		w := planted()
		w.memory, w.perEvent = memory, perEvent
		o := options(t, w, burst, "drain=9s")
		o.Strategies, o.Limits = []string{keyed}, Limits{Text: []string{"memory=64MiB"}, Memory: 64 << 20}
		o.Queues = Range{30, 60}
		return w, run(t, o)
	}
	w, got := limited(30, 0.01) // 10,000 events that wait are 100 MiB, 3,400 are 34
	best := got.At(got.Best)
	if !got.Met || best.HandlerLen > 3400 {
		t.Errorf("met %t with queues of %d: %s", got.Met, best.HandlerLen, got.Sentence)
	}
	for _, s := range w.measured {
		if w.perEvent*float64(s.HandlerLen) > 64 {
			t.Errorf("%s with queues of %d was measured", s.Name(), s.HandlerLen)
		}
	}
	// Beside a process of 40 MiB, of which only a measurement tells, there is room for 2,400.
	w, got = limited(40, 0.01)
	if !got.Met || got.At(got.Best).HandlerLen > 2400 {
		t.Errorf("met %t: %s", got.Met, got.Sentence)
	}
	for _, s := range w.measured[1:] {
		if s.HandlerLen > 2400 {
			t.Errorf("%s with queues of %d was measured although the first cell ruled it out", s.Name(), s.HandlerLen)
		}
	}
	if _, got = limited(65, 0); got.Met {
		t.Errorf("a process of 65 MiB is within 64 MiB: %s", got.Sentence)
	}
	if _, got = limited(0, 0); got.Met {
		t.Errorf("memory that is not known is within 64 MiB: %s", got.Sentence)
	}
	if _, got = limited(63, 0); !got.Met {
		t.Errorf("a process of 63 MiB is not within 64 MiB: %s", got.Sentence)
	}
}

// TestByLength: the map has every length by numbers around the answer, its values are those of
// a simulation of that setting, and what is beyond a limit or loses has none.
func TestByLength(t *testing.T) {
	w := planted()
	w.noise, w.perEvent = 0, 0.01
	o := options(t, w, burst, "drain=9s")
	o.Strategies, o.Limits = []string{keyed}, Limits{Memory: 64 << 20, InFlight: 41}
	o.Simulate = func(ctx context.Context, s *spec.Scenario, seed uint64, overhead time.Duration) (Figures, error) {
		f, err := w.simulate(ctx, s, seed, overhead)
		f.Drain = new(*f.Drain + 100/float64(s.Watcher.HandlerQueueLen))
		if s.Watcher.HandlerQueueLen < 1024 {
			f.Dropped = new(int64(1))
		}
		return f, err
	}
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.byLength(t.Context(), Setting{Strategy: keyed, Queues: 36, WriterLen: leastWriter, HandlerLen: 1024})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{27, 30, 33, 36, 37, 41, 46}; !slices.Equal(got.Queues, want) {
		t.Errorf("%v queues, want %v", got.Queues, want)
	}
	if want := []int{256, 1024, 4096, 16384, 65536, 131072}; !slices.Equal(got.Lengths, want) {
		t.Errorf("lengths %v, want %v", got.Lengths, want)
	}
	for y, length := range got.Lengths {
		for i, n := range got.Queues {
			v, none := got.Values[y][i], length < 1024 || length > 6400 || n > 41
			if want := 300/float64(min(n, 40)) + 100/float64(length); (v == nil) != none || v != nil && math.Abs(*v-want) > 1e-9 {
				t.Errorf("%d queues of %d: %v", n, length, v)
			}
		}
	}
	if len(x.cands) > 0 {
		t.Error("the map is part of the search")
	}
}

// TestRoom: that queues have room for twice what waits is said where they have.
func TestRoom(t *testing.T) {
	for high, want := range map[int]string{MaxLength: " have room for twice that", 4096: "do not have room for twice that"} {
		o := options(t, planted(), burst, "drain=9s") // 10,000 wait
		o.Strategies, o.Lengths = []string{keyed}, Range{MinLength, high}
		got := run(t, o)
		i := slices.IndexFunc(got.Why, func(f result.TuningFact) bool { return f.Name == "burst" })
		if i < 0 || !strings.Contains(got.Why[i].Value, want) || strings.Contains(want, "not") != strings.Contains(got.Why[i].Value, "not") {
			t.Errorf("lengths up to %d: %v", high, got.Why)
		}
	}
}

// TestInterrupted keeps what was measured, and a second search uses it again.
func TestInterrupted(t *testing.T) {
	w := planted()
	o := options(t, w, burst, "drain=9s")
	o.Strategies = []string{keyed, partitioned}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	n := 0
	o.Measurer = measureFunc(func(ctx context.Context, f *spec.File) (*result.Results, error) {
		if n++; n == 3 {
			cancel(stop)
			return nil, context.Cause(ctx)
		}
		return w.Measure(ctx, f)
	})
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	first, err := x.Run(ctx)
	if !errors.Is(err, stop) || !first.Interrupted || first.Measured != 2 {
		t.Fatalf("error %v, interrupted %t, %d measured", err, first.Interrupted, first.Measured)
	}
	for _, c := range first.Candidates {
		o.Known = append(o.Known, c.Cells...)
	}
	if len(o.Known) != 2 {
		t.Fatalf("%d cells are kept", len(o.Known))
	}
	o.Measurer = w
	got := run(t, o)
	if got.Reused != 2 || !got.Met {
		t.Errorf("%d used again, met %t", got.Reused, got.Met)
	}
}

type measureFunc func(context.Context, *spec.File) (*result.Results, error)

func (f measureFunc) Measure(ctx context.Context, s *spec.File) (*result.Results, error) {
	return f(ctx, s)
}
