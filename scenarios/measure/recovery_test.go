package measure

import (
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func opAt(typ, name, uid string, rv uint64, finished int64) oplog.Record {
	return oplog.Record{Phase: oplog.PhaseLoad, Type: typ, Kind: "Pod", Namespace: "n", Name: name, UID: uid, ResourceVersion: rv, Intended: finished - 2, Started: finished - 1, Finished: finished, Status: 200}
}

func acked(method, name, uid string, rv uint64, at int64) ledger.Entry {
	e := ledger.Entry{Method: method, Kind: "Pod", Namespace: "n", Name: name, UID: uid, ResourceVersion: rv, Received: at, Applied: at, Responded: at, Status: 200, Effect: ledger.EffectReplaced}
	if method == "DELETE" {
		e.Effect = ledger.EffectDeleted
	}
	return e
}

func TestRecovery(t *testing.T) {
	const s = int64(1e9)
	ops := []oplog.Record{opAt(oplog.TypeCreate, "a", "u", 1, 1*s), opAt(oplog.TypePatch, "a", "u", 2, 2*s), opAt(oplog.TypeCreate, "b", "v", 3, 9*s)}
	all := []ledger.Entry{acked("PUT", "a", "u", 1, 1*s), acked("PUT", "a", "u", 2, 7*s), acked("PUT", "b", "v", 3, 10*s)}
	if got, ok := Recovery(check.Changes(ops, all), 5*s); !ok || got != 2 {
		t.Errorf("%v, %v; the patch of second 2 arrived in second 7, the fault ended in second 5", got, ok)
	}
	if _, ok := Recovery(check.Changes(ops, all[:1]), 5*s); ok {
		t.Error("what never arrived is no recovery")
	}
	brief := append(ops, opAt(oplog.TypeCreate, "c", "w", 4, 3*s), opAt(oplog.TypeDelete, "c", "w", 4, 4*s))
	if got, ok := Recovery(check.Changes(brief, all), 5*s); !ok || got != 2 {
		t.Errorf("%v, %v; an object that came and went unseen is not missed", got, ok)
	}
	if _, ok := Recovery(check.Changes(nil, all), 5*s); ok {
		t.Error("nothing happened, and it recovered")
	}
}

// TestBystanderFromAnswer: what the apiserver took, and what was late, does not count.
func TestBystanderFromAnswer(t *testing.T) {
	const ms = int64(1e6)
	beside := func(name string, started, finished int64) oplog.Record {
		op := opAt(oplog.TypePatch, name, "u", 1, finished)
		op.Bystander, op.Intended, op.Started = true, 0, started
		return op
	}
	ops := []oplog.Record{
		beside("slow apiserver", 0, 900*ms), beside("late", 800*ms, 810*ms), beside("faster than the answer", 0, 500*ms), beside("never arrived", 0, ms),
		opAt(oplog.TypePatch, "of the load", "u", 1, ms),
	}
	changes := check.Changes(ops, []ledger.Entry{
		acked("PUT", "slow apiserver", "u", 1, 930*ms), acked("PUT", "late", "u", 1, 820*ms), acked("PUT", "faster than the answer", "u", 1, 400*ms),
		acked("PUT", "of the load", "u", 1, 9000*ms),
	})
	q, err := BystanderFromAnswer(changes).Quantiles(Seconds)
	if err != nil || q.Count != 3 || q.Max < 0.0299 || q.Max > 0.0301 || q.P50 < 0.0099 || q.P50 > 0.0101 {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestAttempts(t *testing.T) {
	refused := acked("PUT", "a", "u", 1, 5)
	refused.Applied, refused.Status, refused.Effect = 0, 503, ledger.EffectRejected
	attempts, states := Attempts([]ledger.Entry{refused, acked("PUT", "a", "u", 1, 6), acked("PUT", "a", "u", 1, 7), acked("DELETE", "a", "u", 1, 8), acked("PUT", "late", "w", 9, 99)}, 0, 50)
	if attempts != 4 || states != 2 {
		t.Errorf("%d attempts of %d states", attempts, states)
	}
}

func TestDisobeyed(t *testing.T) {
	const s = int64(1e9)
	told := acked("PUT", "a", "u", 1, 1*s)
	told.Status, told.Fault = 429, "throttle"
	pause := func(f string) int64 {
		if f == "throttle" {
			return 2 * s
		}
		return 0
	}
	for at, want := range map[int64]int64{2 * s: 1, 3 * s: 0, 3*s - 1e6: 0} {
		obeyed, disobeyed, first := Disobeyed([]ledger.Entry{told, acked("PUT", "a", "u", 1, at), acked("PUT", "a", "u", 2, at)}, pause, 20e6)
		if disobeyed != want || obeyed != 1-want || (first == "") != (want == 0) {
			t.Errorf("again after %d ns: obeyed %d, disobeyed %d, %q", at-s, obeyed, disobeyed, first)
		}
	}
}

func TestPeakLive(t *testing.T) {
	if n := PeakLive([]oplog.Record{opAt(oplog.TypeCreate, "a", "u", 1, 1), opAt(oplog.TypeCreate, "b", "v", 2, 2), opAt(oplog.TypeDelete, "a", "u", 1, 3), opAt(oplog.TypePatch, "b", "v", 4, 4)}); n != 2 {
		t.Errorf("%d", n)
	}
}
