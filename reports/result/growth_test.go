package result

import (
	"math"
	"testing"
)

// rung is a valid cell of a ladder.
func rung(id string, objects int64, rate, memory, cpu float64) Cell {
	peak := 10 + 2*memory
	return Cell{
		ID: id, Repetition: 1, Valid: true, Params: map[string]string{"rung": id}, Load: Load{Prefill: objects, OfferedQPS: &rate, QPS: rate},
		Watcher: Watcher{RSSEndMiB: &memory, RSSHighestMiB: &peak, StoredCPU: &cpu}, Freshness: &Quantiles{P50: 0.01, P99: 0.02},
	}
}

// TestGrowth: exponents and bytes are of what is above the smallest rung, at the lowest
// rate, and of valid cells alone.
func TestGrowth(t *testing.T) {
	bad := rung("bad", 10_000, 10, 9999, 9999)
	bad.Valid = false
	unlimited := rung("unlimited", 100+1024, 1, 300, 2)
	unlimited.Load.OfferedQPS, unlimited.Load.QPS = nil, 12_000
	// Above 20 MiB and 0.1 s: memory as objects^1 (1 MiB per 1024 objects), CPU as objects^1.5.
	r := Results{
		Scenario: map[string]any{"ladder": true},
		Cells: []Cell{
			rung("c", 100+4*1024, 10, 24, 0.1+8*0.5), rung("fast", 100+1024, 5000, 77, 1), bad, unlimited,
			rung("a", 100, 10, 20, 0.1), rung("b", 100+1024, 10, 21, 0.1+0.5),
		},
	}
	r.MeasureGrowth()
	g := r.Growth
	var order []string
	for _, x := range g.Rungs {
		order = append(order, x.Point)
	}
	if want := []string{"a", "b", "fast", "unlimited", "c", "bad"}; len(order) != len(want) {
		t.Fatalf("rungs %v", order)
	} else {
		for i := range want {
			if order[i] != want[i] {
				t.Fatalf("rungs %v, want %v", order, want)
			}
		}
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if m := g.Memory; m == nil || !near(m.Exponent, 1) || !near(m.Last, 1) || m.Rungs != 2 {
		t.Errorf("memory %+v", m)
	}
	if p := g.Peak; p == nil || !near(p.Exponent, 1) || *g.Rungs[0].PeakMiB != 50 {
		t.Errorf("peak %+v", p)
	}
	if c := g.SyncCPU; c == nil || !near(c.Exponent, 1.5) || c.Rungs != 2 {
		t.Errorf("sync CPU %+v", c)
	}
	for i, want := range []float64{0, 1024, 0, 0, 1024, 0} {
		got := g.Rungs[i].BytesPerObject
		if (got == nil) != (want == 0) || got != nil && !near(*got, want) {
			t.Errorf("%s: bytes per object %v, want %v", g.Rungs[i].Point, got, want)
		}
	}
	if x := g.Rungs[3]; x.Rate != nil || *x.QPS != 12_000 {
		t.Errorf("unlimited: %+v", x)
	}
	r.Cells = r.Cells[:2]
	if r.MeasureGrowth(); r.Growth.Memory != nil || r.Growth.SyncCPU != nil {
		t.Errorf("exponents of too few rungs: %+v", r.Growth)
	}
	r.Scenario = nil
	if r.MeasureGrowth(); r.Growth != nil {
		t.Error("growth of a scenario that is no ladder")
	}
}
