package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const four = "matrix.watcher.strategy=single,dedup,partitioned,keyed"

// recorded is the folder of a run, in which one cell is missing and two are invalid, one of these with a violation.
func recorded(t *testing.T) (dir string, f *spec.File) {
	t.Helper()
	dir, f = t.TempDir(), assesstest.Scenario(t, "plain", "", four)
	assesstest.Run(t, dir, f, 30, nil)
	assesstest.Alter(t, dir, func(r *history.Run) {
		r.Run.Order = nil
		for _, s := range Steps(f) {
			r.Run.Order = append(r.Run.Order, s.ID)
		}
		r.Environment = here(t)
		r.Cells = slices.DeleteFunc(r.Cells, func(id string) bool { return id == "dedup" })
	})
	for _, id := range []string{"partitioned", "keyed"} {
		path := history.CellDir(dir, id)
		c, err := history.LoadCell(path)
		if err != nil {
			t.Fatal(err)
		}
		c.Planned = 1000 // of which too few were done
		if err := history.SaveJSON(path, history.FileCell, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := history.SaveState(history.CellDir(dir, "partitioned"), history.FileState, func(yield func(history.StateRecord) bool) {
		yield(history.StateRecord{Side: history.SideApiserver, Kind: "Pod", Namespace: "n", Name: "lost", UID: "u", ResourceVersion: 3, Digest: "d"})
	}); err != nil {
		t.Fatal(err)
	}
	return dir, f
}

// here is the environment of a run by this process.
func here(t *testing.T) result.Environment {
	t.Helper()
	e := environment()
	e.Provider = "embedded"
	var err error
	if e.Programs, err = programDigests(party.Binaries{}, nil); err != nil || len(e.Programs) == 0 {
		t.Fatalf("%v, %v", e.Programs, err)
	}
	return e
}

// publish writes the folder's results.json.
func publish(t *testing.T, dir string) {
	t.Helper()
	res, err := assess.Run(t.Context(), dir)
	if err == nil {
		err = result.Save(filepath.Join(dir, result.FileName), res)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What is missing is run, and what is invalid; what violates a guarantee stands.
func TestResumeChooses(t *testing.T) {
	dir, f := recorded(t)
	r, err := Resume(t.Context(), Options{Scenario: f, Provider: "embedded"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range r.Steps() {
		why, _, _ := strings.Cut(s.Why, ":")
		got = append(got, s.ID+" "+why)
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"dedup missing", "keyed invalid"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, c := range r.Outcome().Results.Cells {
		if c.ID == "partitioned" && (c.Valid || c.Checks["G1"].Verdict != result.Fail) {
			t.Errorf("valid %v, G1 %+v", c.Valid, c.Checks["G1"])
		}
	}
	// While that one is under way, nobody else may.
	if _, err := Resume(t.Context(), Options{Scenario: f, Provider: "embedded"}, dir); err == nil || !IsInput(err) || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a second one: %v", err)
	}
	r.Discard()
	name, data, sets, err := LoadSource(dir)
	if err != nil || name != "plain.yaml" || len(data) == 0 || !slices.Equal(sets, []string{four}) {
		t.Errorf("%s, %d bytes, %v, %v", name, len(data), sets, err)
	}
}

// A second try finds nothing of the first: no record and, in a cluster, no Jobs, which would have its names.
func TestDroppedLeavesNothing(t *testing.T) {
	dir, f := recorded(t)
	r, err := Resume(t.Context(), Options{Scenario: f, Provider: "embedded"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Discard()
	cleaned := 0
	r.home = &home{clean: func(context.Context) error { cleaned++; return nil }}
	if err := r.drop(t.Context(), "keyed"); err != nil || cleaned != 1 {
		t.Errorf("cleaned %d times: %v", cleaned, err)
	}
	if _, err := os.Stat(history.CellDir(dir, "keyed")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the first try's folder: %v", err)
	}
	if slices.ContainsFunc(r.Outcome().Results.Cells, func(c result.Cell) bool { return c.ID == "keyed" }) {
		t.Error("the first try's figures are there")
	}
}

// Cells of different runs are not mixed, and the error says what differs.
func TestResumeRefusesAnotherRun(t *testing.T) {
	dir, _ := recorded(t)
	was, err := history.LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		sets []string
		edit func(*history.Run)
		want string
	}{
		{"another number of repetitions", []string{"repeat=2"}, nil, "scenario.repeat: the run has 1, this command 2"},
		{"another seed", []string{"seed=7"}, nil, "scenario.seed: the run has 1, this command 7"},
		{"another load", []string{"load.rate=91"}, nil, "scenario.load.rate: the run has 90, this command 91"},
		{"another version", nil, func(r *history.Run) { r.Environment.Commit = "abc" }, "commit: the run has abc, this command "},
		{"other sources", nil, func(r *history.Run) { r.Environment.Dirty = !r.Environment.Dirty }, "dirty: the run has "},
		{"another program", nil, func(r *history.Run) { r.Environment.Programs["watchbench"] = "sha256:0" }, "programs.watchbench: the run has sha256:0, this command sha256:"},
		{"a program more", nil, func(r *history.Run) { r.Environment.Programs["churn"] = "sha256:0" }, "programs.churn: the run has sha256:0, this command nothing"},
		{"another processor", nil, func(r *history.Run) { r.Environment.CPUModel = "Z80" }, "cpuModel: the run has Z80, this command "},
		{"more processors", nil, func(r *history.Run) { r.Environment.CPUs = 999 }, "cpus: the run has 999, this command "},
		{"more memory", nil, func(r *history.Run) { r.Environment.MemoryMiB += 4096 }, "memoryMiB: the run has "},
		{"another kernel", nil, func(r *history.Run) { r.Environment.Kernel = "0.12" }, "kernel: the run has 0.12, this command "},
		{"another limit", nil, func(r *history.Run) { r.Environment.Cgroup = map[string]string{"cpu.max": "1 2"} }, "cgroup"},
		{"another compiler", nil, func(r *history.Run) { r.Environment.GoVersion = "go0" }, "goVersion: the run has go0, this command "},
		{"another cluster", nil, func(r *history.Run) { r.Environment.Provider = "kind" }, "provider: the run has kind, this command embedded"},
		{"a row of the fault matrix", nil, func(r *history.Run) { r.Baseline = &history.Baseline{} }, "a run of a fault matrix"},
	} {
		assesstest.Alter(t, dir, func(r *history.Run) { *r = *was })
		r, err := history.LoadRun(dir) // which shares no map with the others
		if err != nil {
			t.Fatal(err)
		}
		was = r
		if tc.edit != nil {
			assesstest.Alter(t, dir, tc.edit)
		}
		_, err = Resume(t.Context(), Options{Scenario: assesstest.Scenario(t, "plain", "", append(tc.sets, four)...), Provider: "embedded"}, dir)
		if err == nil || !IsInput(err) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	for _, dir := range []string{t.TempDir(), "/nowhere"} {
		if _, _, _, err := LoadSource(dir); err == nil || !IsInput(err) || !strings.Contains(err.Error(), "name the folder of a run") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
