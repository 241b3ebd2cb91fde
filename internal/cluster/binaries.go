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

// findBinaries returns the directory that holds etcd and kube-apiserver: the one that
// KUBEBUILDER_ASSETS names, or our own cache, which builds them.
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
	return controlplane.Ensure(ctx, controlplane.Options{
		Cache:    opts.Cache,
		Progress: func(line string) { say("%s", line) },
	}, etcdParty, apiserverParty)
}

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
