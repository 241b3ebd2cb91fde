//go:build !linux

package affinity

import "github.com/watchbench/watchbench/internal/badinput"

func unsupported() error {
	return badinput.New("run without pinning", "only on Linux can parties be pinned to CPUs")
}

// Plan reports that this system cannot.
func Plan() (Groups, error) { return Groups{}, unsupported() }

// With calls start; CPUs to pin to are an error.
func With(cpus []int, start func() error) error {
	if len(cpus) > 0 {
		return unsupported()
	}
	return start()
}

// Process reports that this system cannot.
func Process(int, []int) error { return unsupported() }
