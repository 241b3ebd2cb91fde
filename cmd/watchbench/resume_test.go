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

// A run that was killed in the middle is taken up where it was, checked and reported.
func TestResumeAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	assets, err := cluster.Prepare(t.Context(), cluster.EmbeddedOptions{}, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	bin, out := t.TempDir(), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", ".", "../k8s-watch", "../storagemock", "../churn", "../watchproxy")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	watchbench := func(args ...string) *exec.Cmd {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		t.Cleanup(cancel)
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "watchbench"), args...)
		cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+assets)
		return cmd
	}
	expect := func(want int, contains string, args ...string) {
		t.Helper()
		text, err := watchbench(args...).CombinedOutput()
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

	first := watchbench("run", file(t, "pair.yaml", pair), "--out", out)
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
		if strings.HasPrefix(lines.Text(), "[2/2] ") { // under its load
			_ = first.Process.Kill()
			break
		}
	}
	_ = first.Wait() // killed
	runs, err := filepath.Glob(out + "/pair-*")
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v, %v\n%s", runs, err, strings.Join(all, "\n"))
	}
	dir := runs[0]
	expect(exitCheck, "1 of 2 cells missing", "check", dir)
	expect(exitOK, "1 of 2 cells missing", "report", dir)
	expect(exitInput, "scenario.repeat: the run has 1, this command 3", "run", "--resume", dir, "--repeat", "3")
	expect(exitCheck, "to be run: ", "run", "--resume", dir)
	expect(exitCheck, "agrees with the record", "check", dir)
	expect(exitOK, "Resumed", "report", dir, "--explain", "--format", "terminal,md,html")

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
	if len(res.Cells) != 2 || len(r.Resumed) != 1 || len(r.Resumed[0].Cells) != 1 || r.Resumed[0].Environment.Kubernetes != res.Environment.Kubernetes {
		t.Fatalf("%d cells, resumed %+v", len(res.Cells), r.Resumed)
	}
	for i, c := range res.Cells {
		if c.ID != r.Order[i] || c.Resumed != i || i == 1 && r.Resumed[0].Cells[0] != (result.Rerun{ID: c.ID, Why: "missing"}) {
			t.Errorf("%s: resumed %d, %+v", c.ID, c.Resumed, r.Resumed[0].Cells)
		}
	}
}
