package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/knee"
)

const open = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: open}
cluster: {provider: replay}
storage: {latency: 20ms}
load: {model: open, rate: 100, duration: 2s, objectBytes: 3KiB, warmup: {operations: 10}}
matrix: {watcher.strategy: [keyed, single]}
limits: {minPower: 0}
drainTimeout: 10s
`

func TestKneeBadInput(t *testing.T) {
	good := file(t, "open.yaml", open)
	out := filepath.Join(t.TempDir(), "out")
	for want, args := range map[string][]string{
		`--objective: "drain" is nothing that a knee can be held to; use one of freshness.p50`: {good, "--objective", "drain=3s"},
		`--objective: freshness.p99: "2" has no unit; write for example freshness.p99=2s`:      {good, "--objective", "freshness.p99=2"},
		"--resolution fine: ": {good, "--resolution", "fine"},
		"a resolution of 80% cannot be used; use 0.5% to 50%":                   {good, "--resolution", "80%"},
		`--strategies: "keyd" is not known; did you mean keyed?`:                {good, "--strategies", "keyd"},
		"--strategies: keyed is there twice":                                    {good, "--strategies", "keyed,keyed"},
		"--strategies means nothing for another watcher":                        {good, "--strategies", "keyed", "--watcher-command", "true {config}"},
		"a closed loop has no rate to be found":                                 {file(t, "tiny.yaml", tiny)},
		"the scenario has 2 points besides its strategies; choose one, such as": {good, "--set", "matrix.watcher.podQueueNum=5,10"},
		"--format xml is not known":                                             {good, "--format", "xml"},
		"knee needs one scenario":                                               {},
		"1 cells bracket nothing; use at least 4":                               {good, "--cells", "1"},
		"--repeat 0: 0 is out of range; use 1 to 100":                           {good, "--repeat", "0", "--set", "repeat=1"},
	} {
		_, _, code, err := invoke(t, append([]string{"knee", "--out", out}, args...)...)
		if code != exitInput || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: exit code %d, %v; want %q", args, code, err, want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("bad input leaves a folder behind")
	}
}

func TestKneeVerdict(t *testing.T) {
	at := 3.0
	for want, all := range map[int][]knee.Strategy{
		exitOK: {{Strategy: "keyed", Knee: &at, Bound: knee.ByGenerator}}, exitCheck: {{Knee: &at}, {Strategy: "single", Bound: knee.ByStrategy}},
		exitInvalid: {{Knee: &at}, {Strategy: "single", Bound: knee.ByGenerator}},
	} {
		if code := exitCode(t.Context(), kneeVerdict(&knee.Report{Strategies: all})); code != want {
			t.Errorf("%+v: exit code %d, want %d", all, code, want)
		}
	}
}

// TestStalled: the evidence of a variant's cell is in its samples.
func TestStalled(t *testing.T) {
	m := &measurer{dir: t.TempDir()}
	run := filepath.Join(m.dir, "run-1")
	assesstest.Run(t, run, assesstest.Scenario(t, "plain", ""), 30, nil)
	if evidence, err := m.Stalled("run-1", "only"); err != nil || len(evidence) > 0 {
		t.Errorf("%q, %v: nothing stood still", evidence, err)
	}
	dir := history.CellDir(run, "only")
	samples, err := history.LoadLines[history.Sample](dir, history.FileSamples)
	if err != nil || len(samples) < 4 {
		t.Fatal(len(samples), err)
	}
	samples[2].Until = samples[3].Time - int64(3*time.Second)
	if err := history.SaveLines(dir, history.FileSamples, samples); err != nil {
		t.Fatal(err)
	}
	if evidence, err := m.Stalled("run-1", "only"); err != nil || !slices.Equal(evidence, []string{"the runner stood still for 3s"}) {
		t.Errorf("%q, %v", evidence, err)
	}
	if _, err := m.Stalled("run-2", "only"); err == nil {
		t.Error("a run that is not there")
	}
}

// TestKneeInterrupted: a search that is interrupted keeps what was measured, and leaves nothing.
func TestKneeInterrupted(t *testing.T) {
	p := start(t, []string{"knee", file(t, "open.yaml", open), "--strategies", "keyed"}, "cell 1, at most 24")
	p.signal(t, syscall.SIGINT)
	p.end(t)
	found, err := filepath.Glob(filepath.Join(p.out, "knee-open-*", "knee.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var r knee.Report
	if err := json.Unmarshal(data, &r); err != nil || !r.Interrupted || len(r.Strategies) != 1 || len(r.Strategies[0].Probes) == 0 || r.Schema != knee.Schema {
		t.Errorf("%+v, %v", r, err)
	}
	dir := filepath.Dir(found[0])
	for _, name := range []string{"index.html", "report.md", r.Strategies[0].Probes[0].Run + "/results.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
