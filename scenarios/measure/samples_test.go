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
