package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// --dry-run shows the order and the time, needs no programs and writes nothing.
func TestDryRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	out, _, code, err := invoke(t, "run", "smoke", "--dry-run", "--out", dir, "--set", "repeat=2")
	if code != exitOK {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if want := "smoke: 2 points × repeat 2: 4 cells to run, about "; len(lines) != 5 || !strings.HasPrefix(lines[0], strings.TrimSuffix(want, " ")) {
		t.Errorf("%q", lines)
	}
	for _, want := range []string{"keyed-r1", "partitioned-r1", "keyed-r2", "partitioned-r2", "repetition 2", "about 9s"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s was made", dir)
	}
}

// One bad file of several starts nothing.
func TestBadScenarioStartsNothing(t *testing.T) {
	good, dir := file(t, "tiny.yaml", tiny), filepath.Join(t.TempDir(), "out")
	bad := file(t, "bad.yaml", tiny+"drainTimeout: 45\nwatcher: {stratgy: keyed, podQueueNum: 0}\n")
	for _, args := range [][]string{{"scenarios", "validate", bad, good}, {"run", good, bad, "--out", dir}} {
		_, _, code, err := invoke(t, args...)
		if code != exitInput || err == nil {
			t.Fatalf("%v: %d, %v", args, code, err)
		}
		if want := "bad.yaml:5: drainTimeout: "; !strings.Contains(err.Error(), want) {
			t.Errorf("%v: lacks %q:\n%v", args, want, err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s was made", dir)
	}
}
