package measure

import (
	"slices"
	"testing"
)

// Readings that overlap in time are put in order: a curve never goes back.
func TestCurvesAreInOrder(t *testing.T) {
	use := func(cpu float64) map[string]Use { return map[string]Use{PartyWatcher: {CPUSeconds: cpu, Read: -1}} }
	got := curves([]Sample{{At: 1e9, Parties: use(1)}, {At: 3e9, Parties: use(3)}, {At: 2e9, Parties: use(2)}}, nil, nil, 0)
	if s := got["watcher.rssMiB"]; !slices.Equal(s.T, []float64{1, 2, 3}) {
		t.Errorf("times %v", s.T)
	}
	if s := got["watcher.cpuCores"]; !slices.Equal(s.V, []float64{1, 1}) {
		t.Errorf("cores %v, want 1 all the time", s.V)
	}
}
