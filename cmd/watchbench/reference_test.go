package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/reference"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/faults"
)

// TestReferencePlan: --quick keeps rows of both setups for both watchers, and bounds drains.
func TestReferencePlan(t *testing.T) {
	for _, tc := range []struct {
		args  []string
		cells int
	}{{nil, 26}, {[]string{"--quick"}, 8}, {[]string{"--quick", "--set", "matrix.load=before-20"}, 2}} {
		out, _, code, err := invoke(t, append([]string{"reference", "--dry-run"}, tc.args...)...)
		if lines := strings.Count(out, "repetition 1"); err != nil || code != exitOK || lines != tc.cells {
			t.Errorf("%v: %d cells, want %d (%v)\n%s", tc.args, lines, tc.cells, err, out)
		}
	}
}

// TestReferenceCommand: another watcher takes the points that imitate it, and leaves ours.
func TestReferenceCommand(t *testing.T) {
	name, src, err := scenarios.Read(reference.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	file, err := faults.Format.Parse(name, src, append(slices.Clone(imitated), "watcher.command=x {config}")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cells() {
		if w := c.Scenario.Watcher; (w.Profile == "legacy") != (w.Command != "") {
			t.Errorf("%s: profile %s runs %q", c.ID, w.Profile, w.Command)
		}
	}
}

// TestShapeVerdict: a statement that does not hold is a failure, a factor that is not known is
// no pass, and what else was not measured is said in the report alone.
func TestShapeVerdict(t *testing.T) {
	rules := func(rules ...reference.Rule) *reference.Comparison { return &reference.Comparison{Rules: rules} }
	factor := reference.Rule{Watcher: reference.Ours, Name: "factor", Needed: true, Verdict: reference.Holds}
	unknown := factor
	unknown.Verdict = reference.NotMeasured
	flat := reference.Rule{Watcher: reference.Legacy, Name: "flat", Verdict: reference.Fails}
	full := reference.Rule{Watcher: reference.Ours, Name: "full", Verdict: reference.NotMeasured}
	for _, tc := range []struct {
		name string
		c    *reference.Comparison
		code int
		want string
	}{
		{"all hold", rules(factor, full), exitOK, ""},
		{"one fails", rules(factor, flat), exitCheck, "1 statement about the shape failed: legacy: flat"},
		{"no factor", rules(unknown, full), exitInvalid, "not measured: k8s-watch: factor"},
		{"no factor, one fails", rules(unknown, flat), exitCheck, "legacy: flat"},
		{"nothing", nil, exitInvalid, "no row"},
	} {
		err := shape(tc.c)
		if got := exitCode(t.Context(), err); got != tc.code || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: exit code %d, %v; want %d, %q", tc.name, got, err, tc.code, tc.want)
		}
	}
}
