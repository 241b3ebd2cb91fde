//go:build !linux

package procstat

import "github.com/watchbench/watchbench/internal/badinput"

func unsupported() error {
	return badinput.New("run without pinning", "only on Linux can parties be pinned to CPUs")
}

// DividedCPUs reports that this system cannot.
func DividedCPUs() (CPUGroups, error) { return CPUGroups{}, unsupported() }

// StartOn calls start; CPUs to pin to are an error.
func StartOn(cpus []int, start func() error) error {
	if len(cpus) > 0 {
		return unsupported()
	}
	return start()
}

// Pin reports that this system cannot.
func Pin(int, []int) error { return unsupported() }
