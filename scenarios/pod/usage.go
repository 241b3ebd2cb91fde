package pod

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Usage is what a Pod has used so far, as its agent answers GET /usage. What cannot be read is nil, or -1.
type Usage struct {
	Time             int64        // ns, the Pod's clock
	Use              *history.Use // of the party's process, while it runs
	history.PodState              // the agent does not know Ahead and Within
}

// Ask reads the usage of a Pod once, through its proxy, and its clock.
func Ask(ctx context.Context, proxied *http.Client) (u Usage, err error) {
	began := time.Now()
	err = (&agentClient{proxied}).once(ctx, http.MethodGet, "/usage", nil, nil, func(r *http.Response) error {
		return json.NewDecoder(r.Body).Decode(&u)
	})
	took := time.Since(began).Nanoseconds()
	u.Ahead, u.Within = u.Time-(began.UnixNano()+took/2), took/2
	return u, err
}

// UseOf reads a process's use so far; not ok if there is no process, or it cannot be read.
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

// container reads the kernel's counters of the Pod and of its container, whose cgroup is at root.
func container(root string) (s history.PodState) {
	cpu, second := root+"/cpu.stat", 1e6
	if _, err := os.Stat(cpu); err != nil { // version 1
		cpu, second = root+"/cpu/cpu.stat", 1e9
	}
	s.Throttled, s.ThrottledSeconds = int64(procstat.Counter(cpu, "nr_throttled")), -1
	if t := max(procstat.Counter(cpu, "throttled_usec"), procstat.Counter(cpu, "throttled_time")); t >= 0 {
		s.ThrottledSeconds = t / second
	}
	s.OOMKills = int64(max(procstat.Counter(root+"/memory.events", "oom_kill"),
		procstat.Counter(root+"/memory/memory.oom_control", "oom_kill")))
	s.Received, s.Sent = -1, -1
	if self, err := procfs.Self(); err == nil {
		if devices, err := self.NetDev(); err == nil {
			all, loopback := devices.Total(), devices["lo"]
			s.Received, s.Sent = float64(all.RxBytes-loopback.RxBytes), float64(all.TxBytes-loopback.TxBytes)
		}
	}
	return s
}
