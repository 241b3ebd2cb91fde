package search

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/faults"
)

// TestRelativeObjective: where nothing but the lowest is asked for there is always an answer.
// The rungs that were played with one plan set a bound below what any came to with three, so
// that none held it, and the closest was measured once and recommended.
func TestRelativeObjective(t *testing.T) {
	data, sets, err := Question{Rate: 200, Storage: "lognormal(p50=60ms,p99=400ms)", Length: 20 * time.Second}.Source()
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, nil, asking, "freshness.p99")
	if o.Scenario, err = faults.Format.Parse("tune", data, sets...); err != nil {
		t.Fatal(err)
	}
	virtual := Virtual()
	o.Simulate, o.Strategies, o.Queues, o.Lengths = virtual, Strategies, QueueRange, LengthRange
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	got, err := x.Run(t.Context(), inVirtualTime{virtual}, func(s string) { lines = append(lines, s) })
	if err != nil {
		t.Fatal(err)
	}
	best := got.At(got.Best)
	if !got.Met || len(best.Cells) != o.Repeat || len(got.Notes) > 0 {
		t.Errorf("met %t, %d cells, notes %q", got.Met, len(best.Cells), got.Notes)
	}
	if strings.Contains(strings.Join(lines, "\n"), "nothing is predicted") {
		t.Error("no setting is as good as the lowest:\n", strings.Join(lines, "\n"))
	}
	for _, f := range got.Why {
		if f.Name == "fewer" && !strings.Contains(f.Value, "does not") {
			t.Errorf("%s is the fewest, but %s", best.Name(), f.Value)
		}
	}
	for _, c := range got.Changes {
		if c.If == "the rate doubles" && strings.HasPrefix(c.Answer, "no setting") {
			t.Errorf("more queues carry twice the rate as fast, but %s", c.Answer)
		}
		if c.Setting == nil || c.Setting.Queues < best.Queues && !strings.HasPrefix(c.Answer, "no setting") {
			t.Errorf("%s is recommended; if %s: %s", best.Name(), c.If, c.Answer)
		}
	}
}

// TestClosestIsRepeated: a setting that was predicted not to hold, and does, is measured as often
// as any other.
func TestClosestIsRepeated(t *testing.T) {
	w := planted()
	w.noise, w.real = 0, func(Setting) float64 { return 0.9 }
	o := options(t, w, burst, "drain=7s") // 7.5 s at best by prediction, 6.75 s in truth
	o.Strategies = []string{keyed}
	got := run(t, o, w)
	if best := got.At(got.Best); !got.Met || len(best.Cells) != o.Repeat {
		t.Errorf("met %t, %d cells: %s", got.Met, len(best.Cells), got.Sentence)
	}
}

// TestRelativeObjectiveIsMeasured: where the objective has no bound, what is recommended is held against the fastest
// setting that was measured. Predictions may be wrong by any factor, of a strategy or of some numbers of queues, and
// choose only what is measured.
func TestRelativeObjectiveIsMeasured(t *testing.T) {
	for _, c := range []struct {
		name       string
		strategies []string
		real       func(Setting) float64 // measured ÷ predicted
		noise      float64
		want       string // strategy
		least      int    // queues
		most       int
	}{
		{"the predicted strategy is slower", []string{keyed, dedup}, func(s Setting) float64 {
			if s.Strategy == dedup {
				return 3
			}
			return 1
		}, 0.01, keyed, 36, 44},
		{"few queues are slower than predicted", []string{keyed}, func(s Setting) float64 {
			if s.Queues < 60 {
				return 3.9
			}
			return 1
		}, 0.01, keyed, 60, 80},
		{"all are slower than predicted", []string{keyed, dedup}, func(Setting) float64 { return 3.9 }, 0.01, dedup, 36, 44},
		{"slower by more than the noise", []string{keyed, dedup}, func(s Setting) float64 {
			if s.Strategy == dedup {
				return 2.5
			}
			return 1
		}, 0.1, keyed, 36, 44},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := planted()
			w.noise, w.real = c.noise, c.real
			o := options(t, w, burst, "drain")
			o.Strategies = c.strategies
			got := run(t, o, w)
			best := got.At(got.Best)
			if !got.Met || best.Strategy != c.want || best.Queues < c.least || best.Queues > c.most {
				t.Errorf("met %t with %s, want %s with %d to %d queues: %s", got.Met, best.Name(), c.want, c.least, c.most,
					got.Sentence)
			}
			mine := typical(best.Cells)
			for _, k := range got.Candidates {
				if v := typical(k.Cells); mine > stats.Same*v {
					t.Errorf("%s is recommended with %.1f s, beside %s with %.1f s", best.Name(), mine, k.Name(), v)
				}
			}
			if len(w.measured) > 18 {
				t.Errorf("%d cells were measured", len(w.measured))
			}
		})
	}
}

// typical is the median of a setting's drains; infinite if it was not measured.
func typical(cells []result.TunedCell) float64 {
	var all []float64
	for i := range cells {
		all = append(all, *cells[i].Figures.Drain)
	}
	if m, ok := stats.Median(all); ok {
		return m
	}
	return math.Inf(1)
}
