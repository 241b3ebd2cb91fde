package procstat

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Machine describes the host: what a reader needs to judge absolute figures.
// Fields that cannot be read are left at their zero value.
type Machine struct {
	CPUModel  string
	CPUs      int
	MemoryMiB int64
	Kernel    string
	Cgroup    map[string]string // limits of this process's control group, by file name
}

// cgroupFiles are the limits that change what a measurement means.
var cgroupFiles = []string{"cpu.max", "cpuset.cpus.effective", "memory.max", "memory.high"}

// Describe reads the host's description.
func Describe() Machine {
	m := Machine{CPUs: runtime.NumCPU()}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return m
	}
	if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
		m.CPUModel = cpus[0].ModelName
	}
	if mem, err := fs.Meminfo(); err == nil && mem.MemTotalBytes != nil {
		m.MemoryMiB = int64(*mem.MemTotalBytes >> 20)
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	dir := controlGroup(fs)
	for _, name := range cgroupFiles {
		if b, err := os.ReadFile(dir + "/" + name); err == nil {
			if m.Cgroup == nil {
				m.Cgroup = map[string]string{}
			}
			m.Cgroup[name] = strings.TrimSpace(string(b))
		}
	}
	return m
}

// MemoryAvailable is how much memory programs may still take without the machine or this process's
// control group running out, in bytes.
func MemoryAvailable() (float64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("open /proc: %w", err)
	}
	mem, err := fs.Meminfo()
	if err != nil {
		return 0, fmt.Errorf("read the available memory: %w", err)
	}
	if mem.MemAvailableBytes == nil {
		return 0, errors.New("the kernel does not say how much memory is available")
	}
	have := float64(*mem.MemAvailableBytes)
	if room, limited := groupRoom(controlGroup(fs)); limited {
		have = min(have, room)
	}
	return have, nil
}

// groupRoom returns how many bytes a control group's limit leaves, and whether it has a limit.
// Files that were read once are in the use, and make way as MemAvailable has it.
func groupRoom(dir string) (bytes float64, limited bool) {
	limit, used := readNumber(dir+"/memory.max"), readNumber(dir+"/memory.current")
	if limit <= 0 || used <= 0 {
		return 0, false
	}
	used -= max(0, Counter(dir+"/memory.stat", "inactive_file")) // nothing can be reclaimed that is not known
	return min(limit, max(0, limit-used)), true
}

// readNumber is 0 for a file without a number, such as one that says max.
func readNumber(path string) float64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
	if err != nil {
		return 0
	}
	return n
}

// Counter is of a file of lines "name number", as control groups have them; -1 if it cannot be read.
func Counter(path, name string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// controlGroup is the folder of this process's control group.
func controlGroup(fs procfs.FS) string {
	dir := "/sys/fs/cgroup"
	if self, err := fs.Self(); err == nil {
		if groups, err := self.Cgroups(); err == nil {
			for _, g := range groups {
				if g.HierarchyID == 0 {
					dir += g.Path
				}
			}
		}
	}
	return dir
}

// LoadAverage reads the run queue's mean length over 1, 5 and 15 minutes.
func LoadAverage() ([]float64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("open /proc: %w", err)
	}
	l, err := fs.LoadAvg()
	if err != nil {
		return nil, fmt.Errorf("read the load average: %w", err)
	}
	return []float64{l.Load1, l.Load5, l.Load15}, nil
}

// CPUTime is the machine's CPU time since boot, all CPUs together, in seconds.
type CPUTime struct{ Busy, Steal, Total float64 }

// ReadCPUTime reads the machine's CPU counters.
func ReadCPUTime() (CPUTime, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return CPUTime{}, fmt.Errorf("open /proc: %w", err)
	}
	st, err := fs.Stat()
	if err != nil {
		return CPUTime{}, fmt.Errorf("read the CPU counters: %w", err)
	}
	c := st.CPUTotal
	busy := c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal
	return CPUTime{Busy: busy, Steal: c.Steal, Total: busy + c.Idle + c.Iowait}, nil
}

// Since is the use between an earlier reading and this one.
func (c CPUTime) Since(earlier CPUTime) CPUTime {
	return CPUTime{Busy: c.Busy - earlier.Busy, Steal: c.Steal - earlier.Steal, Total: c.Total - earlier.Total}
}

// StealPercent is the part of the time that the hypervisor gave to others.
func (c CPUTime) StealPercent() float64 {
	if c.Total <= 0 {
		return 0
	}
	return 100 * c.Steal / c.Total
}
