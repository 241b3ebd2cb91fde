package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bashCompletes asks bash what it offers behind a line. The package bash-completion splits the
// line where it is installed; here a stand-in does.
const bashCompletes = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
compopt() { :; }
_filedir() { COMPREPLY=(a-file-or-folder); }
source <(watchbench completion bash)
COMP_LINE="$1"; COMP_POINT=${#1}; COMP_TYPE=9; COMP_WORDS=($1)
if [[ $1 == *' ' ]]; then COMP_WORDS+=(""); fi
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_watchbench
printf '%s\n' "${COMPREPLY[@]}"
`

// TestBashCompletes: bash itself offers scenarios, values of flags and the runs that are there.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	bin := watchbench(t)
	dir := t.TempDir()
	for i, name := range []string{"older", "newer"} {
		run := filepath.Join(dir, "out", "smoke-"+name)
		if err := os.MkdirAll(run, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(run, "results.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000*i), 0)
		if err := os.Chtimes(run, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "out", "not-a-run"), 0o755); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"watchbench run smo":              "smoke",
		"watchbench run --cluster kub":    "kubeconfig",
		"watchbench report ":              "out/smoke-newer out/smoke-older",
		"watchbench gate out/smoke-o":     "out/smoke-older",
		"watchbench run --resume out/smo": "out/smoke-newer out/smoke-older",
		"watchbench report nothere/":      "a-file-or-folder",
	} {
		cmd := exec.Command(bash, "--norc", "-c", bashCompletes, "bash", line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != want {
			t.Errorf("%s: bash offers %q, %v, want %q", line, got, err, want)
		}
	}
}

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
