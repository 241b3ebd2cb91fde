package search

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestLate: a late cell gets one second try, and only with evidence that the machine stood
// still, which is kept. What stays late is no evidence: the next setting of the strategy is
// measured, and after two of them the strategy is left out.
func TestLate(t *testing.T) {
	stalled := []string{"the runner stood still for 2s"}
	for _, c := range []struct {
		name    string
		late    int
		stalled []string
		queues  []int // in the order in which they are measured
		met     bool
		tries   int // second ones
	}{
		{"once", 1, stalled, []int{36, 36, 31, 36, 36}, true, 1},
		{"once, without evidence", 1, nil, []int{36, 38, 38, 38}, true, 0},
		{"twice", 2, stalled, []int{36, 36, 38, 38, 38}, true, 1},
		{"always", 1000, stalled, []int{36, 36, 38, 38}, false, 2},
		{"always, without evidence", 1000, nil, []int{36, 38}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := planted()
			w.noise, w.late, w.stalled = 0, c.late, c.stalled
			o := options(t, w, burst, "drain=9s")
			o.Strategies = []string{keyed}
			x, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Run(t.Context(), w, func(line string) {
				if c.late > 2 && strings.HasPrefix(line, keyed) && strings.Contains(line, " s (") {
					t.Errorf("a figure of an invalid cell is shown: %s", line)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			var queues []int
			for _, s := range w.measured {
				queues = append(queues, s.Queues)
			}
			if !slices.Equal(queues, c.queues) || got.Met != c.met || !c.met && strings.Contains(got.Sentence, "enough") {
				t.Errorf("met %t after %v, want %t after %v: %s %v", got.Met, queues, c.met, c.queues, got.Sentence, got.Notes)
			}
			tries := 0
			for _, k := range got.Candidates {
				for _, cell := range k.Cells {
					if r := cell.Retry; r != nil {
						if tries++; r.Why != "late" || !slices.Equal(r.Stalled, stalled) || r.Scenario != k.Name() {
							t.Errorf("%+v", r)
						}
					}
				}
			}
			if tries != c.tries {
				t.Errorf("%d second tries, want %d", tries, c.tries)
			}
			left := slices.ContainsFunc(got.Notes, func(n string) bool { return strings.Contains(n, "left out") })
			if want := slices.Contains(queues, 38); left != want {
				t.Errorf("left out: %v", got.Notes)
			}
		})
	}
}

// TestBudget is that of the whole search: a screening that takes longer ends with it, and what
// it took is not there for measuring.
func TestBudget(t *testing.T) {
	w := planted()
	o := options(t, w, burst, "drain=9s")
	o.Strategies, o.Budget = []string{keyed}, time.Nanosecond
	got := run(t, o, w)
	if got.Met || len(w.measured) > 0 || len(got.Notes) == 0 {
		t.Errorf("met %t after %d cells: %v", got.Met, len(w.measured), got.Notes)
	}
	b := bench{budget: time.Minute, began: time.Now().Add(-25 * time.Second), screened: 25 * time.Second}
	if left := b.left(); left > 10*time.Second || left < 5*time.Second {
		t.Errorf("%s left of a minute after 25 s, of which 25 s are kept", left)
	}
}

// TestBudgetOfInvalidCells: where the time ends before a cell was valid, the answer says so and
// why, and what was predicted is handed out as that.
func TestBudgetOfInvalidCells(t *testing.T) {
	w := planted()
	w.late = 1000
	o := options(t, w, burst, "drain=9s")
	o.Strategies, o.Budget = []string{keyed}, time.Minute
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(t.Context(), measureFunc(func(ctx context.Context, f *spec.File) (*result.Results, error) {
		x.bench.began = x.bench.began.Add(-time.Minute)
		return w.Measure(ctx, f)
	}), quiet)
	if err != nil {
		t.Fatal(err)
	}
	best := got.At(got.Best)
	if got.Met || best == nil || !strings.Contains(got.Sentence, "by simulation keyed with podQueueNum 37 would do") {
		t.Fatalf("met %t, %+v: %s", got.Met, best, got.Sentence)
	}
	if !strings.Contains(got.Fragments[0].Note, "predicted only") || !strings.Contains(strings.Join(got.Notes, " "), "could not be measured (late)") {
		t.Errorf("%+v %v", got.Fragments[0], got.Notes)
	}
}
