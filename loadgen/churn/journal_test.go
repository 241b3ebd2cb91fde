package churn

import (
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// TestJournal: requests that no plan foresees have ids of their own, also among several generators, and
// the phase under way.
func TestJournal(t *testing.T) {
	log := &recorder{}
	ids := map[int64]bool{}
	for part := range 2 {
		j := newJournal(log, part)
		for _, phase := range []string{oplog.PhasePrepare, oplog.PhaseTeardown} {
			j.enter(phase)
			r := j.free("Lease", "ns", "l", oplog.TypeHeartbeat)
			if ids[r.ID] || r.ID < plan.FirstFreeID || r.Phase != phase || r.Thread != plan.ThreadNone {
				t.Errorf("part %d: %+v", part, r)
			}
			ids[r.ID] = true
			j.record(r, answer{status: 200, version: 7})
		}
	}
	if last := log.records[len(log.records)-1]; len(log.records) != 4 || !last.OK() || last.ResourceVersion != 7 ||
		last.Finished < last.Started {
		t.Errorf("%d records, the last %+v", len(log.records), last)
	}
}
