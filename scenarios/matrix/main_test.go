package matrix

import (
	"iter"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
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
	numbered := slices.Clone(ops)
	for i := range numbered {
		numbered[i].ID = int64(i + 1)
	}
	return check.Changes(&check.Meta{}, numbered, entries)
}

// seen is what rules may use of such a record.
func seen(ops []oplog.Record, entries []ledger.Entry, figures *result.Cell) Seen {
	return Seen{Measured: check.Measured{Operations: int64(len(ops)), PeakLive: 2, Changes: changes(ops, entries)}, Figures: figures}
}
