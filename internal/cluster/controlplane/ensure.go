package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// EnvCache names the environment variable that moves the cache.
const EnvCache = "WATCHBENCH_CACHE"

// Options says where binaries are cached and who hears about progress.
type Options struct {
	// Cache holds all that watchbench caches. Empty: WATCHBENCH_CACHE, else "watchbench" in the user's cache directory.
	Cache string
	// Progress receives one line at a time, without a newline. May be nil.
	Progress func(line string)

	transport http.RoundTripper // of tests
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

// Ensure returns a directory that has the named binaries. Those that are missing, or were built from another pin, are
// downloaded or else built; several processes may ask at once.
func Ensure(ctx context.Context, opts Options, names ...string) (dir string, err error) {
	wanted := make([]tool, 0, len(names))
	for _, name := range names {
		wanted = append(wanted, mustFind(name))
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
		opts.say("waiting for another process that is making the control plane in %s", dir)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := sweep(dir); err != nil {
		return "", err
	}
	return dir, obtain(ctx, opts, wanted, dir)
}

// obtain downloads or builds what is missing in dir. The lock must be held.
func obtain(ctx context.Context, opts Options, wanted []tool, dir string) error {
	lacking := missing(dir, wanted)
	if slices.ContainsFunc(lacking, func(t tool) bool { return slices.Contains(shipped(), t.name) }) {
		err := download(ctx, opts, dir)
		if ctx.Err() != nil {
			return fmt.Errorf("download the control plane: %w", context.Cause(ctx))
		}
		if err != nil {
			opts.say("no download: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		lacking = missing(dir, wanted)
	}
	if len(lacking) == 0 {
		return nil
	}
	return build(ctx, opts, lacking, dir)
}

// missing returns the tools without an up-to-date binary in dir.
func missing(dir string, wanted []tool) []tool {
	var out []tool
	for _, t := range wanted {
		data, err := os.ReadFile(stampPath(dir, t.name))
		stamp := string(data)
		valid := stamp == t.stamp() || strings.HasPrefix(stamp, downloadStamp) && slices.Contains(shipped(), t.name)
		if err != nil || !valid || !Executable(filepath.Join(dir, t.name)) {
			out = append(out, t)
		}
	}
	return out
}

// install moves a complete binary from work to dir. Whatever cuts it off, no stamp vouches for another binary.
func install(dir, work, name, stamp string) error {
	made := filepath.Join(work, name+".stamp")
	err := os.WriteFile(made, []byte(stamp), 0o644)
	if err == nil {
		if err = os.Remove(stampPath(dir, name)); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.Rename(filepath.Join(work, name), filepath.Join(dir, name))
	}
	if err == nil {
		err = os.Rename(made, stampPath(dir, name))
	}
	if err != nil {
		return fmt.Errorf("put %s in its place: %w", name, err)
	}
	return nil
}

func stampPath(dir, name string) string { return filepath.Join(dir, "."+name+".stamp") }

// Executable reports whether path is a file that can be run.
func Executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// workPrefix marks the directories that downloads and builds work in.
const workPrefix = ".build-"

// sweep removes what was left when one was cut off. The lock must be held.
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
