package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeNamesTheExitCode: make turns every failure into 2, so make bench says what the program meant.
func TestMakeNamesTheExitCode(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	help, _, _, err := invoke(t, "help", "exit-codes")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	program := "#!/bin/sh\nif [ $1 = help ]; then cat <<'EOF'\n" + help + "EOF\nelse exit 3\nfi\n"
	if err := os.WriteFile(filepath.Join(bin, "watchbench"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := os.Mkdir(filepath.Join(out, "matrix-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"bench", "robustness", "reference"} {
		cmd := exec.Command("make", "-s", "-C", "../..", "-o", "build", "-o", "controlplane", "BIN="+bin, "OUT="+out, "GO=true", target) // starts no Go test
		said, err := cmd.CombinedOutput()
		if want := "exit code 3 of watchbench: a correctness check or a threshold failed, or an objective was not met (make exits with 2)"; err == nil || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v, %s, want %q", target, err, said, want)
		}
	}
}
