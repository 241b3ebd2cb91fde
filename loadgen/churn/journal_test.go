package churn

import (
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// TestJournal: requests that no plan foresees have ids of their own, and the phase under way.
func TestJournal(t *testing.T) {
	log := &recorder{}
	j := newJournal(log)
	ids := map[int64]bool{}
	for _, phase := range []string{oplog.PhasePrepare, oplog.PhaseLoad, oplog.PhaseTeardown} {
		j.enter(phase)
		r := j.free("Lease", "ns", "l", oplog.TypeHeartbeat)
		if ids[r.ID] || r.ID < plan.FirstFreeID || r.Phase != phase || r.Thread != plan.ThreadNone {
			t.Errorf("%+v", r)
		}
		ids[r.ID] = true
		j.record(r, answer{status: 200, version: 7})
	}
	if last := log.records[len(log.records)-1]; len(log.records) != 3 || !last.OK() || last.ResourceVersion != 7 ||
		last.Finished < last.Started {
		t.Errorf("%d records, the last %+v", len(log.records), last)
	}
}
