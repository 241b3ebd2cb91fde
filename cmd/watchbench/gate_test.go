package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// gateRun writes a run of six repetitions, or of six blocks with both sides.
func gateRun(t *testing.T, id string, cpu float64, sides ...string) string {
	t.Helper()
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: id, Scenario: "gate", Seed: 1}, Scenario: map[string]any{"kind": "Scenario"},
		Environment: result.Environment{GoVersion: "go1.26.0", Provider: "replay", CPUModel: "X", CPUs: 2}}
	reps := 6
	if sides == nil {
		sides = []string{""}
	} else {
		reps, sides = 12, slices.Clone(sides)
	}
	for rep := 1; rep <= reps; rep++ {
		if rep%2 == 0 { // A B B A
			slices.Reverse(sides)
		}
		for _, side := range sides {
			factor := 1 + 0.002*float64(rep%3) // a little noise
			params := map[string]string{}
			if side != "" {
				params["watcher"] = side
			}
			if side != "base" {
				factor *= cpu
			}
			checks := map[string]result.Check{}
			for _, g := range []string{"G1", "G2", "G3", "G4", "G5", "G6"} {
				checks[g] = result.Check{Verdict: result.Pass, Judged: 100}
			}
			name := strings.TrimPrefix(side+"-r"+string(rune('a'+rep)), "-")
			res.Run.Order = append(res.Run.Order, name)
			res.Cells = append(res.Cells, result.Cell{
				ID: name, Params: params, Repetition: rep, Valid: true, Checks: checks,
				Load: result.Load{Model: "closed", DurationS: 1, Planned: 100, Done: 100}, Handler: result.Handler{Strategy: "keyed", DrainSeconds: new(2 * factor / cpu)},
				Storage:   result.Storage{Requests: 100, RequestsPerEvent: new(1.0), BytesPerEvent: new(3000.0)},
				Freshness: &result.Quantiles{Count: 100, P50: 0.01 * factor / cpu, P90: 1, P99: 1, Max: 1},
				Watcher:   result.Watcher{CPUMicrosPerEvent: new(100 * factor), AllocsPerEvent: new(50 * factor / cpu)},
			})
		}
	}
	dir := filepath.Join(t.TempDir(), id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := result.Save(filepath.Join(dir, result.FileName), res); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGateExitCodes(t *testing.T) {
	base, same, slow := gateRun(t, "base", 1), gateRun(t, "same", 1), gateRun(t, "slow", 1.1)
	both, worse := gateRun(t, "both", 1, "base", "new"), gateRun(t, "worse", 1.2, "base", "new")
	empty := file(t, "results.json", "")
	other := file(t, "results.json", `{"schema": "watchbench/results/v9"}`)
	edge := gateRun(t, "edge", 1.02)
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string // printed, or the error
	}{
		{"the same", []string{base, same}, exitOK, "PASS: NEW is not worse than BASE"},
		{"10 % more CPU", []string{base, slow}, exitRegression, "FAIL: NEW is worse than BASE: watcher.cpuMicrosPerEvent +10.0 %"},
		{"both sides", []string{both}, exitOK, "PASS"},
		{"both sides, worse", []string{worse}, exitRegression, "FAIL"},
		{"near", []string{base, edge}, exitOK, "WARN"},
		{"near, strictly", []string{base, edge, "--strict"}, exitRegression, "WARN"},
		{"with a control", []string{base, same, "--control", gateRun(t, "again", 1)}, exitOK, "a second run of BASE"},
		{"a control that differs", []string{base, same, "--control", slow}, exitInvalid, "INVALID"},
		{"empty file", []string{base, empty}, exitInvalid, "INVALID: Not judged: " + empty + ": the file is empty"},
		{"other schema", []string{other, same}, exitInvalid, `schema is "watchbench/results/v9"`},
		{"one run without sides", []string{base}, exitInvalid, "is of neither side"},
		{"more blocks wanted", []string{both, "--rules", file(t, "r.yaml", "blocks: 10\n")}, exitInvalid, "INCONCLUSIVE"},
		{"other rules", []string{base, slow, "--rules", file(t, "r.yaml", "metrics: {watcher.cpuMicrosPerEvent: {allow: 12%}}\n")}, exitOK, "PASS"},
		{"no run", nil, exitInput, "needs two runs, or one that holds both sides"},
		{"a run that is not there", []string{base, base + "x"}, exitInput, "no such file or folder"},
		{"an empty folder", []string{base, t.TempDir()}, exitInput, "the folder has no results.json; name a run's folder"},
		{"a folder of runs", []string{base, filepath.Dir(filepath.Dir(base))}, exitInput, "no results.json"},
		{"rules that are not there", []string{base, same, "--rules", "nosuch.yaml"}, exitInput, "--rules: open nosuch.yaml: no such file"},
		{"wrong rules", []string{base, same, "--rules", file(t, "r.yaml", "metrics: {watcher.cpu: {}}\n")}, exitInput, "r.yaml:1: metrics.watcher.cpu: watcher.cpu: unknown metric"},
		{"unknown format", []string{base, same, "--format", "pdf"}, exitInput, "--format pdf is not known; use one of table, md, json, junit, github"},
		{"a control of one run", []string{both, "--control", base}, exitInput, "--control is for two saved runs"},
		{"annotations", []string{base, slow, "--format", "github"}, exitRegression, "::error title=watchbench gate%3A FAIL::"},
	} {
		out := filepath.Join(t.TempDir(), "gate")
		stdout, _, code, err := invoke(t, append([]string{"gate", "--out", out}, tt.args...)...)
		text := stdout
		if err != nil {
			text += err.Error()
		}
		if code != tt.code || !strings.Contains(text, tt.says) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s", tt.name, code, tt.code, tt.says, text)
		}
		var want []string
		if tt.code != exitInput {
			want = []string{"base.txt", "gate.annotations", "gate.json", "gate.md", "gate.txt", "gate.xml", "new.txt"}
			if strings.Contains(tt.says, "schema") || strings.Contains(tt.says, "empty") {
				want = want[1:6]
			}
		}
		var got []string
		entries, _ := os.ReadDir(out)
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: left %v, want %v", tt.name, got, want)
		}
	}
}

func TestGateRules(t *testing.T) {
	stdout, _, code, _ := invoke(t, "gate", "rules")
	if code != exitOK || !strings.Contains(stdout, "storage.requestsPerEvent: {kind: exact") {
		t.Errorf("%d: %s", code, stdout)
	}
	again := file(t, "rules.yaml", stdout)
	base := gateRun(t, "base", 1)
	if _, _, code, err := invoke(t, "gate", base, gateRun(t, "new", 1), "--rules", again); code != exitOK {
		t.Errorf("the printed rules are refused: %v", err)
	}
}
