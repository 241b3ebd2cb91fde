package pod

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/watchbench/watchbench/internal/procstat"
)

// Usage is what a party has used so far, as its agent answers GET /usage. What cannot be read is -1.
type Usage struct {
	Time int64 // ns, the Pod's clock
	// The party's process, by internal/procstat. After its end CPU time and bytes are the last, memory is 0.
	CPUSeconds, RSSBytes, RSSHighestBytes, Read, Written float64
	// The container's cgroup.
	Throttled        int64 // periods
	ThrottledSeconds float64
	OOMKills         int64
	Received, Sent   float64 // bytes of the Pod's network without loopback
}

// process fills in what procstat says of the party.
func (u *Usage) process(p *procstat.Process) {
	u.CPUSeconds, u.RSSBytes, u.RSSHighestBytes, u.Read, u.Written = -1, -1, -1, -1, -1
	if p == nil {
		return
	}
	if got, err := p.Usage(); err == nil {
		u.CPUSeconds, u.RSSBytes, u.RSSHighestBytes = got.CPU.Seconds(), float64(got.RSS), float64(got.RSSHighest)
		u.Read, u.Written = float64(got.Read), float64(got.Written)
	}
}

// cgroupRoot is where a container sees its own.
const cgroupRoot = "/sys/fs/cgroup"

// container fills in what the kernel says of the Pod and of its container, whose cgroup is at root.
func (u *Usage) container(root string) {
	u.Time = time.Now().UnixNano()
	cpu, second := root+"/cpu.stat", 1e6
	if _, err := os.Stat(cpu); err != nil { // version 1
		cpu, second = root+"/cpu/cpu.stat", 1e9
	}
	u.Throttled, u.ThrottledSeconds = int64(counter(cpu, "nr_throttled")), -1
	if t := max(counter(cpu, "throttled_usec"), counter(cpu, "throttled_time")); t >= 0 {
		u.ThrottledSeconds = t / second
	}
	u.OOMKills = int64(max(counter(root+"/memory.events", "oom_kill"),
		counter(root+"/memory/memory.oom_control", "oom_kill")))
	u.Received, u.Sent = network()
}

func network() (received, sent float64) {
	self, err := procfs.Self()
	if err != nil {
		return -1, -1
	}
	devices, err := self.NetDev()
	if err != nil {
		return -1, -1
	}
	for name, d := range devices {
		if name != "lo" {
			received, sent = received+float64(d.RxBytes), sent+float64(d.TxBytes)
		}
	}
	return received, sent
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
