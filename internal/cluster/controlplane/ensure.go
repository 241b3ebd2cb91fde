package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// EnvCache names the environment variable that moves the cache.
const EnvCache = "WATCHBENCH_CACHE"

// Options says where binaries are cached and who hears about progress.
type Options struct {
	// Cache is the directory that holds everything watchbench caches. Empty: the
	// value of WATCHBENCH_CACHE, else "watchbench" in the user's cache directory.
	Cache string
	// Progress receives one line at a time, without a newline. May be nil.
	Progress func(line string)
}

func (o Options) say(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// Root returns the directory that holds everything watchbench caches.
func (o Options) Root() (string, error) {
	cache := o.Cache
	if cache == "" {
		cache = os.Getenv(EnvCache)
	}
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory (%s names one): %w", EnvCache, err)
		}
		cache = filepath.Join(user, "watchbench")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("make the cache directory absolute: %w", err)
	}
	return cache, nil
}

// Dir returns the directory of the binaries: <root>/controlplane/<version>-<goos>-<goarch>.
func (o Options) Dir() (string, error) {
	root, err := o.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "controlplane", KubernetesVersion()+"-"+runtime.GOOS+"-"+runtime.GOARCH), nil
}

// Ensure returns a directory that has the named binaries, building those that
// are missing or were built from another pin. It is safe to call from several
// processes at once. Cancelling ctx ends a build and leaves what was complete.
func Ensure(ctx context.Context, opts Options, names ...string) (dir string, err error) {
	wanted := make([]tool, 0, len(names))
	for _, name := range names {
		t, err := find(name)
		if err != nil {
			return "", err
		}
		wanted = append(wanted, t)
	}
	dir, err = opts.Dir()
	if err != nil {
		return "", err
	}
	if len(missing(dir, wanted)) == 0 {
		return dir, nil // the usual case needs no lock: binaries appear by rename
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create the control plane cache (%s moves it): %w", EnvCache, err)
	}
	unlock, err := lifecycle.LockFile(ctx, filepath.Join(dir, ".lock"), func() {
		opts.say("waiting for another process that is building the control plane in %s", dir)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := sweep(dir); err != nil {
		return "", err
	}
	for _, t := range missing(dir, wanted) {
		if err := build(ctx, opts, t, dir); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// missing returns the tools without an up-to-date binary in dir.
func missing(dir string, wanted []tool) []tool {
	var out []tool
	for _, t := range wanted {
		stamp, err := os.ReadFile(stampPath(dir, t))
		if err != nil || string(stamp) != t.stamp() || !Executable(filepath.Join(dir, t.name)) {
			out = append(out, t)
		}
	}
	return out
}

func stampPath(dir string, t tool) string { return filepath.Join(dir, "."+t.name+".stamp") }

// Executable reports whether path is a file that can be run.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// workPrefix marks the directories that builds work in.
const workPrefix = ".build-"

// sweep removes what builds that were cut off have left. The lock must be held.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the control plane cache: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), workPrefix) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
