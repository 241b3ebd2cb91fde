package oracle

import (
	"strings"
	"testing"
)

const mib = 1 << 20

// replicas are the figures of the largest of those that share the work, or of the one that has it all.
func (r *record) replicas(a answers, in []sample, length float64) {
	w := r.cell.Scenario.Watcher
	if w.Shards < 2 && r.cell.Scenario.Load.LabelShards == 0 {
		return
	}
	cores, rss := map[string]float64{}, map[string]float64{}
	for _, s := range in {
		for name, x := range s.Parties {
			rss[name] = max(rss[name], x.RSSBytes)
			cores[name] = (x.CPUSeconds - in[0].Parties[name].CPUSeconds) / length
		}
	}
	name := "watcher"
	if _, several := rss["watcher-1"]; several {
		name = "watcher-"
	}
	mostCores, mostRSS := 0.0, 0.0
	for n := range rss {
		if n == name || name == "watcher-" && strings.HasPrefix(n, name) {
			mostCores, mostRSS = max(mostCores, cores[n]), max(mostRSS, rss[n])
		}
	}
	if a["watcher.disturbed"] != true {
		a.number("watcher.replicaCPUCores", mostCores)
	}
	a.number("watcher.replicaRSSPeakMiB", mostRSS/mib)
}

func (r *record) watcherFigures(a answers, changes []change, w window) {
	last := w.last
	for _, c := range changes {
		if c.Kind == "Pod" && !c.Bystander {
			last = max(last, c.stored)
		}
	}
	// The readings around load and drain.
	from, to := -1, -1
	for i, s := range r.samples {
		if s.Time <= w.first {
			from = i
		}
		if to < 0 && s.Time >= last {
			to = i
		}
	}
	if from < 0 {
		return
	}
	if to < 0 {
		to = len(r.samples) - 1
	}
	in := r.samples[from : to+1]
	first, end := in[0], in[len(in)-1]
	length := seconds(end.Time - first.Time)
	cpu := end.Parties["watcher"].CPUSeconds - first.Parties["watcher"].CPUSeconds
	a.number("watcher.cpuSeconds", cpu)
	a.number("watcher.cpuWindowSeconds", length)
	disturbed := false
	if first.Asked != nil && end.Asked != nil {
		asked := *end.Asked - *first.Asked
		a.number("watcher.asked", asked)
		disturbed = asked > 0
		if price := r.cell.Watcher.AskCPU; price != nil {
			a.number("watcher.askedCPUSeconds", asked**price)
			disturbed = asked**price > 0.02*cpu
		}
		if disturbed {
			a["watcher.disturbed"] = true
		}
	}
	if !disturbed {
		a.number("watcher.cpuCores", cpu/length)
	}
	if r.received > 0 && !disturbed {
		a.number("watcher.cpuMicrosPerRequest", cpu*1e6/r.received)
	}
	if n, known := r.grown("k8swatch_events_received_total"); known && n > 0 && r.cell.Watcher.Restarts == 0 && !disturbed {
		a.number("watcher.cpuMicrosPerEvent", cpu*1e6/n)
		for figure, counter := range map[string]string{"allocsPerEvent": "mallocs", "allocBytesPerEvent": "alloc_bytes"} {
			if v, known := r.grown("go_memstats_" + counter + "_total"); known {
				a.number("watcher."+figure, v/n)
			}
		}
	}
	if v := end.Parties["watcher"].RSSBytes; v > 0 {
		a.number("watcher.rssEndMiB", v/mib)
	}
	r.replicas(a, in, length)
	peaks := map[string]float64{}
	for _, s := range r.samples {
		for name, x := range s.Parties {
			peaks[name] = max(peaks[name], x.RSSBytes)
		}
	}
	for name, peak := range peaks {
		a.number("parties."+name+".rssPeakMiB", peak/mib)
		before, began := first.Parties[name]
		if after, ended := end.Parties[name]; began && ended {
			a.number("parties."+name+".cpuSeconds", after.CPUSeconds-before.CPUSeconds)
		}
	}
	resident := 0.0
	if heap, known := r.after.sum("go_memstats_heap_inuse_bytes"); known {
		a.number("watcher.heapMiB", heap/mib)
	}
	highest, goroutines := 0.0, nan
	most := func(have *float64, v *float64) {
		if v != nil && !(*have >= *v) {
			*have = *v
		}
	}
	for _, s := range r.samples {
		highest = max(highest, s.Parties["watcher"].RSSHighestBytes)
	}
	for _, s := range in {
		resident = max(resident, s.Parties["watcher"].RSSBytes)
	}
	for _, s := range r.samples[from:] {
		most(&goroutines, s.Goroutines)
	}
	a.number("watcher.rssPeakMiB", resident/mib)
	a.number("watcher.rssHighestMiB", highest/mib)
	a.number("watcher.goroutines", goroutines)
	ni, known := r.grown("k8swatch_network_bytes_total", `direction="in"`)
	if known && r.cell.Watcher.Restarts == 0 {
		no, _ := r.grown("k8swatch_network_bytes_total", `direction="out"`)
		ni, no = ni/1024/length, no/1024/length
		a.number("watcher.netInKiBps", ni)
		a.number("watcher.netOutKiBps", no)
		a.number("watcher.netKiBps", ni+no)
	}
}

func (r *record) eventFigures(a answers) {
	if r.after == nil {
		return
	}
	for name, metric := range map[string]string{
		"received": "received_total", "sent": "sent_total", "coalesced": "coalesced_total", "filtered": "filtered_total",
		"parked": "parked", "queued": "queued", "dropped": "dropped_total", "retried": "retried_total",
	} {
		n, known := r.after.sum("k8swatch_events_" + metric)
		// What was counted before the load is no part of it. Gauges are what they are, and
		// a process that was started later has counted nothing else.
		if b, _ := r.before.sum("k8swatch_events_" + metric); strings.HasSuffix(metric, "_total") && r.cell.Watcher.Restarts == 0 {
			n -= b
		}
		if known {
			a["events."+name] = n
		}
	}
	// Events per queue of the Pods: named Pod, or Pod_0, Pod_1, …
	most, total, queues := 0.0, 0.0, 0.0
	for series := range r.after {
		name, rest, _ := strings.Cut(series, "{")
		if name != "k8swatch_queue_handled_total" {
			continue
		}
		queue, _, _ := strings.Cut(strings.TrimPrefix(rest, `queue="`), `"`)
		if _, had := a["queues."+queue]; had { // of another shard
			continue
		}
		if queue != "Pod" && !strings.HasPrefix(queue, "Pod_") {
			continue
		}
		n, _ := r.grown(name, `queue="`+queue+`"`)
		a["queues."+queue] = n
		most, total, queues = max(most, n), total+n, queues+1
	}
	if queues > 1 && total > 0 {
		a.number("handler.imbalance", most/(total/queues))
	}
}

// TestStored: no committed record notes when storage had what existed before the load, so
// these figures are of a run that never happened.
func TestStored(t *testing.T) {
	for _, c := range cells(t, profiled(t)) {
		r, have, want := load(t, c.dir), map[string]any{}, answers{}
		r.identity(want)
		flatten(have, "", c.published)
		for _, path := range []string{"watcher.storedSeconds", "watcher.storedCPUSeconds"} {
			v, published := have[path]
			if d := differs(r, want, path, v, published); d != "" || !published {
				t.Errorf("%s: %v is published: %s", path, v, d)
			}
		}
	}
}
