package revision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
)

// Worktree is the revision of what is checked out, with all changes that are not committed.
const Worktree = "worktree"

// Kept is how many built programs stay in the cache.
const Kept = 20

// Builder builds one program of a repository.
type Builder struct {
	Repo    string // folder in the repository
	Package string // such as ./cmd/k8s-watch, from the repository's root
	Stamp   string // variable that the linker sets to the version
	Cache   string // folder of what was built
	// Line is told what is being built, may be nil.
	Line func(string)
}

// Program is a built program.
type Program struct {
	Path    string
	Commit  string // full hash; of Worktree, the one that is checked out
	Version string // as git describe says, with -dirty for changes that are not committed
	Code    string // see promise 3
}

// Build returns the program at a revision: any that git knows, or Worktree.
func (b Builder) Build(ctx context.Context, rev string) (p Program, err error) {
	root, err := b.root(ctx)
	if err != nil {
		return p, err
	}
	dirty := false
	if rev == Worktree {
		status, err := git(ctx, root, nil, "status", "--porcelain")
		if err != nil {
			return p, fmt.Errorf("look for changes that are not committed: %w", err)
		}
		rev, dirty = "HEAD", status != ""
	}
	if p.Commit, err = b.commit(ctx, root, rev); err != nil {
		return p, err
	}
	if p.Version, err = git(ctx, root, nil, "describe", "--always", "--tags", p.Commit); err != nil {
		return p, fmt.Errorf("describe %s: %w", rev, err)
	}
	if dirty {
		p.Version += "-dirty"
	}
	env, err := goSettings(ctx, root)
	if err != nil {
		return p, err
	}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return p, fmt.Errorf("make the cache of built revisions: %w", err)
	}
	of := sha256.Sum256([]byte(strings.Join([]string{p.Commit, b.Package, b.Stamp, env}, "\n")))
	entry := filepath.Join(b.Cache, p.Commit[:12]+"-"+hex.EncodeToString(of[:6]))
	if code, err := os.ReadFile(filepath.Join(entry, codeFile)); err == nil && !dirty {
		p.Path, p.Code = b.program(entry), string(code)
		now := time.Now()
		_ = os.Chtimes(filepath.Join(entry, codeFile), now, now) // its age is that of its last use
		return p, nil
	}
	work, err := os.MkdirTemp(b.Cache, "building-")
	if err != nil {
		return p, fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	source := root
	if !dirty {
		source = filepath.Join(work, "source")
		if err := extract(ctx, root, p.Commit, source); err != nil {
			return p, err
		}
	}
	if b.Line != nil {
		b.Line("building " + b.Package + " of " + p.Version)
	}
	built := filepath.Join(work, "built")
	if p.Code, err = b.build(ctx, source, built, p.Version); err != nil {
		return p, err
	}
	if dirty {
		entry += "-dirty-" + p.Code[:12]
	}
	if err := keep(built, entry); err != nil {
		return p, err
	}
	p.Path = b.program(entry)
	return p, b.prune(entry)
}

// settings are what decides, beside the source, what the Go toolchain builds.
var settings = []string{
	"GOVERSION", "GOTOOLCHAIN", "GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT", "GOFIPS140", "GOWORK",
	"GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM",
	"CGO_ENABLED", "CC", "CXX", "AR", "PKG_CONFIG", "CGO_CPPFLAGS", "CGO_CFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS",
}

// goSettings are their values, as JSON.
func goSettings(ctx context.Context, root string) (string, error) {
	return run(ctx, root, nil, "go", append([]string{"env", "-json"}, settings...)...)
}

const codeFile = "code"

func (b Builder) program(dir string) string { return filepath.Join(dir, filepath.Base(b.Package)) }

func (b Builder) root(ctx context.Context) (string, error) {
	root, err := git(ctx, b.Repo, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", &badinput.Error{What: "revisions are built from a git repository", Err: err,
			Remedy: "run this in a clone, or give commands instead of revisions"}
	}
	return root, nil
}

func (b Builder) commit(ctx context.Context, root, rev string) (string, error) {
	hash, err := git(ctx, root, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err == nil {
		return hash, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	remedy := "name a commit, branch or tag, or " + Worktree
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

// build links the program twice: with its version, and without, which tells its code.
func (b Builder) build(ctx context.Context, source, into, version string) (code string, err error) {
	bare := filepath.Join(into, "bare")
	compile := func(out string, flags ...string) error {
		args := append([]string{"build", "-trimpath", "-buildvcs=false", "-o", out}, flags...)
		_, err := run(ctx, source, nil, "go", append(args, b.Package)...)
		if failed := (*commandError)(nil); errors.As(err, &failed) {
			return &BuildError{b.Package, version, err}
		}
		return err
	}
	if err := compile(bare); err != nil {
		return "", err
	}
	if err := compile(b.program(into), "-ldflags=-X "+b.Stamp+"="+version); err != nil {
		return "", err
	}
	if code, err = digest(bare); err != nil {
		return "", err
	}
	return code, errors.Join(os.Remove(bare), os.WriteFile(filepath.Join(into, codeFile), []byte(code), 0o644))
}

// keep makes a built folder an entry of the cache; another process may have been faster.
func keep(built, entry string) error {
	err := os.Rename(built, entry)
	if _, there := os.Stat(filepath.Join(entry, codeFile)); err != nil && there != nil {
		return fmt.Errorf("keep what was built: %w", err)
	}
	return nil
}

// prune removes the entries of the cache that were used longest ago, but for the newest Kept.
func (b Builder) prune(entry string) error {
	all, err := filepath.Glob(filepath.Join(b.Cache, "*", codeFile))
	if err != nil || len(all) <= Kept {
		return err
	}
	age := map[string]int64{}
	for _, path := range all {
		if info, err := os.Stat(path); err == nil {
			age[path] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(all, func(x, y string) int { return int(min(1, max(-1, age[x]-age[y]))) })
	for _, path := range all[:len(all)-Kept] {
		if dir := filepath.Dir(path); dir != entry {
			if err := os.RemoveAll(dir); err != nil {
				return fmt.Errorf("remove an old build: %w", err)
			}
		}
	}
	return nil
}

// DefaultCache is where built revisions are kept.
func DefaultCache() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache: %w", err)
	}
	return filepath.Join(user, "watchbench", "revisions", runtime.GOOS+"-"+runtime.GOARCH), nil
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
