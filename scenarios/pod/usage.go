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
	// What the kubelet reads: the container's, with the agent.
	CgroupCPUSeconds, CgroupMemoryBytes float64
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

// container fills in what the kernel says of the Pod and of its container, whose cgroup is at root.
func (u *Usage) container(root string) {
	u.Time = time.Now().UnixNano()
	if cpu := counters(root + "/cpu.stat"); cpu != nil { // version 2
		memory := counters(root + "/memory.stat")
		u.Throttled, u.ThrottledSeconds = int64(cpu.of("nr_throttled")), cpu.of("throttled_usec")/1e6
		u.CgroupCPUSeconds = cpu.of("usage_usec") / 1e6
		u.OOMKills = int64(counters(root + "/memory.events").of("oom_kill"))
		u.CgroupMemoryBytes = working(number(root+"/memory.current"), memory.of("inactive_file"))
	} else {
		cpu, memory := counters(root+"/cpu/cpu.stat"), root+"/memory"
		u.Throttled, u.ThrottledSeconds = int64(cpu.of("nr_throttled")), cpu.of("throttled_time")/1e9
		u.CgroupCPUSeconds = number(root+"/cpuacct/cpuacct.usage") / 1e9
		u.OOMKills = int64(counters(memory + "/memory.oom_control").of("oom_kill"))
		u.CgroupMemoryBytes = working(number(memory+"/memory.usage_in_bytes"),
			counters(memory+"/memory.stat").of("total_inactive_file"))
	}
	for _, v := range []*float64{&u.ThrottledSeconds, &u.CgroupCPUSeconds} {
		if *v < 0 {
			*v = -1
		}
	}
	u.Received, u.Sent = network()
}

// working is the kubelet's working set.
func working(used, inactive float64) float64 {
	if used < 0 || inactive < 0 {
		return -1
	}
	return max(0, used-inactive)
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

// flat is a file of lines "name number"; nil if it cannot be read.
type flat map[string]float64

func (f flat) of(name string) float64 {
	if v, ok := f[name]; ok {
		return v
	}
	return -1
}

func counters(path string) flat {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	f := flat{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			f[name] = n
		}
	}
	return f
}

func number(path string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		return -1
	}
	return n
}
