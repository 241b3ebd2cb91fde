package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
)

// worktree is the revision of what is checked out, with all changes that are not committed.
const worktree = "worktree"

// builder builds one program of a git repository as it was at a revision, beside what is checked out.
//
//  1. The working tree, its index and the repository's metadata are not touched: the files of a revision are written to
//     a folder of their own, by an index of their own, and removed. Submodules and files of git LFS are not fetched.
//  2. Two programs have the same code exactly if they were linked from the same machine code: it is the digest of a
//     build without the version stamp and without paths. A program stays in the cache for some days.
//  3. A revision that is not there is an error of bad input that says what to fetch where the clone is shallow.
//  4. A revision whose program does not build is a *buildError.
type builder struct {
	repo  string // folder in the repository
	main  string // such as ./cmd/k8s-watch, from the repository's root
	stamp string // variable that the linker sets to the version
	cache string // folder of what was built
	line  func(string)
}

type program struct{ path, version, code string }

const programAge = 7 * 24 * time.Hour

func (b builder) build(ctx context.Context, rev string) (p program, err error) {
	root, err := git(ctx, b.repo, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return p, &badinput.Error{What: "revisions are built from a git repository", Err: err,
			Remedy: "run this in a clone, or give commands instead of revisions"}
	}
	dirty := false
	if rev == worktree {
		status, err := git(ctx, root, nil, "status", "--porcelain")
		if err != nil {
			return p, fmt.Errorf("look for changes that are not committed: %w", err)
		}
		rev, dirty = "HEAD", status != ""
	}
	commit, err := commitOf(ctx, root, rev)
	if err != nil {
		return p, err
	}
	if p.version, err = git(ctx, root, nil, "describe", "--always", "--tags", commit); err != nil {
		return p, fmt.Errorf("describe %s: %w", rev, err)
	}
	if dirty {
		p.version += "-dirty"
	}
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return p, fmt.Errorf("make the cache of built revisions: %w", err)
	}
	work, err := os.MkdirTemp(b.cache, "building-")
	if err != nil {
		return p, fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work), b.prune()) }()
	source := root
	if !dirty {
		source = filepath.Join(work, "source")
		if err := extract(ctx, root, commit, source); err != nil {
			return p, err
		}
	}
	if b.line != nil {
		b.line("building " + b.main + " of " + p.version)
	}
	return b.link(ctx, source, work, p)
}

// link links the program twice, static as make build does: without its version, to identify its code, and with it.
func (b builder) link(ctx context.Context, source, work string, p program) (program, error) {
	out := filepath.Join(work, filepath.Base(b.main))
	for _, flags := range [][]string{nil, {"-ldflags=-X " + b.stamp + "=" + p.version}} {
		args := append([]string{"build", "-trimpath", "-buildvcs=false", "-o", out}, flags...)
		_, err := execute(ctx, source, []string{"GOTMPDIR=" + work, "CGO_ENABLED=0"}, "go", append(args, b.main)...)
		if failed := (*commandError)(nil); errors.As(err, &failed) {
			return p, &buildError{b.main, p.version, failed}
		}
		if err != nil {
			return p, err
		}
		if p.code == "" {
			bare, err := os.ReadFile(out)
			if err != nil {
				return p, fmt.Errorf("read what was built: %w", err)
			}
			sum := sha256.Sum256(bare)
			p.code = hex.EncodeToString(sum[:])
		}
	}
	dir := filepath.Join(b.cache, strings.ReplaceAll(p.version, "/", "-")+"-"+p.code[:12])
	p.path = filepath.Join(dir, filepath.Base(b.main))
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Rename(out, p.path)); err != nil {
		return p, fmt.Errorf("keep what was built: %w", err)
	}
	return p, nil
}

// prune removes old programs, and what an interrupted build left.
func (b builder) prune() error {
	all, err := os.ReadDir(b.cache)
	for _, entry := range all {
		if info, gone := entry.Info(); gone == nil && time.Since(info.ModTime()) > programAge {
			err = errors.Join(err, os.RemoveAll(filepath.Join(b.cache, entry.Name())))
		}
	}
	return err
}

func commitOf(ctx context.Context, root, rev string) (string, error) {
	hash, err := git(ctx, root, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err == nil {
		return hash, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	remedy := "name a commit, branch or tag, or " + worktree
	if shallow, err := git(ctx, root, nil, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		remedy = "the clone is shallow: git fetch --unshallow --tags origin (in CI: fetch-depth: 0, or GIT_DEPTH: 0)"
	}
	return "", badinput.New(remedy, "the repository has no revision %q", rev)
}

func extract(ctx context.Context, root, commit, to string) error {
	env := []string{"GIT_INDEX_FILE=" + to + ".index"}
	_, err := git(ctx, root, env, "read-tree", commit)
	if err == nil {
		_, err = git(ctx, root, env, "checkout-index", "--all", "--prefix="+to+string(filepath.Separator))
	}
	if err != nil {
		return fmt.Errorf("write the files of %.12s: %w", commit, err)
	}
	return nil
}

// buildError is a revision whose program does not build.
type buildError struct {
	main, version string
	err           *commandError
}

func (e *buildError) Error() string {
	return fmt.Sprintf("build %s of %s: %v", e.main, e.version, e.err)
}
func (e *buildError) Unwrap() error { return e.err }

// first is the version and the first error that the compiler printed, on one line; empty for nil.
func (e *buildError) first() string {
	if e == nil {
		return ""
	}
	for _, line := range e.err.said {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") { // a package's name
			return e.version + ": " + line
		}
	}
	return e.version + ": " + e.err.err.Error()
}

// commandError is a command that ended with an error.
type commandError struct {
	name string
	err  error
	said []string // the last lines of its standard error
}

func (e *commandError) Error() string {
	return fmt.Sprintf("%s: %v: %s", e.name, e.err, strings.Join(e.said, "\n"))
}

func (e *commandError) Unwrap() error { return e.err }

const (
	// lastLines of a failed command's output are shown.
	lastLines = 20
	// endGrace is how long a command may take to end after an interruption.
	endGrace = 5 * time.Second
)

// git runs git in a folder and returns its output without white space around it.
func git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	// Files are to be written as they are in the repository, whatever a user's hooks do.
	return execute(ctx, dir, env, "git",
		append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}, args...)...)
}

func execute(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), endGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // compilers end with the go command
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("%s is not installed: %w", name, err)
		}
		said := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return "", &commandError{name, err, said[max(0, len(said)-lastLines):]}
	}
	return strings.TrimSpace(out.String()), nil
}
