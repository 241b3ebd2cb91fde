package runner

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/reports/result"
)

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
			for _, keep := range keptModules {
				if d.Path == keep {
					e.Modules[keep] = d.Version
				}
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
