package measure

import (
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestStallIsNoChance: the latency is fixed, so nothing is drawn; a machine that stood still for some of the requests
// is no heavy tail.
func TestStallIsNoChance(t *testing.T) {
	e := backlog(0)
	e.ops, e.entries = nil, nil
	for i := range 100 {
		at := float64(i) * 100
		took := 87.0
		if i%10 == 0 {
			took = 2000
		}
		e.ops = append(e.ops, op(oplog.TypeCreate, fmt.Sprint(i), "u", uint64(i+1), at, at, at+5))
		e.entries = append(e.entries, put(fmt.Sprint(i), "u", uint64(i+1), at+6, at+6+took))
	}
	e.cell.Planned = 100
	e.cell.DrainEnd = at(14000)
	e.cell.Scenario.Storage = spec.Storage{Latency: "87ms"}
	c := e.figures(t)
	t.Logf("seen %v of %v ms", *c.Storage.SeenMeanMs, c.Storage.LatencyMeanMs)
	if c.Valid {
		t.Errorf("storage took %.0f ms instead of 87 ms, and the cell is valid", *c.Storage.SeenMeanMs)
	}
}
