package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var gated = flag.Bool("gate", false, "run watchbench gate on two watchers and two revisions (six minutes; needs make build)")

// TestWithCommands: the commands stand in both points, quotes and all, and the rest of the scenario is as it was.
func TestWithCommands(t *testing.T) {
	base, changed := `"/a b/w" -f {config} --x='1: #2'`, `/n/w -f {config}`
	g := sideBySide{scenario: gateScenario}
	plain, err := g.file("", "")
	if err != nil {
		t.Fatal(err)
	}
	file, err := g.file(base, changed)
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]string{}
	for _, c := range file.Cells() {
		cells[c.ID] = c.Scenario.Watcher.Command
	}
	if len(cells) != 2 || cells["base"] != base || cells["new"] != changed {
		t.Errorf("%q", cells)
	}
	a, b := plain.Cells()[0].Scenario, file.Cells()[0].Scenario
	if a.Load.Rate != b.Load.Rate || a.Storage.Latency != b.Storage.Latency || plain.Base().Pair != file.Base().Pair || b.Watcher.Name != "base" {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// TestGateRuns runs the real thing: the same watcher twice is no regression, one revision
// against the same code is nothing to gate, and a command that is no watcher is an error.
func TestGateRuns(t *testing.T) {
	bin, run := forGate(t)
	command := "'" + filepath.Join(bin, "k8s-watch") + "' -f {config}"
	runs := t.TempDir()
	out, code := run("gate", "--base-command", command, "--new-command", command, "--blocks", "6", "--runs", runs, "--quiet")
	if code == exitRegression || code != exitOK && code != exitInvalid {
		t.Errorf("the same watcher twice: exit code %d\n%s", code, out)
	}
	found, _ := filepath.Glob(filepath.Join(runs, "gate-*", "gate.md"))
	if len(found) != 1 {
		t.Errorf("reports: %v", found)
	}
	if out, code := run("gate", "--base-rev", "HEAD", "--new-rev", "HEAD", "--runs", runs, "--quiet"); code != exitOK || !strings.Contains(out, "nothing to gate") {
		t.Errorf("the same revision twice: exit code %d\n%s", code, out)
	}
	if out, code := run("gate", "--base-command", command, "--new-command", "/no/such/watcher", "--runs", runs, "--quiet"); code != exitInput {
		t.Errorf("no watcher: exit code %d\n%s", code, out)
	}
}

// TestGateStarved: a NEW that takes the machine makes its own cells invalid only. That is FAIL, not INVALID.
func TestGateStarved(t *testing.T) {
	bin, run := forGate(t)
	burn, err := filepath.Abs("testdata/burn.sh")
	if err != nil {
		t.Fatal(err)
	}
	watcher := "'" + filepath.Join(bin, "k8s-watch") + "' -f {config}"
	out, code := run("gate", "--base-command", watcher, "--new-command", "sh '"+burn+"' 40 "+watcher,
		"--blocks", "6", "--set", "load.rate=300", "--runs", t.TempDir(), "--quiet")
	if code == exitInvalid && strings.Contains(out, "cells of BASE are invalid") {
		t.Skip("the machine is too busy for BASE: " + out)
	}
	if code != exitRegression {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// forGate is the folder of the built programs, and runs watchbench in it.
func forGate(t *testing.T) (bin string, run func(args ...string) (string, int)) {
	t.Helper()
	if !*gated {
		t.Skip("-gate runs it; both take six minutes")
	}
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "watchbench")); err != nil {
		t.Skip("make build first: " + err.Error())
	}
	return bin, func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "watchbench"), args...)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
}
