package oracle

import (
	"path/filepath"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// profiled is the folder of a run with a profile that never happened: the record of plain
// pods, and after it some of what a life writes.
func profiled(t *testing.T, sets ...string) string {
	t.Helper()
	dir := t.TempDir()
	assesstest.Run(t, dir, assesstest.Scenario(t, "profiled", "", append(sets, "load.profile=service-churn")...), 30, nil)
	for _, c := range cellsOf(t, dir) {
		extend(t, c)
	}
	res, err := assess.Run(t.Context(), dir)
	if err == nil {
		err = result.Save(filepath.Join(dir, result.FileName), res)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func cellsOf(t *testing.T, dir string) (dirs []string) {
	t.Helper()
	r, err := history.LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range r.Cells {
		dirs = append(dirs, history.CellDir(dir, id))
	}
	return dirs
}

// extend appends to a cell's op log and ledger.
func extend(t *testing.T, dir string) {
	t.Helper()
	all, err := history.Ops(dir)
	ops := collected(t, all, err)
	requests, err := history.Ledger(dir)
	entries := collected(t, requests, err)
	for i := range entries {
		entries[i].Bytes = 3000 + int(entries[i].Seq)
	}
	last, seq := ops[len(ops)-1], uint64(len(entries))
	write := func(kind, typ, name string, bytes int, change func(*oplog.Record, *ledger.Entry)) {
		o := last
		o.ID, o.Kind, o.Type, o.Name, o.UID, o.Bystander, o.ResourceVersion = last.ID+1, kind, typ, name, "u"+name, false, last.ResourceVersion+1
		o.Intended, o.Started, o.Finished = o.Intended+1e6, o.Started+1e6, o.Finished+1e6
		last = o
		e := entries[0]
		seq++
		e.Seq, e.Kind, e.Name, e.UID, e.ResourceVersion, e.Bytes = seq, kind, name, o.UID, o.ResourceVersion, bytes
		e.Received, e.Applied, e.Responded = o.Finished+1e6, o.Finished+2e6, o.Finished+3e6
		if typ == oplog.TypeDelete {
			e.Method, e.Effect = "DELETE", ledger.EffectDeleted
		}
		if change != nil {
			change(&o, &e)
		}
		ops, entries = append(ops, o), append(entries, e)
	}
	for i, typ := range []string{oplog.TypeCreate, oplog.TypeReady, oplog.TypeCrashed, oplog.TypeReady, oplog.TypeUnready, oplog.TypeTerminate, oplog.TypeDelete} {
		write("Pod", typ, "life", 12_000+i, nil)
	}
	for range 3 {
		write("Event", oplog.TypeUpdate, "seen", 1250, nil)
	}
	write("ReplicaSet", oplog.TypeStatus, "rs", 6000, nil)
	write("Node", oplog.TypeUnready, "lost", 45_000, nil)
	write("Job", oplog.TypeCreate, "job", 5000, nil)
	write("Job", oplog.TypeSucceeded, "job", 5000, nil)
	write("Job", oplog.TypeDelete, "job", 0, nil)
	write("Gadget", oplog.TypeUpdate, "of-nobody", 77, nil)
	write("ConfigMap", oplog.TypeUpdate, "of-load", 500, nil) // beside those of the bystander
	write("Lease", oplog.TypeHeartbeat, "lost", 860, nil)
	write("Pod", oplog.TypeReady, "refused", 1e6, func(o *oplog.Record, e *ledger.Entry) { o.Status, e.Status = 409, 500 })
	write("Pod", oplog.TypeReady, "before", 1e6, func(o *oplog.Record, e *ledger.Entry) { o.Phase, e.Received = oplog.PhaseWarmup, ops[0].Started-5 })

	saveOps(t, filepath.Join(dir, history.FileOps), ops)
	saveLedger(t, dir, entries)
}
