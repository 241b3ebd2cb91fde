package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// columnChecks are the guarantees of each column of the fault matrix.
var columnChecks = map[string][]string{
	"C": {"G1", "G9", "G12"}, "O": {"G2", "G3", "G4", "G5", "G10", "G11"}, "L": {"G6", "G14"}, "B": {"G7"}, "I": {"G8"}, "S": {"G13"},
}

// required must be judged for a column to pass. The others are judged only where a
// scenario gives them something to look at: a restart, tampering, a request of unknown
// outcome.
var required = map[string][]string{"C": {"G1"}, "O": {"G2", "G3"}, "L": {"G6"}, "B": {"G7"}, "I": {"G8"}, "S": {"G13"}}

// minKeys is how many objects a fault must have hit to prove anything.
const minKeys = 3

// robustness fills the cell's row of the fault matrix after its checks were judged.
func (c *cellRun) robustness(cell *result.Cell) {
	if c.s.Fault == nil {
		return
	}
	facts := c.facts(cell)
	c.fillRow(cell, facts)
	c.notVacuous(cell)
}

func (c *cellRun) fillRow(cell *result.Cell, facts []result.Fact) {
	f := c.s.Fault
	row := &result.Robustness{
		Row: f.Row, Title: f.Title, Profile: c.s.Watcher.Profile, Columns: map[string]result.Column{},
		Facts: facts, Fired: map[string]int64{}, Keys: map[string]int64{},
	}
	if c.s.Watcher.Profile == profileLegacy {
		row.Expected = f.Legacy
	}
	for _, x := range c.fired {
		row.Fired[x.Name] += x.Fired
		row.Keys[x.Name] += x.Keys
	}
	if c.timeline != nil {
		for what, n := range c.timeline.fired {
			row.Fired[what] += n
		}
		for what, n := range c.timeline.keys {
			row.Keys[what] += n
		}
	}
	for _, col := range f.Assert {
		row.Columns[col] = column(col, cell.Checks, facts)
	}
	for _, col := range f.Measure {
		m := column(col, cell.Checks, facts)
		if m.Verdict != result.NotJudged || m.Value != "" {
			if m.Verdict == result.Fail && m.Value == "" {
				m.Value = "violated"
			}
			m.Verdict = result.Measured
		}
		row.Columns[col] = m
	}
	cell.Robustness = row
}

// column sums up one column: a failure decides; to pass, what the column is about must
// have been judged.
func column(col string, checks map[string]result.Check, facts []result.Fact) result.Column {
	out := result.Column{Verdict: result.NotJudged}
	judged, failed := 0, []string(nil)
	for _, g := range columnChecks[col] {
		switch x := checks[g]; x.Verdict {
		case result.Fail, result.Allowed:
			failed = append(failed, fmt.Sprintf("%s: %s", g, x.Counterexample))
		case result.Pass:
			judged++
		default:
			refused := col == "S" && hasFact(facts, col)
			if slices.Contains(required[col], g) && !refused {
				out.Detail = fmt.Sprintf("%s was not judged: %s", g, x.Note)
			}
		}
	}
	for _, f := range facts {
		if f.Column != col {
			continue
		}
		if out.Value == "" {
			out.Value = factText(f)
		}
		if !f.OK {
			failed = append(failed, fmt.Sprintf("%s: %s%s", f.Name, factText(f), limitText(f)))
			continue
		}
		judged++
	}
	switch {
	case len(failed) > 0:
		out.Verdict, out.Detail = result.Fail, strings.Join(failed, "; ")
	case out.Detail != "":
	case judged > 0:
		out.Verdict = result.Pass
	default:
		out.Detail = "nothing was there to judge"
	}
	return out
}

// hasFact reports whether a column has figures of its own: a watcher that refused
// storage sent nothing in which to search.
func hasFact(facts []result.Fact, col string) bool {
	return slices.ContainsFunc(facts, func(f result.Fact) bool { return f.Column == col })
}

func factText(f result.Fact) string {
	v := fmt.Sprintf("%.4g", f.Value)
	if f.Unit != "" {
		v += " " + f.Unit
	}
	return v
}

func limitText(f result.Fact) string {
	s := ""
	if f.Limit != nil {
		s = fmt.Sprintf(", at most %.4g", *f.Limit)
	}
	if f.Detail != "" {
		s += " (" + f.Detail + ")"
	}
	return s
}

// notVacuous makes a cell invalid whose faults proved nothing.
func (c *cellRun) notVacuous(cell *result.Cell) {
	no := func(format string, args ...any) {
		cell.Valid = false
		cell.InvalidReasons = append(cell.InvalidReasons, fmt.Sprintf(format, args...))
	}
	for _, x := range c.fired {
		if x.Fired == 0 {
			no("the fault %s never fired", x.Name)
		}
	}
	for _, s := range c.s.Storage.FaultSpecs() {
		for _, x := range c.fired {
			if x.Name == s.Name && s.Effect != "refuse" && (s.Max == 0 || s.Max >= minKeys) && x.Fired > 0 && x.Keys < minKeys {
				no("the fault %s hit %d objects; at least %d are needed", x.Name, x.Keys, minKeys)
			}
		}
	}
	if c.timeline != nil {
		for _, why := range c.timeline.customVacuous(c.s.Events) {
			no("%s", why)
		}
	}
	for col, x := range cell.Robustness.Columns {
		if x.Verdict == result.NotJudged && slices.Contains(c.s.Fault.Assert, col) {
			no("column %s could not be judged: %s", col, x.Detail)
		}
	}
	if c.account != nil {
		for _, reason := range c.account.vacuous(len(c.kinds)) {
			no("%s", reason)
		}
	}
	for _, b := range c.setbacks {
		if n := b.repaired(c.evidence.entries); n < minKeys {
			no("%d rows that storage had acknowledged and lost were written again; at least %d are needed", n, minKeys)
		}
	}
	// Two reasons may be the same fact told by two rules.
	slices.Sort(cell.InvalidReasons)
	cell.InvalidReasons = slices.Compact(cell.InvalidReasons)
}
