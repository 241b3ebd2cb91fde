package main

import (
	"os"
	"os/exec"
	"path/filepath"
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

// TestManPages: every command has a page with its flags, its example and where to look next.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if _, _, _, err := invoke(t, "man", dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"watchbench": "WATCHBENCH_CACHE", "watchbench-run": "watcher-command", "watchbench-cluster-up": "SEE ALSO",
	} {
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
