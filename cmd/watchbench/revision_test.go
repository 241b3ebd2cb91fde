package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
)

// gitRepo is a repository of one program, with a commit and a tag.
func gitRepo(t *testing.T) (dir string) {
	t.Helper()
	for _, tool := range []string{"git", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir = t.TempDir()
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com",
		"GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.com", "GOWORK": "off", "GOFLAGS": ""} {
		t.Setenv(name, value)
	}
	put(t, dir, "go.mod", "module example.com/told\n\ngo 1.21\n")
	put(t, dir, "cmd/tell/main.go", "package main\n\nvar version = \"none\"\n\nfunc main() { println(version) }\n")
	must(t, dir, "git", "init", "-q", "-b", "main")
	commitAll(t, dir, "one")
	must(t, dir, "git", "tag", "v1")
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := execute(t.Context(), dir, nil, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func commitAll(t *testing.T, dir, message string) {
	t.Helper()
	must(t, dir, "git", "add", "-A")
	must(t, dir, "git", "commit", "-q", "-m", message)
}

func told(t *testing.T, p program) string {
	t.Helper()
	out, err := exec.Command(p.path).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v", p.path, err)
	}
	return strings.TrimSpace(string(out))
}

// TestBuild: a revision is built as it was, whatever the working tree holds; the same code
// under another version has the same Code; a dirty tree is built as it stands.
func TestBuild(t *testing.T) {
	dir := gitRepo(t)
	b := builder{repo: filepath.Join(dir, "cmd"), main: "./cmd/tell", stamp: "main.version", cache: t.TempDir()}
	build := func(rev string) program {
		t.Helper()
		p, err := b.build(t.Context(), rev)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	one := build("v1")
	if one.version != "v1" || told(t, one) != "v1" {
		t.Errorf("%+v says %s", one, told(t, one))
	}
	info, err := buildinfo.ReadFile(one.path)
	if err != nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"}) {
		t.Errorf("%+v, %v: want it static, as make build has it", info, err)
	}
	if again := build("main"); again != one {
		t.Errorf("the same commit by another name is %+v, not %+v", again, one)
	}
	if clean := build(worktree); clean != one {
		t.Errorf("a clean tree is %+v, not %+v", clean, one)
	}

	put(t, dir, "README.md", "words")
	commitAll(t, dir, "words")
	words := build("HEAD")
	if words.code != one.code || words.path == one.path || told(t, words) == "v1" {
		t.Errorf("words alone: %+v beside %+v", words, one)
	}

	main := "package main\n\nvar version = \"none\"\n\nfunc main() { println(version, \"two\") }\n"
	put(t, dir, "cmd/tell/main.go", main)
	dirty := build(worktree)
	if !strings.HasSuffix(dirty.version, "-dirty") || !strings.HasSuffix(told(t, dirty), "-dirty two") || dirty.code == one.code {
		t.Errorf("a dirty tree: %+v says %s", dirty, told(t, dirty))
	}
	if v1 := build("v1"); v1 != one {
		t.Errorf("a dirty tree changed what v1 is: %+v", v1)
	}
	if status := must(t, dir, "git", "status", "--porcelain"); status != "M cmd/tell/main.go" {
		t.Errorf("the tree was touched: %q", status)
	}
	if list := must(t, dir, "git", "worktree", "list"); strings.Count(list, "\n") != 0 {
		t.Errorf("worktrees are left: %s", list)
	}
	if left, _ := filepath.Glob(filepath.Join(b.cache, "building-*")); len(left) > 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

// TestBuildRefuses: what cannot be built says why, and leaves nothing.
func TestBuildRefuses(t *testing.T) {
	dir := gitRepo(t)
	put(t, dir, "cmd/tell/main.go", "package main\n\nfunc main() { nothing() }\n")
	commitAll(t, dir, "broken")
	shallow := filepath.Join(t.TempDir(), "clone")
	must(t, dir, "git", "clone", "-q", "--depth", "1", "file://"+dir, shallow)
	for _, tc := range []struct {
		name, repo, rev, want string
		input                 bool
	}{
		{"unknown", dir, "v9", `the repository has no revision "v9"; name a commit, branch or tag, or worktree`, true},
		{"an option", dir, "--all", `the repository has no revision "--all"`, true},
		{"not in a shallow clone", shallow, "v1", `no revision "v1"; the clone is shallow: git fetch --unshallow --tags origin (in CI: fetch-depth: 0`, true},
		{"no repository", t.TempDir(), "v1", "revisions are built from a git repository", true},
		{"does not compile", dir, "main", "undefined: nothing", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(tc.repo))
			b := builder{repo: tc.repo, main: "./cmd/tell", cache: t.TempDir()}
			_, err := b.build(t.Context(), tc.rev)
			if err == nil || !strings.Contains(err.Error(), tc.want) || badinput.Is(err) != tc.input {
				t.Errorf("%v (bad input: %t)", err, badinput.Is(err))
			}
			var broken *buildError
			if is := errors.As(err, &broken); is != (tc.name == "does not compile") || is && broken.first() != broken.version+": cmd/tell/main.go:3:15: undefined: nothing" {
				t.Errorf("%+v", broken)
			}
			if left, _ := os.ReadDir(b.cache); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		if _, err := (builder{repo: dir, main: "./cmd/tell", cache: t.TempDir()}).build(ctx, "main"); !errors.Is(err, why) {
			t.Error(err)
		}
	})
}

// TestBuildInterrupted: an interruption ends the go command and its compilers, and leaves no temporary folder.
func TestBuildInterrupted(t *testing.T) {
	dir := gitRepo(t)
	started, temporary := filepath.Join(t.TempDir(), "started"), t.TempDir()
	put(t, temporary, "compiler", "#!/bin/sh\ncase \"$*\" in *-V=full*) exec \"$@\";; esac\ntouch "+started+"\nsleep 60\n")
	compiler := filepath.Join(temporary, "compiler")
	if err := os.Chmod(compiler, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-toolexec="+compiler)
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(started); err == nil || t.Context().Err() != nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	b := builder{repo: dir, main: "./cmd/tell", cache: t.TempDir()}
	if _, err := b.build(ctx, "main"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, left := range []string{filepath.Join(temporary, "go-build*"), filepath.Join(b.cache, "*")} {
		if all, err := filepath.Glob(left); len(all) > 0 || err != nil {
			t.Errorf("left: %v, %v", all, err)
		}
	}
}
