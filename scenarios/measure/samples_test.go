package measure

import (
	"slices"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Readings that overlap in time are put in order: a curve never goes back.
func TestCurvesAreInOrder(t *testing.T) {
	use := func(cpu float64) map[string]history.Use {
		return map[string]history.Use{history.PartyWatcher: {CPUSeconds: cpu, Read: -1}}
	}
	b := curveBuilder{out: map[string]result.Series{}}
	b.sampled([]history.Sample{{Time: 1e9, Parties: use(1)}, {Time: 3e9, Parties: use(3)}, {Time: 2e9, Parties: use(2)}})
	got := b.out
	if s := got["watcher.rssMiB"]; !slices.Equal(s.T, []float64{1, 2, 3}) {
		t.Errorf("times %v", s.T)
	}
	if s := got["watcher.cpuCores"]; !slices.Equal(s.V, []float64{1, 1}) {
		t.Errorf("cores %v, want 1 all the time", s.V)
	}
}

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
