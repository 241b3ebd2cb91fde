package procstat

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// DividedCPUs divides the CPUs that this process may use, by its own affinity and its control
// group, which the kernel has applied to it.
func DividedCPUs() (CPUGroups, error) {
	cpus, err := CPUsOf(0)
	if err != nil {
		return CPUGroups{}, err
	}
	return DivideCPUs(cores("/sys/devices/system/cpu", cpus))
}

// cores groups CPUs that are threads of one core. Where the kernel does not tell, each
// is a core.
func cores(sys string, cpus []int) (all [][]int) {
	at := map[string]int{}
	for _, cpu := range cpus {
		data, err := os.ReadFile(filepath.Join(sys, "cpu"+strconv.Itoa(cpu), "topology", "thread_siblings_list"))
		siblings := strings.TrimSpace(string(data))
		if i, ok := at[siblings]; ok && err == nil {
			all[i] = append(all[i], cpu)
			continue
		}
		at[siblings] = len(all)
		all = append(all, []int{cpu})
	}
	return all
}

// CPUsOf returns the CPUs that a thread may use; 0 is the calling one.
func CPUsOf(tid int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &set); err != nil {
		return nil, fmt.Errorf("read the CPU affinity: %w", err)
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

func setOf(tid int, cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(tid, &set)
}

// StartOn calls start so that processes it starts, in its own goroutine, get these CPUs,
// and know it from their first moment: a Go program sizes itself by them. Without CPUs it
// only calls start.
func StartOn(cpus []int, start func() error) error {
	if len(cpus) == 0 {
		return start()
	}
	// The thread must live on: the kernel ends children that asked to die with it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := CPUsOf(0)
	if err != nil {
		return err
	}
	if err := setOf(0, cpus); err != nil {
		return fmt.Errorf("pin to CPUs %s: %w", CPUList(cpus), err)
	}
	err = start()
	if back := setOf(0, before); back != nil {
		err = errors.Join(err, fmt.Errorf("pin to CPUs %s again: %w", CPUList(before), back))
	}
	return err
}

// Pin pins all threads of a process; what they start inherits it.
func Pin(pid int, cpus []int) error {
	done := map[string]bool{}
	// A thread that was not pinned yet may have made another meanwhile.
	for again := true; again; {
		again = false
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return fmt.Errorf("list the threads of process %d: %w", pid, err)
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || done[t.Name()] {
				continue
			}
			if err := setOf(tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("pin process %d to CPUs %s: %w", pid, CPUList(cpus), err)
			}
			done[t.Name()], again = true, true
		}
	}
	return nil
}
