package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func TestOrderIsSeeded(t *testing.T) {
	ids := func(seed uint64) []string {
		var out []string
		for _, j := range jobsOf(strategies(t, "repeat=2", fmt.Sprint("seed=", seed))) {
			out = append(out, j.id)
		}
		return out
	}
	a, b, c := ids(1), ids(1), ids(2)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("the same seed gives another order:\n%s", d)
	}
	if cmp.Equal(a, c) || cmp.Equal(a[:10], a[10:]) {
		t.Error("seeds or repetitions do not change the order")
	}
	seen := map[string]bool{}
	for _, id := range a {
		seen[id] = true
	}
	if len(a) != 19 || len(seen) != 19 || !seen["keyed-heavy-r2"] {
		t.Errorf("%d cells, %d different: %v", len(a), len(seen), a)
	}
}

// All points once, then again; what is to run once is in the first round.
func TestRepetitionsAreInterleaved(t *testing.T) {
	f := strategies(t)
	jobs := jobsOf(f)
	once := 0
	for i, j := range jobs {
		if i > 0 && j.rep < jobs[i-1].rep {
			t.Errorf("%s after %s", j.id, jobs[i-1].id)
		}
		if j.cell.ID == "single-heavy" {
			once++
		}
	}
	for seed := range uint64(50) {
		at := map[string]int{}
		for i, j := range jobsOf(strategies(t, "repeat=2", fmt.Sprint("seed=", seed))) {
			at[j.id] = i
		}
		if a, b := at["keyed-light-r1"] < at["dedup-light-r1"], at["keyed-light-r2"] < at["dedup-light-r2"]; a == b {
			t.Errorf("seed %d: one of two cells is first in both repetitions", seed)
		}
	}
	if want := 10 + 4*9; len(jobs) != want || once != 1 {
		t.Errorf("%d cells, %d of them single-heavy; want %d and 1", len(jobs), once, want)
	}
}

// blocks parses what shipped scenario strategies comes to with sets, and returns the jobs of each block:
// a letter for the side and the repetition, such as "A1 B1 B2 A2", under the other axes' points.
func blocks(t *testing.T, f *spec.File, axis, a string) (all []string, others []string) {
	t.Helper()
	jobs := jobsOf(f)
	if len(jobs)%4 != 0 {
		t.Fatalf("%d jobs", len(jobs))
	}
	for four := range slices.Chunk(jobs, 4) {
		var sides []string
		other := ""
		for i, j := range four {
			side, rest := "B", ""
			for _, p := range j.cell.Params {
				switch {
				case p.Name != axis:
					rest += p.Name + "=" + p.Value + " "
				case p.Value == a:
					side = "A"
				}
			}
			if other == "" {
				other = rest
			}
			if rest != other {
				t.Fatalf("job %d of a block, %s, is at %s, its first at %s", i+1, j.id, rest, other)
			}
			sides = append(sides, fmt.Sprint(side, j.rep))
		}
		all, others = append(all, strings.Join(sides, " ")), append(others, other)
	}
	return all, others
}

// TestPair: each block is A B B A or B A A B of two repetitions at one point of the other axes,
// both starts occur, points are shuffled between blocks, and the same seed gives the same.
func TestPair(t *testing.T) {
	const four = 4 // points of the other axes
	paired := func(seed uint64) (all, others []string) {
		return blocks(t, strategies(t, "repeatOnce=[]", "repeat=6", "pair=watcher.strategy", "matrix.watcher.strategy=keyed,single",
			"matrix.watcher.podQueueNum=10,30", fmt.Sprint("seed=", seed)), "watcher.strategy", "keyed")
	}
	starts, sequences := map[byte]int{}, map[string]bool{}
	for seed := range uint64(20) {
		all, others := paired(seed)
		again, _ := paired(seed)
		if d := cmp.Diff(all, again); d != "" || len(all) != four*3 {
			t.Fatalf("seed %d: %d blocks; again (-first +second):\n%s", seed, len(all), d)
		}
		sequences[strings.Join(others[:four], ", ")] = true
		for i, b := range all {
			r := 2*(i/four) + 1
			if b != fmt.Sprintf("A%d B%d B%d A%d", r, r, r+1, r+1) && b != fmt.Sprintf("B%d A%d A%d B%d", r, r, r+1, r+1) {
				t.Errorf("seed %d: block %d is %s", seed, i+1, b)
			}
			starts[b[0]]++
		}
		for round := range slices.Chunk(others, four) {
			if slices.Sort(round); len(slices.Compact(round)) != four {
				t.Errorf("seed %d: not every point has a block: %v", seed, round)
			}
		}
	}
	if total := 20 * four * 3; starts['A'] < total/3 || starts['B'] < total/3 {
		t.Errorf("blocks start with %v", starts)
	}
	if len(sequences) < 10 {
		t.Errorf("20 seeds give %d sequences of points", len(sequences))
	}
}

// TestLadderInWrittenOrder: rungs are run as they are written, every time.
func TestLadderInWrittenOrder(t *testing.T) {
	f := assesstest.Scenario(t, "rungs", "", "cluster.provider=simulated", "ladder=true", "repeat=3", "matrix.load.prefill=100,200,300,400")
	for i, j := range jobsOf(f) {
		if want := f.Cells()[i%4].ID; j.cell.ID != want || j.rep != i/4+1 {
			t.Errorf("job %d is %s, want %s", i, j.id, want)
		}
	}
}

// TestTooManyObjects: a run that this machine has no memory for does not begin.
func TestTooManyObjects(t *testing.T) {
	f := assesstest.Scenario(t, "huge", "", "cluster.provider=simulated", "load.prefill=1000000")
	if have, err := procstat.MemoryAvailable(); err != nil || have > 1_000_000*bytesPerObject {
		t.Skip("this machine has the memory, or does not say")
	}
	if _, err := New(Options{Scenario: f, OutDir: t.TempDir()}); !badinput.Is(err) {
		t.Errorf("%v", err)
	}
}
