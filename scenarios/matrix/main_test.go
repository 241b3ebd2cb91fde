package matrix

import (
	"iter"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
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

// changes matches a record's operations with its requests.
func changes(ops []oplog.Record, entries []ledger.Entry) iter.Seq[history.Change] {
	acks := measure.NewAcks(entries)
	acks.Learn(ops)
	received := slices.Clone(entries)
	hit := map[uint64]bool{}
	for i, e := range received {
		if e.Acked() {
			received[i].Responded = e.Received
		}
		if e.Fault != "" {
			hit[object(e.Kind, e.Namespace, e.Name)] = true
		}
	}
	arrivals := measure.NewAcks(received)
	arrivals.Learn(ops)
	return func(yield func(history.Change) bool) {
		for _, op := range ops {
			if op.Phase != oplog.PhaseLoad || op.Type == oplog.TypeHeartbeat || !op.OK() {
				continue
			}
			c := history.Change{
				Kind: op.Kind, Bystander: op.Bystander, Deletion: op.Type == oplog.TypeDelete,
				Intended: op.Intended, Started: op.Started, Finished: op.Finished, Gone: acks.Gone(op.UID), Hit: hit[object(op.Kind, op.Namespace, op.Name)],
			}
			c.Stored, _ = acks.Of(op)
			c.Arrived, _ = arrivals.Of(op)
			if !yield(c) {
				return
			}
		}
	}
}
