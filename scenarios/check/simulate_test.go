package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// world is a simulated run of a correct watcher: names are created, changed, deleted and created again; per name
// requests go one at a time, in order, sometimes merged, sometimes refused and retried. What it yields must pass.
type world struct {
	ops     []oplog.Record
	entries []ledger.Entry // by time of application
	events  result.Events
}

// deed is what one operation makes the watcher send.
type deed struct {
	rec    oplog.Record
	delete bool
}

func simulate(seed uint64, names, perName int) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &world{}
	deeds := make([][]deed, names)
	uids := make([]string, names)
	lives := make([]int, names)
	rv, now := uint64(1000), int64(0)
	for i := range names * perName {
		n := rng.IntN(names)
		now += 1 + rng.Int64N(3)
		rv += 1 + rng.Uint64N(4)
		r := oplog.Record{
			ID: int64(i + 1), Phase: oplog.PhaseLoad, Kind: "Pod", Namespace: "a", Name: fmt.Sprintf("p%d", n),
			Started: at(now), Finished: at(now) + 5e5, Status: 201, ResourceVersion: rv,
		}
		switch {
		case uids[n] == "":
			lives[n]++
			uids[n] = fmt.Sprintf("u%d-%d", n, lives[n])
			r.Type = oplog.TypeCreate
		case rng.IntN(6) == 0:
			r.Type = oplog.TypeDelete
		default:
			r.Type = oplog.TypePatch
		}
		r.UID = uids[n]
		if r.Type == oplog.TypeDelete {
			uids[n] = ""
		}
		w.ops = append(w.ops, r)
		deeds[n] = append(deeds[n], deed{rec: r, delete: r.Type == oplog.TypeDelete})
		w.events.Received++
	}
	for _, d := range deeds {
		w.send(rng, d)
	}
	slices.SortStableFunc(w.entries, func(a, b ledger.Entry) int { return cmp.Compare(order(a), order(b)) })
	return w
}

func order(e ledger.Entry) int64 {
	if e.Applied == 0 {
		return e.Received
	}
	return e.Applied
}

// send makes one name's requests: each begins after the answer to the one before.
func (w *world) send(rng *rand.Rand, deeds []deed) {
	free := int64(0)
	for i, d := range deeds {
		if i+1 < len(deeds) && rng.IntN(4) == 0 {
			w.events.Coalesced++
			continue
		}
		for {
			e := ledger.Entry{
				Method: "PUT", Kind: "Pod", Namespace: "a", Name: d.rec.Name, UID: d.rec.UID, ResourceVersion: d.rec.ResourceVersion,
				Received: max(d.rec.Finished, free) + 1e5, Status: 200, Bytes: 3000,
			}
			if d.delete {
				e.Method, e.UID, e.ResourceVersion, e.Bytes = "DELETE", "", 0, 0
			}
			e.Applied = e.Received + 1e6 + rng.Int64N(2e7)
			e.Responded = e.Applied + 1e5
			free = e.Responded
			refused := rng.IntN(12) == 0
			if refused {
				e.Applied, e.Status, e.Code, e.Effect, e.Fault = 0, 503, 1405082, ledger.EffectRejected, "503"
				w.events.Retried++
			}
			w.entries = append(w.entries, e)
			if !refused {
				w.events.Sent++
				break
			}
		}
	}
}

func (w *world) history() *History {
	for i := range w.entries {
		if w.entries[i].Effect != ledger.EffectRejected {
			w.entries[i].Effect = ""
		}
	}
	stored := applyAll(w.entries)
	return &History{
		Meta: Meta{Counters: pods(w.events), Mode: ModeFaithful},
		Ops:  items(w.ops), Ledger: items(w.entries),
		State: items(append(stateRecords(history.SideApiserver, apiserverState(w.ops)), stateRecords(history.SideStorage, stored)...)),
	}
}

const simulatedSeeds = 60

func TestCorrectWatcherPasses(t *testing.T) {
	for seed := range uint64(simulatedSeeds) {
		v := mustJudge(t, simulate(seed, 12, 20).history())
		if failed := failing(v); len(failed) > 0 {
			t.Fatalf("seed %d (go test -run TestCorrectWatcherPasses): %v %+v", seed, failed, v.Checks)
		}
		for _, g := range []string{"G1", "G2", "G3", "G4", "G5", "G6", "G14"} {
			if v.Checks[g].Verdict != result.Pass {
				t.Fatalf("seed %d: %s %+v", seed, g, v.Checks[g])
			}
		}
		if *v.Lost != 0 || *v.Reordered != 0 {
			t.Fatalf("seed %d: lost %d, reordered %d", seed, *v.Lost, *v.Reordered)
		}
	}
}

// TestLedgerMustBeComplete: a gap is unusable evidence, not a verdict.
func TestLedgerMustBeComplete(t *testing.T) {
	w := simulate(1, 3, 10)
	h := w.history()
	broken := slices.Delete(slices.Clone(w.entries), 4, 5)
	h.Ledger = items(broken)
	_, err := Judge(t.Context(), h)
	var f *history.FormatError
	if !asFormat(err, &f) || f.Line != 5 {
		t.Fatalf("got %v", err)
	}
}
