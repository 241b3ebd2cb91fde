package procstat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
)

// CPUGroups are the CPUs of the parties, by number and sorted. The zero value pins nobody.
type CPUGroups struct {
	ControlPlane []int // etcd and kube-apiserver
	Tools        []int // generator, storage and watchbench itself
	Watcher      []int // the watcher alone
}

// Any reports whether parties are pinned.
func (g CPUGroups) Any() bool { return len(g.Watcher) > 0 }

// leastCPUs and leastCores are what Divide needs: the control plane has two busy
// processes, and no group may share a core with another.
const (
	leastCPUs  = 4
	leastCores = 3
)

// DivideCPUs splits cores, each the numbers of its CPUs: a quarter for the watcher, a quarter
// for the tools, at least one each, and the rest for the control plane. A core is never
// split, because its threads slow each other down.
func DivideCPUs(cores [][]int) (CPUGroups, error) {
	cpus := len(slices.Concat(cores...))
	if cpus < leastCPUs || len(cores) < leastCores {
		return CPUGroups{}, badinput.New("run without pinning, or where more CPUs may be used",
			"pinning the parties needs %d CPUs on %d cores, and this process may use %d on %d", leastCPUs, leastCores, cpus,
			len(cores))
	}
	quarter := max(1, len(cores)/4)
	of := func(part [][]int) []int { return slices.Sorted(slices.Values(slices.Concat(part...))) }
	rest := len(cores) - 2*quarter
	return CPUGroups{ControlPlane: of(cores[:rest]), Tools: of(cores[rest : rest+quarter]),
		Watcher: of(cores[rest+quarter:])}, nil
}

// CPUList writes sorted CPU numbers as the kernel does: 0-2,5.
func CPUList(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
