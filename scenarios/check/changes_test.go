package check

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Times in these tables are milliseconds after t0.

func opOf(id int64, typ, uid string, rv uint64, ms int64) oplog.Record {
	return oplog.Record{
		ID: id, Phase: oplog.PhaseLoad, Type: typ, Kind: "Pod", Namespace: "n", Name: "a", UID: uid, ResourceVersion: rv,
		Intended: at(ms), Started: at(ms), Finished: at(ms + 5), Status: 200,
	}
}

func putOf(uid string, rv uint64, received, responded int64) ledger.Entry {
	return ledger.Entry{
		Method: "PUT", Kind: "Pod", Namespace: "n", Name: "a", UID: uid, ResourceVersion: rv,
		Received: at(received), Applied: at(received), Responded: at(responded), Status: 200, Effect: ledger.EffectReplaced,
	}
}

// deleteOf is a DELETE that removed version rv of that uid, or found nothing.
func deleteOf(uid string, rv uint64, received, responded int64) ledger.Entry {
	e := putOf(uid, rv, received, responded)
	e.Method, e.Effect = "DELETE", ledger.EffectDeleted
	if uid == "" {
		e.Effect = ledger.EffectNone
	}
	return e
}

const never = int64(-1)

// storedAt is when each change was stored, in milliseconds after t0, by its operation.
func storedAt(ops []oplog.Record, entries []ledger.Entry) map[int64]int64 {
	out := make(map[int64]int64)
	for c := range Changes(&Meta{}, ops, entries) {
		out[c.Operation] = never
		if c.Stored != 0 {
			out[c.Operation] = (c.Stored - t0) / 1e6
		}
	}
	return out
}

// Operations of the tables: one object, and its successor under the same name.
var (
	create1 = opOf(1, oplog.TypeCreate, "u1", 10, 0)
	patch1  = opOf(2, oplog.TypePatch, "u1", 20, 10)
	delete1 = opOf(3, oplog.TypeDelete, "u1", 20, 20)
	create2 = opOf(4, oplog.TypeCreate, "u2", 40, 40)
	patch2  = opOf(5, oplog.TypePatch, "u2", 50, 50)
	delete2 = opOf(6, oplog.TypeDelete, "u2", 50, 60)
)

// TestStored: what the random histories of TestStoredByDefinition do not have.
func TestStored(t *testing.T) {
	one := []oplog.Record{create1, patch1, delete1}
	refused := putOf("u1", 10, 6, 100)
	refused.Status, refused.Effect, refused.Applied = 503, ledger.EffectRejected, 0
	unacknowledged := putOf("u1", 10, 6, 100)
	unacknowledged.Status = 503
	unanswered := putOf("u1", 10, 6, 100)
	unanswered.Responded = 0
	tampered := putOf("u1", 20, 16, 100)
	tampered.Fault = history.FaultTamper
	otherName := putOf("u1", 10, 6, 90)
	otherName.Name = "b"
	for _, c := range []struct {
		name   string
		ops    []oplog.Record
		ledger []ledger.Entry
		want   map[int64]int64 // by operation; those left out never arrive
	}{
		{"nor does its terminating state", one, []ledger.Entry{putOf("u1", 25, 30, 100)}, map[int64]int64{1: 100, 2: 100}},
		{"the deletion of an unknown older uid, sent before", one, []ledger.Entry{deleteOf("u0", 5, 15, 120)}, nil},
		{"a successor that the op log does not know", one, []ledger.Entry{putOf("u9", 40, 45, 130)}, map[int64]int64{1: 130, 2: 130, 3: 130}},
		{"the predecessor of the name", one, []ledger.Entry{putOf("u0", 5, 2, 80)}, nil},
		{"another name", one, []ledger.Entry{otherName}, nil},
		{"a refused request", one, []ledger.Entry{refused}, nil},
		{"a request whose client was told that it failed", one, []ledger.Entry{unacknowledged}, nil},
		{"an unanswered request", one, []ledger.Entry{unanswered}, nil},
		{"the runner's own request", one, []ledger.Entry{tampered}, nil},
		{"an object that someone else deleted", []oplog.Record{create1, patch1}, []ledger.Entry{putOf("u1", 10, 6, 8), deleteOf("u1", 10, 100, 180)}, map[int64]int64{1: 8, 2: 180}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := storedAt(c.ops, c.ledger)
			if len(got) != len(c.ops) {
				t.Errorf("%d changes of %d operations", len(got), len(c.ops))
			}
			for id, ms := range got {
				want, arrives := c.want[id]
				if !arrives {
					want = never
				}
				if ms != want {
					t.Errorf("operation %d: stored at %d ms, want %d", id, ms, want)
				}
			}
		})
	}
}

// TestChanges: which operations are changes, and all that is said of one.
func TestChanges(t *testing.T) {
	failed, warm, beat, beside := opOf(7, oplog.TypePatch, "u1", 30, 70), opOf(8, oplog.TypePatch, "u1", 31, 80), opOf(9, oplog.TypeHeartbeat, "u1", 32, 90), opOf(10, oplog.TypePatch, "u1", 33, 100)
	failed.Status, warm.Phase, beside.Bystander = 500, oplog.PhaseWarmup, true
	retried := putOf("u1", 10, 3, 0)
	retried.Responded, retried.Fault = 0, "late"
	slow := putOf("u1", 33, 104, 9_000) // the time between receipt and answer needs more than 32 bits
	late := opOf(11, oplog.TypeDelete, "u1", 33, 7_000)
	late.Intended = at(110)
	got := map[int64]history.Change{}
	for c := range Changes(&Meta{}, []oplog.Record{create1, patch1, failed, warm, beat, beside, late},
		[]ledger.Entry{retried, putOf("u1", 10, 4, 9), slow, putOf("u1", 10, 105, 107), deleteOf("u1", 33, 7_010, 7_020)}) {
		got[c.Operation] = c
	}
	for id, want := range map[int64]history.Change{
		1:  {Intended: at(0), Started: at(0), Finished: at(5), Stored: at(9), Arrived: at(4)},
		2:  {Intended: at(10), Started: at(10), Finished: at(15), Stored: at(7_020), Arrived: at(104)},
		10: {Intended: at(100), Started: at(100), Finished: at(105), Stored: at(7_020), Arrived: at(104), Bystander: true},
		11: {Intended: at(110), Started: at(7_000), Finished: at(7_005), Stored: at(7_020), Arrived: at(7_010), Deletion: true},
	} {
		want.Operation, want.Kind, want.Gone, want.Hit = id, "Pod", true, true
		if got[id] != want {
			t.Errorf("operation %d:\n got %+v\nwant %+v", id, got[id], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d changes: %+v", len(got), got)
	}
}

// TestMeasured: what G7 and G8 are judged by may depend on the record.
func TestMeasured(t *testing.T) {
	s := story{ops: recreated, requests: []string{"15 PUT web u1 100", "45 DELETE web", "65 PUT web u2 125"}, samples: samples([]float64{5, 50, 5}, []float64{1, 1, 1}), meta: loaded}
	h := s.history(t)
	var seen Measured
	h.Bounds = func(m Measured) (*Ceilings, *Isolation) {
		seen = m
		return &Ceilings{RSSBytes: new(40.0)}, nil
	}
	v := mustJudge(t, h)
	n := 0
	for c := range seen.Changes {
		if c.Stored != 0 {
			n++
		}
	}
	if seen.Operations != int64(len(recreated)) || seen.PeakLive != 1 || n != len(recreated) {
		t.Errorf("%+v, %d stored", seen, n)
	}
	if c := v.Checks["G7"]; c.Violations != 1 {
		t.Errorf("G7 %+v", c)
	}
}

func TestPeakLive(t *testing.T) {
	b := newBook(&Meta{}, 0)
	named := func(name string, r oplog.Record) *oplog.Record { r.Name = name; return &r }
	last := opOf(9, oplog.TypeCreate, "u9", 9, 90)
	last.Phase = oplog.PhaseTeardown
	for _, r := range []*oplog.Record{named("a", create1), named("b", create2), named("a", delete1), named("b", patch2), named("c", last)} {
		b.addOp(r)
	}
	if b.peak != 2 {
		t.Errorf("%d objects at once, want 2", b.peak)
	}
}

// TestUnconfirmed: what took effect and was never acknowledged did arrive, and everything older with it.
func TestUnconfirmed(t *testing.T) {
	patch3 := opOf(7, oplog.TypePatch, "u1", 30, 30)
	lost := putOf("u1", 20, 15, 0)
	lost.Status = 0
	rejected := putOf("u1", 20, 15, 16)
	rejected.Applied, rejected.Status, rejected.Effect = 0, 503, ledger.EffectRejected
	for _, tc := range []struct {
		name    string
		entries []ledger.Entry
		want    []int64 // operations
	}{
		{"nothing", nil, nil},
		{"no answer", []ledger.Entry{lost}, []int64{1, 2}},
		{"refused", []ledger.Entry{rejected}, nil},
		{"acknowledged later", []ledger.Entry{lost, putOf("u1", 20, 25, 26)}, nil},
	} {
		var got []int64
		for c := range Changes(&Meta{}, []oplog.Record{create1, patch1, patch3}, tc.entries) {
			if c.Unconfirmed {
				got = append(got, c.Operation)
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// TestStoredInACutCell: one sender has sent the first object's DELETE, and what it owes of the second is queued. That
// DELETE is not the second's, although nothing follows.
func TestStoredInACutCell(t *testing.T) {
	ops := []oplog.Record{create1, delete1, create2, delete2}
	first := []ledger.Entry{putOf("u1", 10, 100, 150), deleteOf("u1", 10, 200, 250)}
	for _, tc := range []struct {
		name    string
		cut     bool
		entries []ledger.Entry
		want    map[int64]int64
	}{
		{"drained", false, first, map[int64]int64{1: 150, 3: 250, 4: 250, 6: 250}},
		{"cut", true, first, map[int64]int64{1: 150, 3: 250, 4: never, 6: never}},
		{"cut, after a DELETE that found nothing", true, append(first, deleteOf("", 0, 300, 350)), map[int64]int64{1: 150, 3: 250, 4: 350, 6: 350}},
	} {
		got := map[int64]int64{}
		for c := range Changes(&Meta{Cut: tc.cut}, ops, tc.entries) {
			got[c.Operation] = never
			if c.Stored != 0 {
				got[c.Operation] = (c.Stored - t0) / 1e6
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, d)
		}
	}
}

// TestChangesByObject: the changes of one name stand together, its deletions among them, and a deletion says whether
// its terminating state was seen.
func TestChangesByObject(t *testing.T) {
	other := opOf(7, oplog.TypeCreate, "v1", 30, 30)
	other.Name = "b"
	gone := opOf(8, oplog.TypeDelete, "v1", 30, 70)
	gone.Name = "b"
	ops := []oplog.Record{create1, other, delete1, create2, gone, delete2}
	objects, terminating := map[int]int{}, map[int64]bool{}
	last := -1
	for c := range Changes(&Meta{}, ops, []ledger.Entry{putOf("u1", 10, 100, 150), putOf("u1", 21, 200, 250), putOf("u2", 40, 300, 350)}) {
		if c.Object != last && objects[c.Object] > 0 {
			t.Errorf("the changes of object %d are apart", c.Object)
		}
		last = c.Object
		objects[c.Object]++
		terminating[c.Operation] = c.Terminating
	}
	if len(objects) != 2 || objects[0] != 4 || objects[1] != 2 {
		t.Errorf("changes per object: %v", objects)
	}
	if d := cmp.Diff(map[int64]bool{1: false, 3: true, 4: false, 6: false, 7: false, 8: false}, terminating); d != "" {
		t.Error(d)
	}
}

// TestFoundGone: a pod that somebody else deleted is not missed where it came and went unseen, and its deletion is no
// change of the load.
func TestFoundGone(t *testing.T) {
	found := delete1
	found.Phase, found.Started, found.Finished = oplog.PhaseOutside, patch1.Started, at(900)
	for _, tc := range []struct {
		name   string
		ledger []ledger.Entry
		want   map[int64]int64
	}{
		{"unseen", nil, map[int64]int64{1: never, 2: never}},
		{"deleted before it was known", []ledger.Entry{putOf("u1", 10, 6, 8), deleteOf("u1", 10, 30, 40)}, map[int64]int64{1: 8, 2: 40}},
	} {
		ops := []oplog.Record{create1, patch1, found}
		if d := cmp.Diff(tc.want, storedAt(ops, tc.ledger)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
		for c := range Changes(&Meta{}, ops, tc.ledger) {
			if !c.Gone {
				t.Errorf("%s: %+v, want it gone", tc.name, c)
			}
		}
	}
}

// TestLostDeletion: a deletion of what storage has is owed; of an object that storage never had it is not, nor where it
// took effect and nobody had the answer.
func TestLostDeletion(t *testing.T) {
	one := []oplog.Record{create1, patch1, delete1, create2}
	unanswered := deleteOf("u1", 20, 30, 40)
	unanswered.Responded, unanswered.Status = 0, 0
	next, same := putOf("u2", 40, 45, 50), putOf("u1", 20, 45, 50)
	next.Responded, next.Status, same.Responded, same.Status = 0, 0, 0, 0
	for _, c := range []struct {
		name              string
		ledger            []ledger.Entry
		gone, unconfirmed bool
	}{
		{"lost", []ledger.Entry{putOf("u1", 10, 6, 8)}, false, false},
		{"never seen", nil, true, false},
		{"took effect, no answer", []ledger.Entry{putOf("u1", 10, 6, 8), unanswered}, false, true},
		{"the next of its name took its place, no answer", []ledger.Entry{putOf("u1", 10, 6, 8), next}, false, true},
		{"an older state, no answer", []ledger.Entry{putOf("u1", 10, 6, 8), same}, false, false},
	} {
		for x := range Changes(&Meta{}, one, c.ledger) {
			if x.Deletion && (x.Stored != 0 || x.Gone != c.gone || x.Unconfirmed != c.unconfirmed) {
				t.Errorf("%s: %+v, want gone %v, unconfirmed %v", c.name, x, c.gone, c.unconfirmed)
			}
		}
	}
}
