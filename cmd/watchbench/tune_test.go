package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/runner"
)

const open = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: open}
cluster: {provider: simulated}
storage: {latency: 20ms}
load: {model: open, rate: 100, duration: 2s, objectBytes: 3KiB, warmup: {operations: 10}}
matrix: {watcher.strategy: [keyed, single]}
limits: {minPower: 0}
drainTimeout: 10s
`

func TestTuneVerdict(t *testing.T) {
	of := func(verdict string) []result.TunedCandidate { return []result.TunedCandidate{{Verdict: verdict}} }
	for want, x := range map[int]result.Tuning{
		exitOK: {Met: true}, exitCheck: {Candidates: of(result.TunedWrong)}, exitInvalid: {Candidates: of(result.TunedInvalid)},
	} {
		if code := exitCode(t.Context(), tuneVerdict(&x)); code != want {
			t.Errorf("%+v: exit code %d, want %d", x, code, want)
		}
	}
}

// TestTuneInterrupted: a search that is interrupted keeps what was measured, and leaves nothing.
func TestTuneInterrupted(t *testing.T) {
	p := start(t, []string{"tune", file(t, "open.yaml", open), "--find", "rate", "--strategies", "keyed"}, "keyed at ", " cell", " in ")
	p.signal(t, syscall.SIGINT)
	p.end(t)
	found, err := filepath.Glob(filepath.Join(p.out, "tune-open-*", result.TuningFile))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	r, err := result.LoadTuning(found[0])
	if err != nil || !r.Interrupted || len(r.Rates) != 1 || r.Measured == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, name := range []string{"index.html", "report.md"} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(found[0]), name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPageNotWritten: a page that could not be written, such as on a full disk, is not named.
func TestPageNotWritten(t *testing.T) {
	f, cmd, out := tuneFlags{}, &cobra.Command{}, &bytes.Buffer{}
	cmd.SetOut(out)
	none := filepath.Join(t.TempDir(), "gone")
	tuning := &result.Tuning{Best: -1, RunnerUp: -1, Original: -1, Sentence: "Nothing was measured."}
	if err := f.publish(cmd, none, tuning); !errors.Is(err, os.ErrNotExist) || strings.Contains(out.String(), "index.html") {
		t.Errorf("tune: %v, and prints\n%s", err, out)
	}
	out.Reset()
	res, err := result.LoadFile(gateRun(t, "base", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.show(cmd, runner.Outcome{Dir: none, Results: res}, false); err != nil || strings.Contains(out.String(), "index.html") {
		t.Errorf("run: %v, and prints\n%s", err, out)
	}
	if m := (&result.Matrix{}); (&matrixFlags{}).showMatrix(cmd, none, m, false) != nil || strings.Contains(out.String(), "index.html") {
		t.Errorf("matrix prints\n%s", out)
	}
}
