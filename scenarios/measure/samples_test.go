package measure

import (
	"slices"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestRestartedCountersAreNoTraffic: a new process counts from 0, so what its counters
// have grown since a former one's is not known, and no curve goes below 0.
func TestRestartedCountersAreNoTraffic(t *testing.T) {
	e := backlog(0)
	e.cell.Watcher.Restarts = 1
	for i := range e.samples {
		in := float64(i) * 1024
		if i > len(e.samples)/2 {
			in -= float64(len(e.samples)/2) * 1024
		}
		e.samples[i].NetIn, e.samples[i].NetOut = &in, new(0.0)
	}
	c := e.figures(t)
	if w := c.Watcher; w.NetKiBps != nil || w.NetInKiBps != nil || w.NetOutKiBps != nil {
		t.Errorf("traffic over a restart: %v KiB/s", *w.NetKiBps)
	}
	approx(t, "cpuCores", c.Watcher.CPUCores, 0.1, 0.005)
	curve := c.Series[result.SeriesWatcherNet].V
	if len(curve) < 50 || slices.Min(curve) < 0 {
		t.Errorf("the curve goes below 0, or has too few points: %v", curve)
	}
}

// TestNetworkHasOneSource: once the watcher's own account is gone (it was killed after the
// cut), what its read and write calls came to does not take its place.
func TestNetworkHasOneSource(t *testing.T) {
	e := backlog(9000)
	for i := range e.samples {
		if s := &e.samples[i]; s.Time <= at(8000) {
			s.NetIn, s.NetOut = new(float64(s.Time-at(0))/1e9*2048), new(0.0) // 2 KiB/s
		}
	}
	c := e.figures(t)
	approx(t, "net", c.Watcher.NetKiBps, 2, 1e-6)
	if curve := c.Series[result.SeriesWatcherNet]; slices.Max(curve.V) > 2.001 || slices.Max(curve.T) > 8 {
		t.Errorf("the curve has read and write calls: %v", curve.V)
	}
	for i := range e.samples {
		if e.samples[i].Time < at(1000) {
			e.samples[i].NetIn = nil
		}
	}
	if c = e.figures(t); c.Watcher.NetKiBps != nil {
		t.Errorf("%v KiB/s since a time at which nothing was known", *c.Watcher.NetKiBps)
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

// TestUseOfAShortCell: a load of 1 s between readings 250 ms apart. With readings at its
// edges the figures are exact; the nearest of the others missed a fifth of the work, or took
// what was before.
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
