package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/search"
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

func TestFindRateBadInput(t *testing.T) {
	good := file(t, "open.yaml", open)
	out := filepath.Join(t.TempDir(), "out")
	for want, args := range map[string][]string{
		"--objective drain=3s: --find rate needs a freshness objective with a value": {good, "--objective",
			"drain=3s"},
		"--objective freshness.p99: --find rate needs a freshness objective with a value": {good, "--objective",
			"freshness.p99"},
		"--resolution fine cannot be used; use 0.5% to 50%":         {good, "--resolution", "fine"},
		"a resolution of 80% is out of range; use 0.5% to 50%":      {good, "--resolution", "80%"},
		`"keyd" is not one, or is there twice; did you mean keyed?`: {good, "--strategies", "keyd"},
		"--strategies means nothing for another watcher": {good, "--strategies",
			"keyed", "--watcher-command", "true {config}"},
		"a closed loop has no rate to search": {file(t, "tiny.yaml", tiny)},
		"open has 2 points besides what is searched: tune needs one; choose one, for example": {good, "--set",
			"matrix.watcher.podQueueNum=5,10"},
		"--find rate needs a scenario":                          {},
		"--queues means nothing with --find rate; leave it out": {good, "--queues", "1..4"},
		"--find knee is not known; use settings or rate":        {good, "--find", "knee"},
	} {
		_, _, code, err := invoke(t, append([]string{"tune", "--find", "rate", "--out", out}, args...)...)
		if code != exitInput || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: exit code %d, %v; want %q", args, code, err, want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("bad input leaves a folder behind")
	}
}

// TestKneeIsTune: the command of earlier versions says what to write instead, and is not in the help.
func TestKneeIsTune(t *testing.T) {
	_, _, code, err := invoke(t, "knee", "examples/knee", "--objective", "freshness.p99=2s")
	if code != exitInput || err == nil || !strings.Contains(err.Error(), "write watchbench tune SCENARIO --find rate") {
		t.Errorf("exit code %d, %v", code, err)
	}
	if help, _, _, _ := invoke(t, "--help"); strings.Contains(help, "knee") {
		t.Error(help)
	}
}

func TestRateVerdict(t *testing.T) {
	at, not := 3.0, []search.RateCell{{Verdict: search.NotCarried}}
	for want, all := range map[int][]search.StrategyRate{
		exitOK: {{Strategy: "keyed", Rate: &at, AtLeast: true}}, exitCheck: {{Rate: &at}, {Strategy: "single", Cells: not}},
		exitInvalid: {{Rate: &at}, {Strategy: "single"}},
	} {
		if code := exitCode(t.Context(), rateVerdict(&search.Rates{Strategies: all})); code != want {
			t.Errorf("%+v: exit code %d, want %d", all, code, want)
		}
	}
}

// TestFindRateInterrupted: a search that is interrupted keeps what was measured, and leaves nothing.
func TestFindRateInterrupted(t *testing.T) {
	p := start(t, []string{"tune", file(t, "open.yaml", open), "--find", "rate", "--strategies", "keyed"},
		"; cell 1, about")
	p.signal(t, syscall.SIGINT)
	p.end(t)
	found, err := filepath.Glob(filepath.Join(p.out, "tune-open-*", result.RatesFile))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var r search.Rates
	if err := json.Unmarshal(data, &r); err != nil || !r.Interrupted || len(r.Strategies) != 1 || len(r.Strategies[0].Cells) == 0 || r.Schema != search.RatesSchema {
		t.Fatalf("%+v, %v", r, err)
	}
	dir := filepath.Dir(found[0])
	for _, name := range []string{"index.html", "report.md", r.Strategies[0].Cells[0].Run + "/results.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
