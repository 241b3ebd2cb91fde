package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestFindsTheKnee: also where measurements are slower or faster than predictions, the answer is within 15 % of what
// trying every number gives, by a fifth of the cells, and is measured with three seeds.
func TestFindsTheKnee(t *testing.T) {
	for _, c := range []struct {
		objective string
		slower    float64
	}{{"drain=9s", 1}, {"drain=12s", 1.2}, {"drain=20s", 0.8}, {"drain=12s", 1.5}, {"drain=7500ms", 0.9}, {"drain=100s", 1}} {
		t.Run(fmt.Sprint(c.objective, " ", c.slower), func(t *testing.T) {
			w := planted()
			w.slower = c.slower
			o := options(t, w, burst, c.objective, keyed)
			got := run(t, o, w)
			if !got.Met {
				t.Fatalf("not met: %s", got.Sentence)
			}
			best, want := got.At(got.Best), w.exhaustive(t, o, keyed)
			if math.Abs(float64(best.Queues-want)) > 0.15*float64(want) {
				t.Errorf("recommends %d queues, the least that does is %d", best.Queues, want)
			}
			if got.Measured > 14 || got.Simulated > 60 {
				t.Errorf("%d cells are measured, %d simulated", got.Measured, got.Simulated)
			}
			if len(best.Cells) != 3 || best.Cells[0].Seed == best.Cells[1].Seed || best.HandlerLen != 32_768 {
				t.Errorf("%+v", best)
			}
		})
	}
}

// TestCheapest: of the strategies that hold, the one with the fewest requests in flight is recommended; the runner-up
// and the best that the original has are measured beside it.
func TestCheapest(t *testing.T) {
	w := planted()
	got := run(t, options(t, w, burst, "drain=12s"), w)
	for at, want := range map[int]string{got.Best: dedup, got.Original: partitioned} {
		if c := got.At(at); c == nil || c.Strategy != want || len(c.Cells) == 0 {
			t.Errorf("%+v, want %s", c, want)
		}
	}
	if c := got.At(got.RunnerUp); c == nil || c.Strategy == dedup || len(c.Cells) != 1 {
		t.Errorf("runner-up %+v", c)
	}
	if len(got.Fragments) != 2 || got.Fragments[0].Note != "" || !strings.Contains(got.Fragments[1].Note, "holds the objective") {
		t.Errorf("%+v", got.Fragments)
	}
}

// TestWrongIsOutForGood: a strategy that loses is not recommended, however fast it is, and is not tried again.
func TestWrongIsOutForGood(t *testing.T) {
	w := planted()
	w.wrong = dedup
	got := run(t, options(t, w, burst, "drain=9s"), w)
	if c := got.At(got.Best); !got.Met || c.Strategy == dedup {
		t.Fatalf("recommends %+v: %s", c, got.Sentence)
	}
	seen := 0
	for _, s := range w.measured {
		if s.Strategy == dedup {
			seen++
		}
	}
	if seen != 1 {
		t.Errorf("%d measurements of a strategy that loses", seen)
	}
	for _, c := range got.Candidates {
		if c.Strategy == dedup && len(c.Cells) > 0 && (c.Verdict != result.TunedWrong || c.Excluded != "G1 failed, 3 objects lost") {
			t.Errorf("%s: %s %s", c.Name(), c.Verdict, c.Excluded)
		}
	}
}

// TestNothingMeetsIt: the report says so, with what comes closest, and recommends nothing.
func TestNothingMeetsIt(t *testing.T) {
	w := planted()
	got := run(t, options(t, w, burst, "drain=2s"), w)
	if got.Met || len(w.measured) == 0 || !strings.Contains(got.Sentence, "no setting that was tried has handler drainSeconds ≤ 2 s; the strategy ") {
		t.Errorf("met %t: %s", got.Met, got.Sentence)
	}
	for _, f := range got.Fragments {
		if f.Note == "" {
			t.Errorf("the fragment %s does not say that the objective does not hold", f.File)
		}
	}
}

// TestLate: an invalid cell is measured again, twice in a search at most, and what stays invalid holds nothing.
func TestLate(t *testing.T) {
	for late, want := range map[int]int{1: 1, 2: 1, 1000: 2} {
		w, met := planted(), late < 1000
		w.late = late
		got := run(t, options(t, w, burst, "drain=9s", keyed), w)
		tries := strings.Count(strings.Join(got.Notes, "\n"), "was measured again: late")
		if got.Met != met || tries != want || !met && strings.Contains(got.Sentence, "enough") {
			t.Errorf("%d late cells: met %t, %d second tries: %s", late, got.Met, tries, got.Sentence)
		}
	}
}

// TestLateRepetitions: a setting that holds has no reason against it, though later repetitions were late.
func TestLateRepetitions(t *testing.T) {
	for valid := range 6 {
		w := planted()
		x, err := New(options(t, w, burst, "drain=9s", keyed))
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Run(t.Context(), measureFunc(func(ctx context.Context, f *spec.File) (*result.Results, error) {
			if len(w.measured) >= valid {
				w.late = 1000
			}
			return w.Measure(ctx, f)
		}), quiet)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got.Candidates {
			if c.Verdict == result.TunedHolds && c.Excluded != "" {
				t.Errorf("late after %d cells: %s holds: %s", valid, c.Name(), c.Excluded)
			}
		}
	}
}

// TestBudget: the search ends with its time, says so, and recommends nothing that was not measured.
func TestBudget(t *testing.T) {
	w := planted()
	o := options(t, w, burst, "drain=9s", keyed)
	o.Budget = time.Nanosecond
	if got := run(t, o, w); got.Met || len(w.measured) > 0 || !strings.Contains(got.Notes[0], "--budget") {
		t.Errorf("met %t after %d cells: %v", got.Met, len(w.measured), got.Notes)
	}
	o.Budget = time.Minute
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(t.Context(), measureFunc(func(ctx context.Context, f *spec.File) (*result.Results, error) {
		x.began = x.began.Add(-time.Minute)
		return w.Measure(ctx, f)
	}), quiet)
	if best := got.At(got.Best); err != nil || !got.Met || len(best.Cells) != 1 || !strings.Contains(strings.Join(got.Notes, " "), "1 time instead of 3") {
		t.Errorf("%v, met %t: %v", err, got.Met, got.Notes)
	}
}

// TestInterrupted keeps what was measured.
func TestInterrupted(t *testing.T) {
	w := planted()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	n := 0
	x, err := New(options(t, w, burst, "drain=9s", keyed, partitioned))
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(ctx, measureFunc(func(ctx context.Context, f *spec.File) (*result.Results, error) {
		if n++; n == 3 {
			cancel(stop)
			return nil, context.Cause(ctx)
		}
		return w.Measure(ctx, f)
	}), quiet)
	if !errors.Is(err, stop) || !got.Interrupted || got.Measured != 2 {
		t.Fatalf("error %v, interrupted %t, %d measured", err, got.Interrupted, got.Measured)
	}
}

// TestEdge: whatever the start, the last that holds is found by few questions.
func TestEdge(t *testing.T) {
	for n := range 40 {
		for want := -1; want < n; want++ {
			for start := range n {
				asked := 0
				got, err := edge(n, start, func(i int) (bool, error) { asked++; return i <= want, nil })
				if err != nil || got != want || asked > 12 {
					t.Fatalf("%d from %d: %d by %d questions, want %d; %v", n, start, got, asked, want, err)
				}
			}
		}
	}
}

// TestVerdict: one rule from cells to a verdict, whatever was predicted.
func TestVerdict(t *testing.T) {
	cell := func(edit func(*result.TunedCell)) result.TunedCell {
		c := result.TunedCell{Valid: true, Safe: true, Figures: Figures{P99: new(0.9)}}
		edit(&c)
		return c
	}
	good := cell(func(*result.TunedCell) {})
	invalid := cell(func(c *result.TunedCell) { c.Valid, c.Reason = false, "late" })
	behind := cell(func(c *result.TunedCell) { c.KeepsUp = new(false) })
	for _, c := range []struct {
		name  string
		rate  bool
		cells []result.TunedCell
		want  string
		why   string // of the last cell
	}{
		{"predicted only", false, nil, result.TunedUnmeasured, ""},
		{"within", false, []result.TunedCell{good, good}, result.TunedHolds, ""},
		{"one beyond", false, []result.TunedCell{good, cell(func(c *result.TunedCell) { c.Figures.P99 = new(1.1) })}, result.TunedFails,
			"freshness p99 was 1.1 s"},
		{"an invalid cell proves nothing", false, []result.TunedCell{invalid}, result.TunedInvalid, "late"},
		{"beside a valid one", false, []result.TunedCell{good, invalid}, result.TunedHolds, "late"},
		{"not known whether something was lost", false, []result.TunedCell{cell(func(c *result.TunedCell) { c.Safe = false })},
			result.TunedFails, "not known whether anything was lost"},
		{"cut", false, []result.TunedCell{cell(func(c *result.TunedCell) { c.Cut = true })}, result.TunedFails, "not drained"},
		{"no figure", false, []result.TunedCell{cell(func(c *result.TunedCell) { c.Figures.P99 = nil })}, result.TunedFails,
			"freshness.p99 is not known"},
		{"a check failed, though late", false, []result.TunedCell{good, cell(func(c *result.TunedCell) { c.Failed, c.Valid = []string{"G2 failed"}, false })},
			result.TunedWrong, "G2 failed"},
		{"falls behind", true, []result.TunedCell{behind}, result.TunedFails, "backlog grew"},
		{"falls behind, within the bound", false, []result.TunedCell{behind}, result.TunedHolds, ""},
	} {
		o, err := ParseObjective("freshness.p99=1s")
		if err != nil {
			t.Fatal(err)
		}
		x := &Search{options: Options{Objective: o, Rate: c.rate}}
		x.of, _ = o.figure()
		k := &candidate{cells: c.cells}
		if got := x.verdict(k); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if n := len(c.cells); n > 0 && !strings.Contains(x.why(&c.cells[n-1]), c.why) {
			t.Errorf("%s: %s, want %s", c.name, x.why(&c.cells[n-1]), c.why)
		}
	}
}

// TestFailed: a failed check and a loss count in any cell, and even if the scenario allows them.
func TestFailed(t *testing.T) {
	for want, edit := range map[string]func(*result.Cell){
		"3 objects lost":   func(c *result.Cell) { *c.Events.Lost = 3 },
		"5 events dropped": func(c *result.Cell) { c.Events.Dropped = 5 },
		"G1 failed":        func(c *result.Cell) { c.Checks = map[string]result.Check{"G1": {Verdict: result.Fail}} },
		"G2 failed":        func(c *result.Cell) { c.Checks = map[string]result.Check{"G2": {Verdict: result.Allowed}} },
		"":                 func(*result.Cell) {},
	} {
		c := result.Cell{Events: &result.Events{Lost: new(int64(0))}}
		edit(&c)
		if got := strings.Join(fromCell(&c).Failed, ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRefused: what cannot be searched is bad input that names the remedy.
func TestRefused(t *testing.T) {
	closed := strings.NewReplacer("model: open, rate: 20000, duration: 1s", "model: closed, threads: 2, operations: 10",
		"provider: simulated, replay: {speed: unlimited}", "provider: embedded").Replace(burst)
	slow := strings.Replace(burst, "speed: unlimited", "speed: 1x", 1)
	for _, c := range []struct {
		text, want string
		rate       bool
	}{
		{closed, "is a closed loop", false},
		{closed, "is a closed loop", true},
		{burst, "at the speed unlimited", true},
		{strings.Replace(slow, "rate: 20000,", "steps: [{length: 1s, rate: 20000}],", 1), "load.steps", true},
		{burst + "matrix: {load.objectBytes: [3KiB, 4KiB]}\n", "choose one, for example --set matrix.load.objectBytes=3KiB", false},
		{slow + "matrix: {watcher.podQueueNum: [5, 10]}\n", "choose one, for example --set matrix.watcher.podQueueNum=5", true},
		{strings.Replace(burst, "watcher: {", "watcher: {command: 'true {config}', ", 1), "tune searches the settings", false},
		{slow, "the load alone lasts 1s", false},
	} {
		o := options(t, planted(), c.text, "drain=500ms")
		o.Rate = c.rate
		if _, err := New(o); !badinput.Is(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}
