package matrix

import (
	"iter"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Rule looks at a cell's record as it is read, once, and then states facts. Any of its
// functions may be nil. A rule that needs to know what was done reads it from the Case
// before the record is read.
type Rule struct {
	// Operation sees every record of the op log, then Request every entry of the
	// ledger; see history.Observer.
	Operation func(*oplog.Record)
	Request   func(*ledger.Entry)
	// Facts states what came out, in the order in which it is to be shown: a column's
	// first fact is its value in the table.
	Facts func(Seen) []result.Fact
	// Vacuous says why the fault proves nothing, if so.
	Vacuous func(Seen) []string
}

// Seen is what a rule may use once the record has been read.
type Seen struct {
	// Changes are the operations of the load with the time at which storage had them.
	Changes iter.Seq[history.Change]
	// Figures are the cell's, without its checks.
	Figures *result.Cell
}

// Case is one cell before its logs are read.
type Case struct {
	Cell  *history.Cell
	Deeds []history.Deed
	// Baseline is the row F0 of the same matrix, with which I is compared; nil if there
	// is none.
	Baseline *result.Cell
}
