package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestCommandLineIsRelative: another checkout has its program at the same place.
func TestCommandLineIsRelative(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	args := os.Args
	t.Cleanup(func() { os.Args = args })
	for program, want := range map[string]string{
		filepath.Join(dir, "bin", "watchbench"): "bin/watchbench",
		filepath.Join(dir, "watchbench"):        "./watchbench",
		"bin/watchbench":                        "bin/watchbench",
		"watchbench":                            "watchbench",
		"/elsewhere/watchbench":                 "/elsewhere/watchbench",
	} {
		os.Args = []string{program, "run", "smoke"}
		if got := commandLine(); got[0] != want || got[1] != "run" || os.Args[0] != program {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

// TestOneOrMany: a count and its noun agree.
func TestOneOrMany(t *testing.T) {
	bad := result.Cell{ID: "a", Valid: true, Checks: map[string]result.Check{"G2": {Verdict: result.Fail, Violations: 1}}}
	for want, cells := range map[string][]result.Cell{
		"1 check failed: a G2":        {bad},
		"2 checks failed: a G2, a G2": {bad, bad},
		"1 cell invalid: b":           {{ID: "b"}},
		"2 cells invalid: b, c":       {{ID: "b"}, {ID: "c"}},
	} {
		if err := judgement(&result.Results{Cells: cells}); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
