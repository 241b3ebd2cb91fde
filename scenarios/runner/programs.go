package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// programDigests are the digests of the programs that the cells start, and of the files that commands of other watchers
// name.
func programDigests(bins party.Binaries, cells []spec.Cell) (map[string]string, error) {
	paths := map[string]string{}
	if self, err := os.Executable(); err == nil {
		paths["watchbench"] = self
	}
	for _, path := range []string{bins.Watcher, bins.Storage} {
		if path != "" {
			paths[filepath.Base(path)] = path
		}
	}
	for _, c := range cells {
		if c.Scenario.Load.Driver == spec.DriverK6 {
			paths[filepath.Base(bins.K6)] = bins.K6
		}
		w := c.Scenario.Watcher
		if w.Command == "" {
			continue
		}
		argv, err := bins.Command(w, "{config}")
		if err != nil {
			continue // as its cell will say
		}
		for i, word := range w.Words() {
			paths[word] = argv[i]
		}
	}
	digests := map[string]string{}
	for name, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		digest, err := digestOf(path)
		if err != nil {
			return nil, err
		}
		digests[name] = digest
	}
	return digests, nil
}

// digestOf is the SHA-256 of a file.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("digest of a program: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("digest of %s: %w", path, err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// keptModules are the dependencies whose version a reader of figures asks for.
var keptModules = []string{
	"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "github.com/prometheus/client_golang",
	"github.com/HdrHistogram/hdrhistogram-go",
}

// environment captures what is known before the cluster is there.
func environment() result.Environment {
	m := procstat.Describe()
	e := result.Environment{
		GoVersion: runtime.Version(), CPUModel: m.CPUModel, CPUs: m.CPUs, MemoryMiB: m.MemoryMiB,
		Kernel: m.Kernel, Cgroup: m.Cgroup, Modules: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if slices.Contains(keptModules, d.Path) {
				e.Modules[d.Path] = d.Version
			}
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				e.Commit = s.Value
			case "vcs.modified":
				e.Dirty = s.Value == "true"
			}
		}
	}
	if e.Commit == "" && version.Version != "unknown" {
		e.Commit, e.Dirty = strings.CutSuffix(version.Version, "-dirty")
	}
	e.LoadBefore, _ = procstat.LoadAverage() // unknown elsewhere than on Linux
	return e
}

// closeEnvironment adds what is known only after the run.
func (r *Runner) closeEnvironment() {
	env := r.environment()
	env.LoadAfter, _ = procstat.LoadAverage() // unknown elsewhere than on Linux
	if now, err := procstat.ReadCPUTime(); err == nil && r.cpu.Total > 0 {
		env.StealPct = now.Since(r.cpu).StealPercent()
	}
}
