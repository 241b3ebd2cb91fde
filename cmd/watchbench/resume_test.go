package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
)

const pair = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: pair}
storage: {latency: 5ms}
load: {model: closed, threads: 8, operations: 240, recreate: 0.5}
matrix: {watcher.strategy: [partitioned, keyed]}
thresholds: {load.errors: '> 9'}  # which does not hold
limits: {minPower: 0}
drainTimeout: 30s
`

// sweptPair has blocks of two repetitions at two points, on a simulated apiserver.
const sweptPair = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: swept-pair}
cluster: {provider: simulated}
storage: {latency: 2ms}
load: {model: open, rate: 1000, duration: 200ms, namespaces: 3}
watcher: {synchronizer: {disabled: true}}
matrix:
  watcher.podQueueNum: [4, 8]
  watcher.strategy: [partitioned, keyed]
pair: watcher.strategy
repeat: 2
limits: {minPower: 0, lag: 60s, minOffered: 1%, minEvents: 0%}
drainTimeout: 30s
`

const killedLadder = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: killed-ladder}
cluster: {provider: simulated}
ladder: true
storage: {latency: 2ms}
load: {model: open, rate: 1000, duration: 200ms, namespaces: 3}
watcher: {synchronizer: {disabled: true}}
matrix: {load.prefill: [100, 200, 400]}
limits: {minPower: 0, lag: 60s, minOffered: 1%, minEvents: 0%}
drainTimeout: 30s
`

// bench runs the program and what it starts.
type bench struct{ bin, assets string }

func programsBuilt(t *testing.T) *bench {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs programs, which -short leaves out")
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return &bench{bin: bin}
}

func (b *bench) command(t *testing.T, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "watchbench"), args...)
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+b.assets)
	return cmd
}

func (b *bench) expect(t *testing.T, want int, contains string, args ...string) {
	t.Helper()
	text, err := b.command(t, args...).CombinedOutput()
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	// Other packages' tests may run beside this one, so cells may be late.
	if code != want && (want != exitOK && want != exitCheck || code != exitInvalid) || !strings.Contains(string(text), contains) {
		t.Fatalf("%v: exit code %d, want %d and %q:\n%s", args, code, want, contains, text)
	}
}

// killed starts a run and kills it when its progress has a line that begins so, which is under
// a cell's load; it returns the run's folder.
func (b *bench) killed(t *testing.T, scenario, at string) string {
	t.Helper()
	out := t.TempDir()
	first := b.command(t, "run", file(t, "killed.yaml", scenario), "--out", out)
	said, err := first.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	var all []string
	for lines := bufio.NewScanner(said); lines.Scan(); {
		all = append(all, lines.Text())
		if strings.HasPrefix(lines.Text(), at) {
			_ = first.Process.Kill()
			break
		}
	}
	_ = first.Wait() // killed
	runs, err := filepath.Glob(out + "/*-*")
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v, %v\n%s", runs, err, strings.Join(all, "\n"))
	}
	return runs[0]
}

// TestResumeSweepAfterKill: of a sweep that was killed in the middle the finished cells stay as
// they are, to the byte, and exactly the rest is run, in the order of the run.
func TestResumeSweepAfterKill(t *testing.T) {
	b := programsBuilt(t)
	for _, tc := range []struct {
		name, scenario, at string
		done, cells        int
	}{
		{"a sweep and a pair", sweptPair, "[4/8] ", 3, 8},
		{"a ladder", killedLadder, "[2/3] ", 1, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := b.killed(t, tc.scenario, tc.at)
			was, err := result.LoadFile(dir)
			if err != nil || len(was.Cells) != tc.done || len(was.Run.Order) != tc.cells {
				t.Fatalf("%d of %d cells: %v", len(was.Cells), len(was.Run.Order), err)
			}
			kept := map[string]map[string]string{}
			invalid := 0
			for _, c := range was.Cells {
				if c.Valid {
					kept[c.ID] = assesstest.Contents(t, history.CellDir(dir, c.ID))
				} else {
					invalid++
				}
			}
			if len(kept) == 0 {
				t.Skipf("all %d finished cells are invalid on this machine", invalid)
			}
			b.expect(t, exitOK, "to be run: ", "run", "--resume", dir)
			now, err := result.LoadFile(dir)
			if err != nil {
				t.Fatal(err)
			}
			var ids, rerun []string
			for _, c := range now.Cells {
				ids = append(ids, c.ID)
			}
			for _, x := range now.Run.Resumed[0].Cells {
				rerun = append(rerun, x.ID)
			}
			want := slices.DeleteFunc(slices.Clone(was.Run.Order), func(id string) bool { return kept[id] != nil })
			if d := cmp.Diff(want, rerun); d != "" {
				t.Errorf("what was run (-want +got):\n%s", d)
			}
			if d := cmp.Diff(was.Run.Order, ids); d != "" {
				t.Errorf("what there is (-want +got):\n%s", d)
			}
			for id, before := range kept {
				if d := cmp.Diff(before, assesstest.Contents(t, history.CellDir(dir, id))); d != "" {
					t.Errorf("%s was finished, and changed:\n%s", id, d)
				}
			}
		})
	}
}

// A run that was killed in the middle is taken up where it was, checked and reported.
func TestResumeAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	assets, err := cluster.Prepare(t.Context(), cluster.EmbeddedOptions{}, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	b := programsBuilt(t)
	b.assets = assets
	expect := func(want int, contains string, args ...string) {
		t.Helper()
		b.expect(t, want, contains, args...)
	}
	dir := b.killed(t, pair, "[2/2] ")
	expect(exitCheck, "1 of 2 cells missing", "check", dir)
	expect(exitOK, "1 of 2 cells missing", "report", dir)
	expect(exitInput, "scenario.repeat: the run has 1, this command 3", "run", "--resume", dir, "--repeat", "3")
	expect(exitCheck, "to be run: ", "run", "--resume", dir)
	expect(exitCheck, "agrees with the record", "check", dir)
	expect(exitOK, "Resumed", "report", dir, "--explain", "--format", "table,md,html")

	res, err := result.LoadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(res.Cells, func(c result.Cell) bool { return !c.Valid }) {
		t.Log("a cell is invalid, so there is something to resume")
	} else {
		before := assesstest.Contents(t, dir)
		expect(exitCheck, "nothing to resume", "run", "--resume", dir)
		if d := cmp.Diff(before, assesstest.Contents(t, dir)); d != "" {
			t.Errorf("resuming a finished run changed its folder:\n%s", d)
		}
	}
	r := res.Run
	if len(r.Resumed) == 1 && len(r.Resumed[0].Cells) == 2 && r.Resumed[0].Cells[0].Why != "missing" {
		t.Skipf("the machine stood still in the first cell, which was run again as well: %s", r.Resumed[0].Cells[0].Why)
	}
	if len(res.Cells) != 2 || len(r.Resumed) != 1 || len(r.Resumed[0].Cells) != 1 || r.Resumed[0].Environment.Kubernetes != res.Environment.Kubernetes {
		t.Fatalf("%d cells, resumed %+v", len(res.Cells), r.Resumed)
	}
	for i, c := range res.Cells {
		if c.ID != r.Order[i] || c.Resumed != i || i == 1 && r.Resumed[0].Cells[0] != (result.Rerun{ID: c.ID, Why: "missing"}) {
			t.Errorf("%s: resumed %d, %+v", c.ID, c.Resumed, r.Resumed[0].Cells)
		}
	}
}
