package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

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
			got := run(t, o, w)
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
	got := run(t, options(t, w, burst, "drain=9s"), w)
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

// TestNothingMeetsIt: says so, with what comes closest, and recommends nothing.
func TestNothingMeetsIt(t *testing.T) {
	w := planted()
	got := run(t, options(t, w, burst, "drain=2s"), w)
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
	got := run(t, o, w)
	if c := got.At(got.Best); !got.Met || c.Queues > 20 || c.Strategy == adaptive {
		t.Errorf("recommends %s", c.Name())
	}
	o.Limits = Limits{Text: []string{"inflight=1"}, InFlight: 1}
	o.Strategies = []string{adaptive}
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), w, quiet); err == nil || !strings.Contains(err.Error(), "no setting is within") {
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
			run(t, o, w)
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

// TestMemoryLimit: a process that takes more is not recommended, and one whose memory is not known is no evidence.
func TestMemoryLimit(t *testing.T) {
	for memory, met := range map[float64]bool{63: true, 65: false, 0: false} {
		w := planted()
		w.memory = memory
		o := options(t, w, burst, "drain=9s")
		o.Strategies, o.Limits = []string{keyed}, Limits{Text: []string{"memory=64MiB"}, Memory: 64 << 20}
		if got := run(t, o, w); got.Met != met {
			t.Errorf("a process of %g MiB, within 64 MiB: %s", memory, got.Sentence)
		}
	}
}

// TestSources: each reason with a figure says where it is from.
func TestSources(t *testing.T) {
	for _, text := range []string{burst, asking} {
		for _, strategies := range [][]string{Strategies, {keyed}, {partitioned}} {
			w := planted()
			o := options(t, w, text, "drainAfterLoad=9s")
			o.Strategies = strategies
			got := run(t, o, w)
			if len(got.Why) < 1 {
				t.Fatalf("%+v", got.Why)
			}
			for _, f := range got.Why {
				if strings.ContainsAny(f.Value, "0123456789") && !strings.Contains(f.Value, "simulated") && !strings.Contains(f.Value, "measured") {
					t.Errorf("%s: %s", f.Name, f.Value)
				}
			}
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
	broken := measureFunc(func(ctx context.Context, f *spec.File) (*result.Results, error) {
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
	first, err := x.Run(ctx, broken, quiet)
	if !errors.Is(err, stop) || !first.Interrupted || first.Measured != 2 {
		t.Fatalf("error %v, interrupted %t, %d measured", err, first.Interrupted, first.Measured)
	}
	for _, c := range first.Candidates {
		o.Known = append(o.Known, c.Cells...)
	}
	if len(o.Known) != 2 {
		t.Fatalf("%d cells are kept", len(o.Known))
	}
	got := run(t, o, w)
	if got.Reused != 2 || !got.Met {
		t.Errorf("%d used again, met %t", got.Reused, got.Met)
	}
}
