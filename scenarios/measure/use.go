package measure

import (
	"strings"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// use is the resources used by the parties between two readings. The runner takes one as the load begins and one when
// storage is first seen to be idle, so that a short cell's are not a sampling period too long; nothing is interpolated.
type use struct {
	all  []history.Sample
	a, b *history.Sample // nil without two readings
}

// between takes the last reading at or before one time and the first one at or after another, or the outermost there
// are.
func between(samples []history.Sample, from, to int64) use {
	u := use{all: samples}
	for i := range samples {
		s := &samples[i]
		if len(s.Parties) == 0 {
			continue
		}
		if u.a == nil || s.Time <= from {
			u.a = s
		}
		if u.b == nil || u.b.Time < to {
			u.b = s
		}
	}
	if u.a == u.b || u.a.Time >= u.b.Time {
		u.a, u.b = nil, nil
	}
	return u
}

func (u use) seconds() float64 {
	if u.a == nil {
		return 0
	}
	return float64(u.b.Time-u.a.Time) / 1e9
}

// cpu is a party's CPU time in seconds, not rounded, in steps of the kernel's clock tick of 10 ms where threads have
// ended meanwhile.
func (u use) cpu(party string) *float64 {
	if u.a == nil {
		return nil
	}
	a, okA := u.a.Parties[party]
	b, okB := u.b.Parties[party]
	if !okA || !okB {
		return nil
	}
	return new(b.CPUSeconds - a.CPUSeconds)
}

func (u use) cores(party string) *float64 {
	if cpu := u.cpu(party); cpu != nil {
		return ptr(*cpu / u.seconds())
	}
	return nil
}

func (u use) most(of func(*history.Sample) *float64) *float64 {
	if u.a == nil {
		return nil
	}
	return maxOf(u.all, u.a.Time, u.b.Time, of)
}

func (u use) parties() map[string]result.Party {
	peak := map[string]float64{}
	for _, s := range u.all {
		for name, x := range s.Parties {
			peak[name] = max(peak[name], x.RSSBytes)
		}
	}
	out := map[string]result.Party{}
	for name, rss := range peak {
		out[name] = result.Party{CPUSeconds: rounded(u.cpu(name)), RSSPeakMiB: round(rss / (1 << 20))}
	}
	return out
}

// largest is the most that one of the watchers took that work side by side, one that has ended since included, or the
// only one.
func (u use) largest() (cores, rss *float64) {
	replicas := map[string]bool{}
	for _, s := range u.all {
		for party := range s.Parties {
			if strings.HasPrefix(party, history.Replica) {
				replicas[party] = true
			}
		}
	}
	if len(replicas) == 0 {
		replicas[history.PartyWatcher] = true
	}
	for party := range replicas {
		cores = most(cores, u.cores(party))
		rss = most(rss, u.most(ofParty(party, func(x history.Use) float64 { return x.RSSBytes })))
	}
	return cores, rss
}

// most is the larger of two figures, of which either may be unknown.
func most(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func (f *Figures) watcherFigures(c *result.Cell, u use) {
	w := &c.Watcher
	if f.cell.Scenario.Shared() {
		w.ReplicaCPUCores, w.ReplicaRSSPeakMiB = u.largest()
	}
	w.RSSHighestMiB = maxOf(f.samples, 0, maxTime,
		ofParty(history.PartyWatcher, func(x history.Use) float64 { return x.RSSHighestBytes }))
	w.Lists, w.Watches = f.cell.Watcher.Lists, f.cell.Watcher.Watches
	if n := f.events(""); n != nil {
		w.AllocsPerEvent, w.AllocBytesPerEvent = per(growth(f.before, f.after, goMallocs), *n),
			per(growth(f.before, f.after, goAllocated), *n)
	}
	cpu := u.cpu(history.PartyWatcher)
	if cpu == nil {
		return
	}
	w.CPUSeconds, w.CPUWindow = rounded(cpu), ptr(u.seconds())
	if f.observed(w, u, *cpu); w.Disturbed {
		w.ReplicaCPUCores, w.AllocsPerEvent, w.AllocBytesPerEvent = nil, nil, nil
	} else {
		w.CPUCores = u.cores(history.PartyWatcher)
		if f.requests > 0 {
			w.CPUMicrosPerReq = ptr(*cpu * 1e6 / float64(f.requests))
		}
		if n := f.events(""); n != nil {
			w.CPUMicrosPerEvent = ptr(*cpu * 1e6 / *n)
		}
	}
	rss := ofParty(history.PartyWatcher, func(x history.Use) float64 { return x.RSSBytes })
	w.RSSPeakMiB, w.RSSEndMiB = u.most(rss), rss(u.b)
	if heap := f.after.Sum(goHeap); heap != nil {
		w.HeapMiB = mib(*heap)
	}
	w.Goroutines = maxOf(f.samples, u.a.Time, maxTime, func(s *history.Sample) *float64 { return s.Goroutines })
	if f.cell.Watcher.Restarts == 0 {
		var in, out *float64
		if !f.cell.Watcher.Joined { // else the metrics are not of all
			in, out = growth(f.before, f.after, metric.NetBytes, "direction", "in"),
				growth(f.before, f.after, metric.NetBytes, "direction", "out")
		}
		if in == nil && out == nil {
			in, out = calls(u.a, u.b)
		}
		if in != nil && out != nil {
			w.NetInKiBps, w.NetOutKiBps, w.NetKiBps = ptr(*in/1024/u.seconds()), ptr(*out/1024/u.seconds()),
				ptr((*in+*out)/1024/u.seconds())
		}
	}
}

// mostObserving is the part of the watcher's CPU time that asking it for its metrics may take; with more, its CPU is
// not a figure of the watcher.
const mostObserving = 0.02

// observed notes what asking the watcher between two readings cost it: as many requests as were made, each at the price
// of the one before the load. Records of former versions lack it.
func (f *Figures) observed(w *result.Watcher, u use, cpu float64) {
	if u.a.Asked == nil || u.b.Asked == nil {
		return
	}
	w.Asked = new(int64(*u.b.Asked - *u.a.Asked))
	if price := f.cell.Watcher.AskCPU; price != nil {
		w.AskedCPU = ptr(float64(*w.Asked) * *price)
	}
	w.Disturbed = *w.Asked > 0 && (w.AskedCPU == nil || *w.AskedCPU > mostObserving*cpu)
}

// events is how many events of a kind, or of all kinds, the watcher received during load and drain: by its own account
// or, without one, by the log of a simulated API server, each of whose writes is one event. It is nil if there were
// none, or unknown, as after a restart, where the counters cover the last process only.
func (f *Figures) events(kind string) *float64 {
	if f.cell.Watcher.Restarts > 0 || f.cell.Watcher.Joined && f.cell.Scenario.Watcher.Divided() {
		return nil
	}
	var labels []string
	if kind != "" {
		labels = []string{"kind", kind}
	}
	n := growth(f.before, f.after, metric.EventsReceived, labels...)
	if n == nil && f.cell.Scenario.Simulated() {
		n = new(float64)
		for k, told := range f.told {
			if kind == "" || k == kind {
				*n += float64(told)
			}
		}
	}
	if n == nil || *n <= 0 {
		return nil
	}
	return n
}

// Counters of the Go runtime, as client_golang's collector names them.
const (
	goMallocs   = "go_memstats_mallocs_total"
	goAllocated = "go_memstats_alloc_bytes_total"
	goHeap      = "go_memstats_heap_inuse_bytes"
)

func per(v *float64, n float64) *float64 {
	if v == nil {
		return nil
	}
	return ptr(*v / n)
}

const maxTime = int64(1<<63 - 1)

func mib(bytes float64) *float64 { return ptr(bytes / (1 << 20)) }

// ofParty reads a size in MiB, nil where it is not known.
func ofParty(party string, bytes func(history.Use) float64) func(*history.Sample) *float64 {
	return func(s *history.Sample) *float64 {
		if u, ok := s.Parties[party]; ok && bytes(u) > 0 {
			return mib(bytes(u))
		}
		return nil
	}
}
