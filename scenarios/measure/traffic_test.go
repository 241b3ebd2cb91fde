package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
)

// TestTraffic: with a profile the load's writes are counted by kind; what is not the load's, or did not come to be, is
// not, and plain pods have no traffic at all.
func TestTraffic(t *testing.T) {
	e := backlog(0)
	e.cell.Scenario.Load.Profile = plan.ProfileServiceChurn
	e.ops = nil
	write := func(kind, typ string, change func(*oplog.Record)) {
		rv := uint64(len(e.ops) + 1)
		ms := float64(rv) * 100
		o := op(typ, "a", "u", rv, ms, ms, ms+5)
		o.Kind = kind
		if change != nil {
			change(&o)
		}
		e.ops = append(e.ops, o)
	}
	for _, typ := range []string{oplog.TypeCreate, oplog.TypeReady, oplog.TypeTerminate, oplog.TypeDelete} {
		write("Pod", typ, nil)
	}
	write("Event", oplog.TypeCreate, nil)
	write("ReplicaSet", oplog.TypeStatus, nil)
	write("Pod", oplog.TypePatch, func(o *oplog.Record) { o.Phase = oplog.PhaseWarmup })
	write("Pod", oplog.TypePatch, func(o *oplog.Record) { o.Phase = oplog.PhasePrepare })
	write("Pod", oplog.TypePatch, func(o *oplog.Record) { o.Status = 409 })
	write("Lease", oplog.TypeHeartbeat, nil)
	write("Gadget", oplog.TypePatch, func(o *oplog.Record) { o.Bystander = true })
	want := &result.Traffic{Kinds: map[string]result.KindTraffic{
		"Pod": {Added: 1, Modified: 2, Deleted: 1}, "Event": {Added: 1}, "ReplicaSet": {Modified: 1},
	}}
	if d := cmp.Diff(want, e.figures(t).Traffic); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	e.cell.Scenario.Load.Profile = ""
	if got := e.figures(t).Traffic; got != nil {
		t.Errorf("plain pods have %+v", got)
	}
}
