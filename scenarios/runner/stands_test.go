package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// What a second try must not change: a run that is finished, a violation, a crash.

// A finished run has nothing to resume, and comes to what it came to; nothing is written.
func TestResumeOfAWholeRun(t *testing.T) {
	dir, f := t.TempDir(), assesstest.Scenario(t, "plain", "", "thresholds.freshness.p99=< 20ms") // which does not hold
	assesstest.Run(t, dir, f, 30, nil)
	assesstest.Alter(t, dir, func(r *history.Run) { r.Environment = here(t) })
	publish(t, dir)
	said, err := result.LoadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	before := assesstest.Contents(t, dir)
	r, err := Resume(t.Context(), Options{Scenario: f, Provider: "embedded"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Discard()
	out := r.Outcome()
	if len(r.Steps()) != 0 || !out.Nothing {
		t.Fatalf("%d cells to run", len(r.Steps()))
	}
	if d := cmp.Diff(said.Thresholds, out.Results.Thresholds); d != "" || len(said.Thresholds) != 1 || !said.Thresholds[0].Failed() {
		t.Errorf("(-the run +resumed):\n%s%+v", d, said.Thresholds)
	}
	if run := out.Results.Run; len(run.Resumed) > 0 || run.Interrupted != said.Run.Interrupted || !run.Finished.Equal(said.Run.Finished) {
		t.Errorf("%+v", run)
	}
	if d := cmp.Diff(before, assesstest.Contents(t, dir)); d != "" {
		t.Errorf("the folder was changed:\n%s", d)
	}
}

// A violation that was reported stands, whatever becomes of its record; of a record that is
// lost before anything was reported, nobody knows.
func TestResumeTakesNoViolationBack(t *testing.T) {
	damage := func(t *testing.T, dir, id string) {
		if err := os.WriteFile(filepath.Join(history.CellDir(dir, id), history.FileMarks), []byte("{\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	template, f := recorded(t)
	publish(t, template)
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, dir string)
		want string // of the error; empty: it stands
	}{
		{"damage", func(t *testing.T, dir string) { damage(t, dir, "partitioned") }, ""},
		{"the cell is gone", func(t *testing.T, dir string) {
			assesstest.Alter(t, dir, func(r *history.Run) {
				r.Cells = slices.DeleteFunc(r.Cells, func(id string) bool { return id == "partitioned" })
			})
		}, ""},
		{"damage of what nobody judged", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, result.FileName)); err != nil {
				t.Fatal(err)
			}
			damage(t, dir, "single")
		}, "whether single violates a guarantee is not known: "},
		{"results.json is damaged", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, result.FileName), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "results.json: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
				t.Fatal(err)
			}
			tc.do(t, dir)
			r, err := Resume(t.Context(), Options{Scenario: f, Provider: "embedded"}, dir)
			if tc.want != "" {
				if err == nil || !IsInput(err) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.Discard()
			cells := r.Outcome().Results.Cells
			i := slices.IndexFunc(cells, func(c result.Cell) bool { return c.ID == "partitioned" })
			if i < 0 || !violates(&cells[i]) || slices.ContainsFunc(r.Steps(), func(s Step) bool { return s.ID == "partitioned" }) {
				t.Errorf("%d, to be run: %+v", i, r.Steps())
			}
		})
	}
}

// An interruption is none of the record's faults.
func TestResumeInterrupted(t *testing.T) {
	dir, f := recorded(t) // of which nothing was published
	interrupted := errors.New("interrupt")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	r := newRunner(Options{Scenario: f, Provider: "embedded"}, time.Now())
	prior, err := history.LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.takeUp(ctx, dir, prior); !errors.Is(err, interrupted) || IsInput(err) {
		t.Errorf("%v", err)
	}
}

// A cell in which the watcher crashed gets no second try.
func TestResumeExcusesNoCrash(t *testing.T) {
	dir, f := recorded(t)
	assesstest.Alter(t, dir, func(r *history.Run) {
		r.Run.Crashed = []result.Crash{{ID: "dedup", Why: "k8s-watch ended: exit code 2"}}
	})
	r, err := Resume(t.Context(), Options{Scenario: f, Provider: "embedded"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Discard()
	if steps := r.Steps(); len(steps) != 1 || steps[0].ID != "keyed" {
		t.Errorf("%+v", steps)
	}
	res := r.Outcome().Results
	if gap := res.Gap(); !strings.Contains(gap, "the watcher ended by itself in dedup: k8s-watch ended: exit code 2") {
		t.Errorf("%q", gap)
	}
	res.Cells = slices.DeleteFunc(res.Cells, func(c result.Cell) bool { return c.ID == "keyed" })
	res.Run.Order = []string{"single", "dedup", "partitioned"}
	if Resumable(res) {
		t.Error("a crash is offered for a second try")
	}
}

// The record has the digests of all that was started: programs of our own by their names,
// and of other watchers every file that their command names.
func TestProgramDigests(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "watcher.sh")
	for _, name := range []string{"k8s-watch", "storagemock", "watchbench", "watcher.sh", "k6"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("of "+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bins, err := party.BinariesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	cells := []spec.Cell{{Scenario: spec.Default()}}
	cells[0].Scenario.Watcher.Command = "sh " + script + " --config {config}"
	before, err := programDigests(bins, cells)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"watchbench", "k8s-watch", "storagemock", "sh", script} {
		if d := before[name]; len(d) != len("sha256:")+64 {
			t.Errorf("%s: %q", name, d)
		}
	}
	if len(before) != 5 { // k6 is not started
		t.Errorf("%v", before)
	}
	cells[0].Scenario.Load.Driver = spec.DriverK6
	if all, err := programDigests(bins, cells); err != nil || len(all["k6"]) < 64 {
		t.Errorf("%v, %v", all, err)
	}
	cells[0].Scenario.Load.Driver = spec.DriverEngine
	if err := os.WriteFile(script, []byte("another"), 0o755); err != nil {
		t.Fatal(err)
	}
	after, err := programDigests(bins, cells)
	if err != nil || after[script] == before[script] || after["sh"] != before["sh"] {
		t.Errorf("%v after %v, %v", after, before, err)
	}
}
