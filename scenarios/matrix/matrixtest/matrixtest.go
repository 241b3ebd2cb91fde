// Package matrixtest feeds records of cells that never ran to the rules of rows, for tests of those rules.
package matrixtest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Case is a recorded cell.
func Case(f *spec.Fault, events ...spec.Event) *matrix.Case {
	s := spec.Default()
	s.Fault, s.Events = f, events
	return &matrix.Case{Cell: &history.Cell{Scenario: s}}
}

// Deed records what an injector did and saw.
func Deed(t *testing.T, what string, keys int64, seen any) history.Deed {
	t.Helper()
	data, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	return history.Deed{What: what, Keys: keys, Seen: data}
}

// Ruler makes rules of a case.
type Ruler = func(*matrix.Case) ([]matrix.Rule, error)

// Witness feeds a record to a family's rules.
func Witness(t *testing.T, c *matrix.Case, r Ruler, ops []oplog.Record, entries []ledger.Entry) matrix.Rules {
	t.Helper()
	injected, err := r(c)
	if err != nil {
		t.Fatal(err)
	}
	rules := matrix.Rules(injected)
	for i := range ops {
		rules.Operation(&ops[i])
	}
	for i := range entries {
		rules.Request(&entries[i])
	}
	return rules
}

// Seen holds what the judge measured.
func Seen(changes ...history.Change) matrix.Seen {
	return matrix.Seen{Measured: check.Measured{Changes: slices.Values(changes)}}
}

// Facts are the facts that a family's rules derive from a record.
func Facts(
	t *testing.T, c *matrix.Case, r Ruler, ops []oplog.Record, entries []ledger.Entry, changes ...history.Change,
) (facts []result.Fact) {
	t.Helper()
	for _, rule := range Witness(t, c, r, ops, entries) {
		facts = append(facts, rule.Facts(Seen(changes...))...)
	}
	return facts
}

// Vacuous says why the record proves nothing, a line for each reason.
func Vacuous(rules []matrix.Rule) string {
	var why []string
	for _, r := range rules {
		if r.Vacuous != nil {
			why = append(why, r.Vacuous(Seen())...)
		}
	}
	return strings.Join(why, "\n")
}

// Failed names the facts that fail without any record, and says why that proves nothing.
func Failed(t *testing.T, c *matrix.Case, r Ruler) (failed []string, why string) {
	t.Helper()
	for _, f := range Facts(t, c, r, nil, nil) {
		if !f.OK {
			failed = append(failed, f.Name)
		}
	}
	return failed, Vacuous(Witness(t, c, r, nil, nil))
}
