package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/reports/gate"
)

// clone is a repository whose k8s-watch builds at "good" and not at "bad", and is checked out in a folder of its own.
func clone(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	put("go.mod", "module example.com/m\n\ngo 1.26\n")
	for tag, body := range map[string]string{"good": "", "bad": "nothing()"} {
		put("cmd/k8s-watch/main.go", "package main\n\nfunc main() { "+body+" }\n")
		run("add", "-A")
		run("commit", "-q", "-m", tag)
		run("tag", tag)
	}
}

// TestGateUnbuilt: a change that does not build FAILs, and against a base that does not build
// nothing can be said. Neither is an error of the program.
func TestGateUnbuilt(t *testing.T) {
	clone(t)
	const found = "cmd/k8s-watch/main.go:3:15: undefined: nothing"
	for _, tc := range []struct {
		name, base, new string
		code            int
		says            string
	}{
		{"NEW", "good", "bad", exitRegression, "FAIL: NEW is worse than BASE: build: NEW does not build: bad: " + found},
		{"BASE", "bad", "good", exitInvalid, "INVALID: Not judged: BASE does not build: bad: " + found},
		{"neither", "bad", "bad", exitInvalid, "INVALID: Not judged: neither side builds: BASE bad: " + found},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := sideBySide{base: side{rev: tc.base}, new: side{rev: tc.new}}
			_, _, _, err := g.commands(t.Context(), func(string) {})
			var u *unbuilt
			if !errors.As(err, &u) || !strings.Contains(u.Error(), found) {
				t.Fatal(err)
			}
			f, out := gateFlags{format: tableFormat, out: t.TempDir()}, bytes.Buffer{}
			cmd := &cobra.Command{}
			cmd.SetOut(&out)
			err = f.conclude(cmd, gate.Unbuilt(gate.Defaults(), u.base.first(), u.new.first()), nil, nil)
			if code := exitCode(t.Context(), err); code != tc.code || !strings.HasPrefix(out.String(), tc.says) {
				t.Errorf("exit code %d, want %d with %s:\n%s", code, tc.code, tc.says, &out)
			}
			if text, err := os.ReadFile(filepath.Join(f.out, "gate.txt")); err != nil || string(text) != out.String() {
				t.Errorf("gate.txt: %v: %s", err, text)
			}
		})
	}
	g := sideBySide{base: side{rev: "good"}, new: side{rev: "nothere"}}
	if _, _, _, err := g.commands(t.Context(), func(string) {}); errors.As(err, new(*unbuilt)) || exitCode(t.Context(), err) != exitInput {
		t.Errorf("a revision that is not there: %v", err)
	}
	if got := (&buildError{version: "v1", err: &commandError{said: []string{"# a", " b"}}}).first(); got != "v1: b" {
		t.Error(got)
	}
}
