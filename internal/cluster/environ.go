package cluster

import (
	"fmt"

	"github.com/watchbench/watchbench/internal/procstat"
)

// apiserverGC is GOGC of kube-apiserver. With Go's default of 100 a fifth of what a write
// costs it is garbage collection, since its heap is small and each write allocates much;
// nothing that a watcher sees depends on it.
const apiserverGC = 400

// memoryShare is the part of the machine's memory above which kube-apiserver collects
// garbage as often as it takes.
const memoryShare = 0.5

// apiserverEnv is what kube-apiserver's environment has beside ours. A GOGC or GOMEMLIMIT
// that is set for watchbench itself is not for it.
func apiserverEnv() []string {
	env := []string{fmt.Sprintf("GOGC=%d", apiserverGC)}
	if memory := procstat.Describe().MemoryMiB; memory > 0 {
		env = append(env, fmt.Sprintf("GOMEMLIMIT=%dMiB", int64(memoryShare*float64(memory))))
	}
	return env
}
