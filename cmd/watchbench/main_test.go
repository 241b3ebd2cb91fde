package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/reports/result"
)

func TestMain(m *testing.M) {
	pipetest.ForBubbles()
	os.Exit(clustertest.Shared(m).Run())
}

// invoke runs a command line in this process.
func invoke(t *testing.T, args ...string) (stdout, stderr string, code int, err error) {
	t.Helper()
	cmd := command()
	var out, errOut bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String(), exitCode(t.Context(), err), err
}

const tiny = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: tiny}
load: {model: closed, threads: 2, operations: 10}
`

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig points at a server; its only context is "test".
func kubeconfig(t *testing.T, server string) string {
	return file(t, "kubeconfig", `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+server+`"}}]
users: [{name: u, user: {}}]
contexts: [{name: test, context: {cluster: c, user: u}}]
`)
}

// withBinaries puts empty programs beside the test binary: what is tested here fails before any of them is started.
func withBinaries(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"k8s-watch", "storagemock", "watchbench"} {
		path := filepath.Join(filepath.Dir(self), name)
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(path) })
	}
}

func TestExitCodes(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	pass := map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 1}, "G2": {Verdict: result.Allowed}}
	failed := map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 1}, "G2": {Verdict: result.Fail, Judged: 1, Violations: 1}}
	absent := map[string]result.Check{"G2": {Verdict: result.Fail, Judged: 1}} // a violation that was expected
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"ok", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Valid: true, Checks: pass}}}), exitOK},
		{"a failed check", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Valid: true, Checks: failed}}}), exitCheck},
		{"an invalid cell", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Checks: pass}}}), exitInvalid},
		{"both", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Checks: failed}}}), exitCheck},
		{"an expected violation that an invalid cell lacks", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a", Checks: absent}}}), exitInvalid},
		{"a threshold that does not hold", t.Context(), judgement(&result.Results{Thresholds: []result.Threshold{{Metric: "freshness.p99", Valid: 1}}}), exitCheck},
		{"a threshold that holds", t.Context(), judgement(&result.Results{Thresholds: []result.Threshold{{Valid: 1, Holds: true}}}), exitOK},
		{"a threshold without a valid cell", t.Context(), judgement(&result.Results{Cells: []result.Cell{{ID: "a"}}, Thresholds: []result.Threshold{{}}}), exitInvalid},
		{"the graver of two runs", t.Context(), worse(&verdict{code: exitInvalid}, &verdict{code: exitCheck}), exitCheck},
		{"a watcher that crashed", t.Context(), judgement(&result.Results{Run: result.Run{Order: []string{"a"}, Crashed: []result.Crash{{ID: "a", Why: "exit code 2"}}}}), exitError},
		{"a cell that is missing", t.Context(), judgement(&result.Results{Run: result.Run{Order: []string{"a"}}}), exitInvalid},
		{"one good run of two", t.Context(), worse(nil, &verdict{code: exitInvalid}), exitInvalid},
		{"a failure", t.Context(), errors.New("boom"), exitError},
		{"bad input", t.Context(), &badinput.Error{}, exitInput},
		{"interrupted", done, errors.New("boom"), exitInterrupted},
		{"finished in spite of the signal", done, nil, exitOK},
	} {
		if got := exitCode(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestScenarioCommands(t *testing.T) {
	out, _, code, err := invoke(t, "scenarios", "list")
	if code != exitOK || !strings.Contains(strings.Join(strings.Fields(out), " "), "strategies 6 The three published methods") {
		t.Errorf("list: %q, %v", out, err)
	}
	out, _, _, err = invoke(t, "scenarios", "show", "smoke")
	if err != nil || !strings.Contains(out, "name: smoke") {
		t.Errorf("show: %q, %v", out, err)
	}
	out, _, _, err = invoke(t, "scenarios", "validate", "smoke", "--set", "repeat=5")
	if err != nil || !strings.Contains(out, "valid, 2 points × repeat 5: 10 cells to run, about ") || !strings.Contains(out, "keyed") {
		t.Errorf("validate: %q, %v", out, err)
	}
	out, _, _, err = invoke(t, "scenarios", "schema")
	if err != nil || !json.Valid([]byte(out)) {
		t.Errorf("schema: %v", err)
	}
}

// TestMatrixChoice: a row means all its scenarios, a scenario only itself, whatever else its row has.
func TestMatrixChoice(t *testing.T) {
	for _, tc := range []struct{ profile, refs, want, asked string }{
		{"default", "faults/f27-expired", "faults/f27-expired", "F27"},
		{"default", "faults/f27-expired faults/f27-wrong-ca", "faults/f27-expired faults/f27-wrong-ca", "F27"},
		{"default", "F23 faults/f27-expired", "faults/f23-two faults/f27-expired", "F23 F27"},
		// Without names only what it is expected to break.
		{"legacy", "", "faults/f00-none faults/f02-refuse faults/f05-unknown-faithful faults/f07-poison-retried faults/f19-burst", "F0 F2 F5 F7 F19"},
	} {
		f := matrixFlags{runFlags: runFlags{sets: []string{"watcher.profile=" + tc.profile}}, profile: tc.profile}
		todo, asked, err := f.chosen(matrixCommand(), strings.Fields(tc.refs))
		var names []string
		for _, p := range todo {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != tc.want || strings.Join(asked, " ") != tc.asked {
			t.Errorf("%s: %s, rows %v, %v, want %s", tc.refs, got, asked, err, tc.want)
		}
	}
}

// TestMatrixVerdict: a violation is graver than a scenario that proves nothing.
func TestMatrixVerdict(t *testing.T) {
	fails := result.MatrixEntry{Scenario: "a", Columns: map[string]result.Column{"C": {Verdict: result.Fail}}}
	holds := result.MatrixEntry{Scenario: "b", Columns: map[string]result.Column{"C": {Verdict: result.Pass}}}
	for _, tc := range []struct {
		entries []result.MatrixEntry
		want    int
	}{
		{[]result.MatrixEntry{holds, {NotBuilt: "later"}, {NotRun: true}}, exitOK},
		{[]result.MatrixEntry{holds, {Invalid: []string{"never fired"}}}, exitInvalid},
		{[]result.MatrixEntry{{Invalid: []string{"never fired"}}, fails}, exitCheck},
		{[]result.MatrixEntry{holds, {Error: "the apiserver ended"}}, exitInvalid},
		{[]result.MatrixEntry{holds, {Error: "the watcher ended", Columns: map[string]result.Column{"X": {Verdict: result.Fail}}}}, exitCheck},
	} {
		if got := exitCode(t.Context(), matrixVerdict(&result.Matrix{Entries: tc.entries})); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.entries, got, tc.want)
		}
	}
	for tries, want := range map[int]int{result.MostRetries: exitOK, result.MostRetries + 1: exitInvalid} {
		m := &result.Matrix{Entries: []result.MatrixEntry{holds}, Retries: make([]result.Retry, tries)}
		if got := exitCode(t.Context(), matrixVerdict(m)); got != want {
			t.Errorf("%d second tries: %d, want %d", tries, got, want)
		}
	}
}
