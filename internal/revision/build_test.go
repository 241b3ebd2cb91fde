package revision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
)

// repo is a repository of one program, with a commit and a tag.
func repo(t *testing.T) (dir string) {
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
	write(t, dir, "go.mod", "module example.com/told\n\ngo 1.21\n")
	write(t, dir, "cmd/tell/main.go", "package main\n\nvar version = \"none\"\n\nfunc main() { println(version) }\n")
	must(t, dir, "git", "init", "-q", "-b", "main")
	commit(t, dir, "one")
	must(t, dir, "git", "tag", "v1")
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := run(t.Context(), dir, nil, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func commit(t *testing.T, dir, message string) {
	t.Helper()
	must(t, dir, "git", "add", "-A")
	must(t, dir, "git", "commit", "-q", "-m", message)
}

func says(t *testing.T, p Program) string {
	t.Helper()
	out, err := exec.Command(p.Path).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v", p.Path, err)
	}
	return strings.TrimSpace(string(out))
}

// TestBuild: a revision is built as it was, whatever the working tree holds; the same code
// under another version has the same Code; a dirty tree is built as it stands.
func TestBuild(t *testing.T) {
	dir := repo(t)
	built := 0
	b := Builder{Repo: filepath.Join(dir, "cmd"), Package: "./cmd/tell", Stamp: "main.version", Cache: t.TempDir(), Line: func(string) { built++ }}
	build := func(rev string, wantBuilt int) Program {
		t.Helper()
		built = 0
		p, err := b.Build(t.Context(), rev)
		if err != nil {
			t.Fatal(err)
		}
		if built != wantBuilt {
			t.Errorf("%s: built %d times, want %d", rev, built, wantBuilt)
		}
		return p
	}
	one := build("v1", 1)
	if one.Version != "v1" || says(t, one) != "v1" || len(one.Commit) < 40 {
		t.Errorf("%+v says %s", one, says(t, one))
	}
	if again := build("main", 0); again != one {
		t.Errorf("the same commit by another name is %+v, not %+v", again, one)
	}
	if clean := build(Worktree, 0); clean != one {
		t.Errorf("a clean tree is %+v, not %+v", clean, one)
	}

	write(t, dir, "README.md", "words")
	commit(t, dir, "words")
	words := build("HEAD", 1)
	if words.Code != one.Code || words.Path == one.Path || says(t, words) == "v1" {
		t.Errorf("words alone: %+v beside %+v", words, one)
	}

	main := "package main\n\nvar version = \"none\"\n\nfunc main() { println(version, \"two\") }\n"
	write(t, dir, "cmd/tell/main.go", main)
	dirty := build(Worktree, 1)
	if !strings.HasSuffix(dirty.Version, "-dirty") || !strings.HasSuffix(says(t, dirty), "-dirty two") || dirty.Code == one.Code {
		t.Errorf("a dirty tree: %+v says %s", dirty, says(t, dirty))
	}
	if v1 := build("v1", 0); v1 != one {
		t.Errorf("a dirty tree changed what v1 is: %+v", v1)
	}
	if status := must(t, dir, "git", "status", "--porcelain"); status != "M cmd/tell/main.go" {
		t.Errorf("the tree was touched: %q", status)
	}
	if list := must(t, dir, "git", "worktree", "list"); strings.Count(list, "\n") != 0 {
		t.Errorf("worktrees are left: %s", list)
	}
	if left, _ := filepath.Glob(filepath.Join(b.Cache, "building-*")); len(left) > 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

// TestGoSettings: a program that was built with other settings is another entry of the cache.
func TestGoSettings(t *testing.T) {
	dir := t.TempDir()
	plain, err := goSettings(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GOAMD64": "v3", "GOARM64": "v8.1", "GOEXPERIMENT": "nogreenteagc", "GOFLAGS": "-race", "GOFIPS140": "latest", "GOTOOLCHAIN": "path",
		"CGO_ENABLED": "0", "CC": "other-cc", "CXX": "other-c++", "CGO_CFLAGS": "-O3", "CGO_LDFLAGS": "-O3", "GOOS": "plan9", "GOARCH": "386",
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv(name) == value {
				t.Skip("that is what it is")
			}
			t.Setenv(name, value)
			if other, err := goSettings(t.Context(), dir); err != nil || other == plain {
				t.Errorf("with %s=%s they are the same: %s, %v", name, value, other, err)
			}
		})
	}
}

// TestBuildRefuses: what cannot be built says why, and leaves nothing.
func TestBuildRefuses(t *testing.T) {
	dir := repo(t)
	write(t, dir, "cmd/tell/main.go", "package main\n\nfunc main() { nothing() }\n")
	commit(t, dir, "broken")
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
			b := Builder{Repo: tc.repo, Package: "./cmd/tell", Cache: t.TempDir()}
			_, err := b.Build(t.Context(), tc.rev)
			if err == nil || !strings.Contains(err.Error(), tc.want) || badinput.Is(err) != tc.input {
				t.Errorf("%v (bad input: %t)", err, badinput.Is(err))
			}
			var broken *BuildError
			if is := errors.As(err, &broken); is != (tc.name == "does not compile") || is && broken.First() != "cmd/tell/main.go:3:15: undefined: nothing" {
				t.Errorf("%+v", broken)
			}
			if left, _ := os.ReadDir(b.Cache); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		if _, err := (Builder{Repo: dir, Package: "./cmd/tell", Cache: t.TempDir()}).Build(ctx, "main"); !errors.Is(err, why) {
			t.Error(err)
		}
	})
}

// TestPrune: the cache does not grow without bound, and never loses what was just built.
func TestPrune(t *testing.T) {
	b := Builder{Cache: t.TempDir()}
	for i := range Kept + 5 {
		write(t, b.Cache, fmt.Sprintf("e%02d/%s", i, codeFile), "x")
	}
	if err := b.prune(filepath.Join(b.Cache, "e00")); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(b.Cache, "*", codeFile))
	if len(left) < Kept || len(left) > Kept+1 {
		t.Errorf("%d are left of %d, want %d", len(left), Kept+5, Kept)
	}
	if _, err := os.Stat(filepath.Join(b.Cache, "e00", codeFile)); err != nil {
		t.Error("what was just built is gone")
	}
}
