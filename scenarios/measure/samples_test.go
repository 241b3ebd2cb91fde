package measure

import (
	"slices"
	"strconv"
	"testing"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestNetworkHasOneSource: the watcher's own account is taken from the scrapes around the load; its read and write
// calls stand in where it gives none, and not across a restart.
func TestNetworkHasOneSource(t *testing.T) {
	e := backlog(0)
	approx(t, "calls", e.figures(t).Watcher.NetKiBps, 1000, 1)
	net := func(in, out string) history.Scrape {
		return scrapeOf(t, metric.NetBytes+`{direction="in"} `+in+"\n"+metric.NetBytes+`{direction="out"} `+out+"\n")
	}
	w := e.with(t, net("1024", "0"), net("42496", "20736")).Watcher // 20.25 s are between the readings
	approx(t, "in", w.NetInKiBps, 2, 1e-6)
	approx(t, "both", w.NetKiBps, 3, 1e-6)
	if e.with(t, net("1024", "0"), nil).Watcher.NetKiBps == nil {
		t.Error("one that was killed has calls")
	}
	e.cell.Watcher.Restarts = 1
	for i := range e.samples { // the new process counts from 0
		u := e.samples[i].Parties[history.PartyWatcher]
		if i > len(e.samples)/2 {
			u.Read -= 10_000 * 1024
		}
		e.samples[i].Parties[history.PartyWatcher] = u
	}
	c := e.figures(t)
	if w := c.Watcher; w.NetKiBps != nil || w.NetInKiBps != nil || w.NetOutKiBps != nil {
		t.Errorf("traffic over a restart: %v KiB/s", *w.NetKiBps)
	}
	if curve := c.Series[result.SeriesWatcherNet].V; len(curve) < 50 || slices.Min(curve) < 0 {
		t.Errorf("the curve goes below 0, or has too few points: %v", curve)
	}
}

// TestObservingIsCharged: what is asked of the watcher between the readings is its CPU, and more than 2 % of it is no
// figure of the watcher.
func TestObservingIsCharged(t *testing.T) {
	for _, tc := range []struct {
		name      string
		asked     []float64 // in all, as the load began, at the last acknowledgement, and at the end
		price     *float64
		disturbed bool
	}{
		{"only around the load", []float64{7, 7, 30}, new(0.005), false},
		{"once", []float64{7, 8, 30}, new(0.005), false},
		{"four times a second", []float64{7, 87, 100}, new(0.005), true},
		{"once, and nobody knows its price", []float64{7, 8, 30}, nil, true},
		{"by a former version", nil, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := backlog(0)
			e.cell.Watcher.AskCPU = tc.price
			for i := range e.samples {
				if tc.asked == nil {
					continue
				}
				switch s := &e.samples[i]; {
				case s.Time <= at(0):
					s.Asked = &tc.asked[0]
				case s.Time <= at(20_250):
					s.Asked = &tc.asked[1]
				default:
					s.Asked = &tc.asked[2]
				}
			}
			w := e.figures(t).Watcher
			if w.Disturbed != tc.disturbed || (w.CPUCores == nil) != tc.disturbed || (w.CPUMicrosPerReq == nil) != tc.disturbed || w.CPUSeconds == nil {
				t.Errorf("disturbed %v, cores %v, per request %v", w.Disturbed, value(w.CPUCores), value(w.CPUMicrosPerReq))
			}
			if tc.asked == nil {
				if w.Asked != nil {
					t.Errorf("asked %d times", *w.Asked)
				}
			} else if *w.Asked != int64(tc.asked[1]-tc.asked[0]) {
				t.Errorf("asked %d times", *w.Asked)
			}
		})
	}
}

// TestQueueDepthIsOfTheRecord: how many events wait is what op log and ledger say is owed.
func TestQueueDepthIsOfTheRecord(t *testing.T) {
	s := backlog(0).figures(t).Series[result.SeriesQueueDepth]
	// Written are 5 in half a second, and 2.5 are stored.
	if len(s.V) < 40 || s.V[0] != 3 && s.V[0] != 4 || slices.Max(s.V) < 49 || slices.Max(s.V) > 52 || s.V[len(s.V)-1] > 3 || s.T[1]-s.T[0] != 0.5 {
		t.Errorf("%v at %v", s.V, s.T)
	}
}

// TestPartyThatEnded: what a process used of which the last reading has nothing is unknown.
func TestPartyThatEnded(t *testing.T) {
	e := backlog(0)
	for i := range e.samples {
		if s := &e.samples[i]; s.Time <= at(8000) {
			s.Parties[history.PartyStorage] = history.Use{CPUSeconds: float64(s.Time), RSSBytes: 1 << 20}
		}
	}
	p := e.figures(t).Parties
	if got := p[history.PartyStorage]; got.CPUSeconds != nil || got.RSSPeakMiB != 1 {
		t.Errorf("storage: CPU %v, memory %v", value(got.CPUSeconds), got.RSSPeakMiB)
	}
	approx(t, "the watcher's", p[history.PartyWatcher].CPUSeconds, 2.025, 0.001)
}

// TestUseOfAShortCell: a load of 1 s between readings 250 ms apart. With readings at its edges the figures are exact;
// the nearest of the others missed a fifth of the work, or took what was before.
func TestUseOfAShortCell(t *testing.T) {
	read := func(ms, cpu, rss float64) history.Sample {
		return history.Sample{Time: at(ms), Parties: map[string]history.Use{history.PartyWatcher: {CPUSeconds: cpu, RSSBytes: rss * (1 << 20), RSSHighestBytes: 90 << 20, Read: -1}}}
	}
	ticks := []history.Sample{read(-130, 3, 30), read(120, 3.08, 31), read(370, 3.2, 34), read(620, 3.3, 33), read(870, 3.4, 33), read(1120, 3.5, 32), read(1370, 3.7, 60)}
	edges := []history.Sample{ticks[0], read(-1, 3.02, 30)}
	edges = append(edges, ticks[1:5]...)
	edges = append(edges, read(1010, 3.48, 32), ticks[5], ticks[6])
	for _, tc := range []struct {
		name                        string
		samples                     []history.Sample
		cpu, seconds, peak, highest float64
	}{
		{"with edges", edges, 0.46, 1.011, 34, 90},
		{"without", ticks, 0.5, 1.25, 34, 90},
	} {
		u := between(tc.samples, at(0), at(1000))
		approx(t, tc.name+": cpu", u.cpu(history.PartyWatcher), tc.cpu, 1e-6)
		approx(t, tc.name+": seconds", ptr(u.seconds()), tc.seconds, 1e-6)
		approx(t, tc.name+": cores", u.cores(history.PartyWatcher), tc.cpu/tc.seconds, 1e-5)
	}
	e := backlog(0)
	e.samples = edges
	c := e.figures(t)
	approx(t, "highest", c.Watcher.RSSHighestMiB, 90, 0)
	approx(t, "peak", c.Watcher.RSSPeakMiB, 60, 0)
	if u := between(edges[:1], at(0), at(1000)); u.cpu(history.PartyWatcher) != nil || u.seconds() != 0 {
		t.Error("one reading is no use")
	}
	if u := between(nil, at(0), at(1000)); u.cores(history.PartyWatcher) != nil {
		t.Error("no reading is no use")
	}
}

// TestRoundedOnce: cores are CPU time over time, not a rounded CPU time over time.
func TestRoundedOnce(t *testing.T) {
	u := between([]history.Sample{
		{Time: 1, Parties: map[string]history.Use{history.PartyWatcher: {}}},
		{Time: 1 + 13e8, Parties: map[string]history.Use{history.PartyWatcher: {CPUSeconds: 0.1234564}}},
	}, 1, 1+13e8)
	if got := u.cores(history.PartyWatcher); *got != 0.0949665 {
		t.Errorf("%v cores", *got)
	}
	if got := u.parties()[history.PartyWatcher].CPUSeconds; *got != 0.123456 {
		t.Errorf("%v s", *got)
	}
}

// TestP99OfFewIsTheMaximum: of 51 to 99 values the nearest rank would be the second largest.
func TestP99OfFewIsTheMaximum(t *testing.T) {
	for _, n := range []int64{1, 50, 51, 92, 99, 100, 200} {
		h := NewHistogram()
		for i := range n {
			h.Add((i + 1) * 1e9)
		}
		q, err := h.Quantiles(Seconds)
		if err != nil {
			t.Fatal(err)
		}
		if isMax := q.P99 == q.Max; isMax != (n < 100) {
			t.Errorf("of %d values p99 is %v and the maximum %v", n, q.P99, q.Max)
		}
	}
}

// TestLargestReplica: of watchers that share the work the largest is a figure of its own, beside all of them together; one alone is the largest.
func TestLargestReplica(t *testing.T) {
	for _, tc := range []struct {
		name     string
		replicas []float64 // MiB; the first takes 0.1 cores, the next 0.2, …
		shards   int
		rss      float64 // 0: unknown
		cores    float64
	}{
		{"one watcher", nil, 0, 0, 0},
		{"two", []float64{300, 200}, 4, 300, 0.2},
		{"four", []float64{10, 40, 30, 20}, 4, 40, 0.4},
	} {
		e := backlog(0)
		e.cell.Scenario.Watcher.Shards, e.cell.Scenario.Watcher.Replicas = tc.shards, max(1, len(tc.replicas))
		for i := range e.samples {
			for n, mib := range tc.replicas {
				e.samples[i].Parties[history.Replica+strconv.Itoa(n+1)] = history.Use{RSSBytes: mib * (1 << 20), CPUSeconds: 0.1 * float64(n+1) * float64(e.samples[i].Time) / 1e9}
			}
		}
		w := e.figures(t).Watcher
		if tc.rss == 0 {
			if w.ReplicaRSSPeakMiB != nil || w.ReplicaCPUCores != nil {
				t.Errorf("%s: %v", tc.name, *w.ReplicaRSSPeakMiB)
			}
			continue
		}
		approx(t, tc.name, w.ReplicaRSSPeakMiB, tc.rss, 1e-6)
		approx(t, tc.name, w.ReplicaCPUCores, tc.cores, 1e-3)
	}
	e := backlog(0)
	e.cell.Scenario.Watcher.Shards, e.cell.Scenario.Watcher.Replicas = 4, 2
	for i := range e.samples {
		s := &e.samples[i]
		s.Parties[history.Replica+"1"] = history.Use{RSSBytes: 100 << 20, CPUSeconds: float64(s.Time) / 1e10}
		if i < len(e.samples)-1 {
			s.Parties[history.Replica+"2"] = history.Use{RSSBytes: 200 << 20}
		}
		s.Asked = new(float64(i))
	}
	w := e.figures(t).Watcher
	approx(t, "one that has ended", w.ReplicaRSSPeakMiB, 200, 1e-6)
	if !w.Disturbed || w.ReplicaCPUCores != nil {
		t.Errorf("disturbed %v by requests for metrics: %v cores per replica", w.Disturbed, value(w.ReplicaCPUCores))
	}
	e = backlog(0)
	e.cell.Scenario.Watcher.Shards, e.cell.Scenario.Watcher.Replicas = 4, 1
	if w := e.figures(t).Watcher; w.ReplicaRSSPeakMiB == nil || *w.ReplicaRSSPeakMiB != *w.RSSPeakMiB {
		t.Errorf("one with all shards: %v", w.ReplicaRSSPeakMiB)
	}
}
