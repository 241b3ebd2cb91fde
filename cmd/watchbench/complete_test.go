package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCompletionScripts holds the scripts to the syntax of their shells, where these are.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, _, _, err := invoke(t, "completion", shell)
		if err != nil || !strings.Contains(script, "__complete") {
			t.Errorf("%s: %v, %d bytes", shell, err, len(script))
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		if out, err := exec.Command(path, "-n", file(t, "script", script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}
