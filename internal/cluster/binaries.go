package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

// EnvAssets names the environment variable by which envtest's users point at
// their binaries.
const EnvAssets = "KUBEBUILDER_ASSETS"

// setupSkew is how many minor releases an installed setup-envtest version may be
// away from the pinned one: clients are made for their own release and its
// neighbours.
const setupSkew = 1

// findBinaries returns the directory that holds etcd and kube-apiserver: the one that
// KUBEBUILDER_ASSETS names, what setup-envtest has installed, or our own cache, which
// builds them.
func findBinaries(ctx context.Context, opts EmbeddedOptions, say func(string, ...any)) (dir string, err error) {
	if assets := os.Getenv(EnvAssets); assets != "" {
		dir, err := filepath.Abs(assets)
		if err != nil {
			return "", fmt.Errorf("make %s absolute: %w", EnvAssets, err)
		}
		if missing := missingBinary(dir); missing != "" {
			return "", badinput.New("point it at a directory with executable files etcd and kube-apiserver, or unset it to "+
				"have them built",
				"%s is %s, where %s is missing or not executable", EnvAssets, dir, missing)
		}
		say("using the control plane binaries in %s", dir)
		return dir, nil
	}
	if dir := installedBinaries(setupEnvtestStores()); dir != "" {
		say("using the control plane binaries that setup-envtest installed in %s", dir)
		return dir, nil
	}
	return controlplane.Ensure(ctx, controlplane.Options{
		Cache:    opts.Cache,
		Progress: func(line string) { say("%s", line) },
	}, etcdParty, apiserverParty)
}

// binaryDirs says where the binaries are.
type binaryDirs struct {
	plane       string // of etcd and kube-apiserver
	controllers string // of the rest; empty where it is not wanted
}

// findAll returns where everything is that the options ask for. The controllers come from
// our cache: no other place has all three.
func findAll(ctx context.Context, opts EmbeddedOptions, say func(string, ...any)) (dirs binaryDirs, err error) {
	if dirs.plane, err = findBinaries(ctx, opts, say); err != nil || !opts.Controllers {
		return dirs, err
	}
	dirs.controllers, err = controlplane.Ensure(ctx, controlplane.Options{
		Cache:    opts.Cache,
		Progress: func(line string) { say("%s", line) },
	}, controlplane.Controllers()...)
	return dirs, err
}

func missingBinary(dir string) string {
	for _, name := range []string{etcdParty, apiserverParty} {
		if !controlplane.Executable(filepath.Join(dir, name)) {
			return name
		}
	}
	return ""
}

// Prepare makes sure that the embedded provider finds its binaries, building them
// where it must, and returns their directory.
func Prepare(ctx context.Context, opts EmbeddedOptions, progress func(string)) (dir string, err error) {
	dirs, err := findAll(ctx, opts, reporter(progress))
	return dirs.plane, err
}

// setupEnvtestStores lists where setup-envtest keeps its "k8s" directory by
// default (the directories are those of its documentation).
func setupEnvtestStores() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	if runtime.GOOS == "darwin" {
		return []string{filepath.Join(home, "Library", "Application Support", "io.kubebuilder.envtest", "k8s")}
	}
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	return []string{filepath.Join(data, "kubebuilder-envtest", "k8s")}
}

// installedBinaries picks the version nearest to the pinned one, the newer of two
// equally near, from directories named <version>-<goos>-<goarch>.
func installedBinaries(stores []string) string {
	pinned := version.MustParseGeneric(controlplane.KubernetesVersion())
	platform := "-" + runtime.GOOS + "-" + runtime.GOARCH
	var best string
	var bestVersion *version.Version
	for _, store := range stores {
		entries, err := os.ReadDir(store)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), platform)
			if !ok {
				continue
			}
			v, err := version.ParseGeneric(name)
			if err != nil || v.Major() != pinned.Major() || skew(v, pinned) > setupSkew {
				continue
			}
			dir := filepath.Join(store, e.Name())
			if missingBinary(dir) != "" {
				continue
			}
			if best == "" || nearer(v, bestVersion, pinned) {
				best, bestVersion = dir, v
			}
		}
	}
	return best
}

func skew(a, b *version.Version) int {
	d := int(a.Minor()) - int(b.Minor())
	return max(d, -d)
}

func nearer(a, b, pinned *version.Version) bool {
	if skew(a, pinned) != skew(b, pinned) {
		return skew(a, pinned) < skew(b, pinned)
	}
	return b.LessThan(a)
}
