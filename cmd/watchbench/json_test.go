package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
)

// TestJSONIsClean: with --format json standard output is one document, whatever the exit code
// is and whatever is said beside it.
func TestJSONIsClean(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	assesstest.Run(t, dir, assesstest.Scenario(t, "plain", "", "matrix.watcher.strategy=keyed,dedup", "thresholds.freshness.p99=< 1ms"), 30, nil)
	if _, _, code, err := invoke(t, "check", dir); code != exitCheck { // writes results.json
		t.Fatalf("exit code %d: %v", code, err)
	}
	base, slow := gateRun(t, "base", 1), gateRun(t, "slow", 1.1)
	for _, tc := range []struct {
		args string
		code int
		want string // key=value
	}{
		{"report " + dir, exitOK, "schema=watchbench/results/v1"},
		{"gate " + base + " " + slow, exitRegression, "outcome=FAIL"},
		{"gate " + base + " " + file(t, "results.json", ""), exitInvalid, "outcome=INVALID"},
		{"cluster status --cache " + t.TempDir(), exitError, "provider=embedded"},
		{"simulate simulated --set drainTimeout=30s", exitOK, "schema=watchbench/simulation/v1"},
		{"compare " + base + " " + slow, exitOK, "schema=watchbench/comparison/v1"},
	} {
		stdout, _, code, err := invoke(t, append(strings.Fields(tc.args), "--format", "json")...)
		d := json.NewDecoder(strings.NewReader(stdout))
		var doc map[string]any
		if e := d.Decode(&doc); e != nil {
			t.Errorf("%s: %v in %.200q (%v)", tc.args, e, stdout, err)
			continue
		}
		if _, e := d.Token(); e != io.EOF {
			t.Errorf("%s: more than a document", tc.args)
		}
		key, want, _ := strings.Cut(tc.want, "=")
		if got, _ := doc[key].(string); !strings.HasPrefix(got, strings.TrimSuffix(want, "/v1")) || code != tc.code {
			t.Errorf("%s: %s is %q, want %s; exit code %d, want %d: %v", tc.args, key, got, want, code, tc.code, err)
		}
	}
	var nothing bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&nothing)
	if err := (&gateFlags{format: jsonFormat}).nothing(cmd, "both are one"); err != nil || !json.Valid(nothing.Bytes()) {
		t.Errorf("nothing to gate: %v, %q", err, nothing.String())
	}
	for _, args := range []string{"cluster status", "tune", "matrix"} {
		if _, _, code, err := invoke(t, append(strings.Fields(args), "--format", "prose")...); code != exitInput || !strings.Contains(err.Error(), "--format prose is not known; use table or json") {
			t.Errorf("%s: %v, exit code %d", args, err, code)
		}
	}
}
