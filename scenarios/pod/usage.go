package pod

import (
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Usage is what a Pod has used so far, as its agent answers GET /usage. What cannot be read is nil, or -1.
type Usage struct {
	Time             int64        // ns, the Pod's clock
	Use              *history.Use // of the party's process, while it runs
	history.PodState              // but for its clock
}

// UseOf is what a process has used so far; not ok if there is none, or it cannot be read.
func UseOf(p *procstat.Process) (use history.Use, ok bool) {
	if p == nil {
		return use, false
	}
	u, err := p.Usage()
	return history.Use{CPUSeconds: u.CPU.Seconds(), RSSBytes: float64(u.RSS), RSSHighestBytes: float64(u.RSSHighest),
		Read: float64(u.Read), Written: float64(u.Written)}, err == nil
}

// cgroupRoot is where a container sees its own.
const cgroupRoot = "/sys/fs/cgroup"

// container is what the kernel says of the Pod and of its container, whose cgroup is at root.
func container(root string) (s history.PodState) {
	cpu, second := root+"/cpu.stat", 1e6
	if _, err := os.Stat(cpu); err != nil { // version 1
		cpu, second = root+"/cpu/cpu.stat", 1e9
	}
	s.Throttled, s.ThrottledSeconds = int64(counter(cpu, "nr_throttled")), -1
	if t := max(counter(cpu, "throttled_usec"), counter(cpu, "throttled_time")); t >= 0 {
		s.ThrottledSeconds = t / second
	}
	s.OOMKills = int64(max(counter(root+"/memory.events", "oom_kill"),
		counter(root+"/memory/memory.oom_control", "oom_kill")))
	s.Received, s.Sent = -1, -1
	if self, err := procfs.Self(); err == nil {
		if devices, err := self.NetDev(); err == nil {
			all, loopback := devices.Total(), devices["lo"]
			s.Received, s.Sent = float64(all.RxBytes-loopback.RxBytes), float64(all.TxBytes-loopback.TxBytes)
		}
	}
	return s
}

// counter is of a file of lines "name number"; -1 if it cannot be read.
func counter(path, name string) float64 {
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
