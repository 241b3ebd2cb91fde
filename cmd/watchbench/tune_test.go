package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
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
