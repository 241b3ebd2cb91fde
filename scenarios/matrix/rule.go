package matrix

import (
	"fmt"
	"hash/maphash"
	"iter"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Rule looks at a cell's record as it is read, once, and then states facts. Any of its functions may be nil. A rule
// that needs to know what was done reads it from the Case before the record is read.
type Rule struct {
	// Operation sees every record of the op log, then Request every entry of the ledger; see history.Observer. State sees
	// both sides' final states.
	Operation func(*oplog.Record)
	Request   func(*ledger.Entry)
	State     func(*history.StateRecord)
	// Facts states what came out, in the order in which it is to be shown: a column's first fact is its value in the
	// table.
	Facts func(Seen) []result.Fact
	// First puts the facts before those of General, where a column's value should be this rule's.
	First bool
	// Vacuous returns why the fault proves nothing, if so.
	Vacuous func(Seen) []string
	// Cached is how many objects beside the load's the watcher had to hold at once; the ceiling on its memory allows for
	// them.
	Cached int
}

// Rules are the rules of a cell; they see its record as one.
type Rules []Rule

// Operation shows a record of the op log to the rules that look at them.
func (all Rules) Operation(op *oplog.Record) {
	for _, r := range all {
		if r.Operation != nil {
			r.Operation(op)
		}
	}
}

// Request shows an entry of the ledger to the rules that look at them.
func (all Rules) Request(e *ledger.Entry) {
	for _, r := range all {
		if r.Request != nil {
			r.Request(e)
		}
	}
}

// State shows an object's final state to the rules that look at it.
func (all Rules) State(s *history.StateRecord) {
	for _, r := range all {
		if r.State != nil {
			r.State(s)
		}
	}
}

// Seen is available to a rule once the record has been read.
type Seen struct {
	check.Measured
	// Figures are the cell's; while facts are stated, with its checks.
	Figures *result.Cell
}

// Case is one cell before its logs are read.
type Case struct {
	Cell    *history.Cell
	Deeds   []history.Deed
	Marks   []history.Mark
	Samples []history.Sample
	// Before and After are the watcher's metrics as the load began (after a restart, as the last process had caught up)
	// and at the end; nil for another watcher.
	Before, After history.Scrape
	// CustomKinds are the kinds of custom resources that came and went.
	CustomKinds []string
	// Baseline is the row F0 of the same matrix, with which I is compared; nil if there is none.
	Baseline *result.Cell
}

// Recovery is the row's bound on times, in seconds.
func (c *Case) Recovery() float64 { return c.Cell.Scenario.Fault.Recovery.Std().Seconds() }

// seed of the hashes by which rules distinguish objects and states: a record may have millions, and their names are not
// kept.
var seed = maphash.MakeSeed()

func object(kind, namespace, name string) uint64 {
	return maphash.Comparable(seed, [3]string{kind, namespace, name})
}

// Within states a figure that may be at most limit; a limit of 0 is none.
func Within(col, name, unit string, v, limit float64) result.Fact {
	f := result.Fact{Column: col, Name: name, Unit: unit, Value: v, OK: true}
	if limit > 0 {
		f.Limit, f.OK = &limit, v <= limit
	}
	return f
}

// Fact states a figure that holds if ok.
func Fact(col, name, unit string, v float64, ok bool) result.Fact {
	return result.Fact{Column: col, Name: name, Unit: unit, Value: v, OK: ok}
}

// States is a rule whose facts need no look at the record.
func States(facts ...result.Fact) Rule {
	return Rule{Facts: func(Seen) []result.Fact { return facts }}
}

// None states a count that must be 0; example is the first occurrence.
func None(col, name string, count int64, example string) result.Fact {
	zero := 0.0
	return result.Fact{Column: col, Name: name, Value: float64(count), Limit: &zero, OK: count == 0, Detail: example}
}

// Missing states that a figure could not be established, and why. It fails.
func Missing(col, name, unit, why string) result.Fact {
	return result.Fact{Column: col, Name: name, Unit: unit, Missing: true, Detail: why}
}

// RecoveryFact states how long after the end of a fault (Unix nanoseconds) storage first had everything that had
// happened until then, at most limit seconds. There is none if it never had, or if nothing happened before.
func RecoveryFact(name string, changes iter.Seq[history.Change], end int64, limit float64) result.Fact {
	last, happened, never := end, false, false
	for c := range changes {
		if c.Finished > end || c.Stored == 0 && (c.Gone || c.Unconfirmed) {
			continue
		}
		last, happened, never = max(last, c.Stored), true, never || c.Stored == 0
	}
	if !happened || never {
		return Missing("T", name, "s", "storage never had what had happened until then, or nothing had")
	}
	return Within("T", name, "s", float64(last-end)/1e9, limit)
}

// DelayFact states the longest delay of the changes that were dispatched since a time (Unix nanoseconds), from when
// they were intended, at most limit seconds. Without a change, or where one never arrived, there is none.
func DelayFact(name string, changes iter.Seq[history.Change], since int64, limit float64) result.Fact {
	made, missing, longest := 0, 0, int64(0)
	for c := range changes {
		if c.Started < since || c.Unconfirmed {
			continue // of what nobody acknowledged, nobody knows when
		}
		made++
		if c.Stored != 0 {
			longest = max(longest, c.Stored-c.Intended)
		} else if !c.Gone {
			missing++
		}
	}
	switch {
	case made == 0:
		return Missing("T", name, "s", "no change was made")
	case missing > 0:
		return Missing("T", name, "s", fmt.Sprintf("%d changes never arrived", missing))
	}
	return Within("T", name, "s", float64(longest)/1e9, limit)
}
