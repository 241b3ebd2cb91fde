package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

// EnvAssets names the environment variable by which envtest's users point at their binaries.
const EnvAssets = "KUBEBUILDER_ASSETS"

type binaryDirs struct {
	plane       string // of etcd and kube-apiserver: the one that KUBEBUILDER_ASSETS names, or our own cache
	controllers string // of the rest, always our cache, as no other place has all three; empty where it is not wanted
}

// findAll returns where everything is that the options ask for. What the cache lacks is made.
func findAll(ctx context.Context, opts EmbeddedOptions, say func(string, ...any)) (dirs binaryDirs, err error) {
	ensure := func(names ...string) (string, error) {
		return controlplane.Ensure(ctx, controlplane.Options{Cache: opts.Cache,
			Progress: func(line string) { say("%s", line) }}, names...)
	}
	if assets := os.Getenv(EnvAssets); assets != "" {
		if dirs.plane, err = filepath.Abs(assets); err != nil {
			return dirs, fmt.Errorf("make %s absolute: %w", EnvAssets, err)
		}
		for _, name := range []string{etcdParty, apiserverParty} {
			if !controlplane.Executable(filepath.Join(dirs.plane, name)) {
				return dirs, badinput.New("point it at a directory with executable files etcd and kube-apiserver, or unset it "+
					"to have them built", "%s is %s, where %s is missing or not executable", EnvAssets, dirs.plane, name)
			}
		}
		say("using the control plane binaries in %s", dirs.plane)
	} else if dirs.plane, err = ensure(etcdParty, apiserverParty); err != nil {
		return dirs, err
	}
	if opts.Controllers {
		dirs.controllers, err = ensure(controlplane.Controllers()...)
	}
	return dirs, err
}

// Prepare makes sure that the embedded provider finds its binaries, and returns their directory.
func Prepare(ctx context.Context, opts EmbeddedOptions, progress func(string)) (dir string, err error) {
	dirs, err := findAll(ctx, opts, reporter(progress))
	return dirs.plane, err
}
