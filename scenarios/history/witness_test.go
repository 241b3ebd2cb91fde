package history

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

func logOf(t *testing.T, dir, name string, records ...oplog.Record) {
	t.Helper()
	w, err := oplog.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		r.Kind, r.Name = "Pod", "of "+r.UID
		w.Append(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func told(t *testing.T, ops iter.Seq2[oplog.Record, error]) (all []string) {
	t.Helper()
	for r, err := range ops {
		if err != nil {
			return append(all, "error")
		}
		all = append(all, fmt.Sprintf("%s %s %s %d", r.Phase, r.Type, r.UID, r.ResourceVersion))
	}
	return all
}

// The walk has every write once: the load's own by its own account, the others by the witness's, in the order in which
// they were known.
func TestWitnessedBesideOps(t *testing.T) {
	dir := t.TempDir()
	logOf(t, dir, FileOps,
		oplog.Record{Phase: oplog.PhaseLoad, Type: oplog.TypeCreate, UID: "u1", ResourceVersion: 10, Finished: 100, Status: 201},
		oplog.Record{Phase: oplog.PhaseLoad, Type: oplog.TypePatch, UID: "u1", ResourceVersion: 12, Finished: 120, Status: 409, Error: "conflict"},
		oplog.Record{Phase: oplog.PhaseLoad, Type: oplog.TypeDelete, UID: "u1", ResourceVersion: 14, Finished: 200, Status: 200},
	)
	ops, err := Ops(dir)
	if err != nil {
		t.Fatal(err)
	}
	alone := told(t, ops)
	if len(alone) != 3 {
		t.Fatalf("without a witness: %q", alone)
	}
	seen := func(kind, uid string, rv uint64, finished int64) oplog.Record {
		return oplog.Record{Phase: oplog.PhaseWitnessed, Type: kind, UID: uid, ResourceVersion: rv, Started: 1, Intended: finished, Finished: finished, Status: 200}
	}
	logOf(t, dir, FileWitness,
		seen(oplog.TypeCreate, "u1", 10, 101),  // the load's
		seen(oplog.TypeCreate, "u2", 11, 110),  // another's
		seen(oplog.TypePatch, "u1", 12, 125),   // another's: the load's own failed
		seen(oplog.TypePatch, "u1", 14, 130),   // another's, too
		seen(oplog.TypeDelete, "u1", 14, 199),  // the load's
		seen(oplog.TypeDelete, "u2", 11, 1000), // after the last operation
	)
	want := []string{
		"load create u1 10", "witnessed create u2 11", "load patch u1 12", "witnessed patch u1 12", "witnessed patch u1 14", "load delete u1 14", "witnessed delete u2 11",
	}
	if ops, err = Ops(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 { // every walk begins anew
		if got := told(t, ops); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	for r := range ops { // a walk that is given up leaves nothing running
		if r.Phase == oplog.PhaseWitnessed {
			break
		}
	}
}

// A record that a witness did not complete is no evidence of silence.
func TestWitnessCut(t *testing.T) {
	dir := t.TempDir()
	logOf(t, dir, FileOps)
	logOf(t, dir, FileWitness, oplog.Record{Phase: oplog.PhaseWitnessed, Type: oplog.TypeCreate, UID: "u1", ResourceVersion: 1, Finished: 1, Status: 200})
	path := filepath.Join(dir, FileWitness)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	ops, err := Ops(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := told(t, ops); len(got) == 0 || got[len(got)-1] != "error" {
		t.Errorf("a cut record reads as %q", got)
	}
}
