package matrix

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// columnChecks are the guarantees of each column.
var columnChecks = map[string][]string{
	"C": {"G1", "G9", "G12"}, "O": {"G2", "G3", "G4", "G5", "G10", "G11"}, "L": {"G6", "G14"}, "B": {"G7"}, "I": {"G8"},
	"S": {"G13"},
}

// required must be judged for a column to pass. The others are judged only where a scenario gives them something to
// look at: a restart, tampering, a request of unknown outcome.
var required = map[string][]string{"C": {"G1"}, "O": {"G2", "G3"}, "L": {"G6"}, "B": {"G7"}, "I": {"G8"}, "S": {"G13"}}

// Fill fills the cell's row of the matrix after its checks were judged, and makes the cell invalid if its faults proved
// nothing. Scenarios without a row are left alone.
func Fill(c *Case, rules []Rule, cell *result.Cell, seen Seen) {
	if c.Cell.Scenario.Fault == nil {
		return
	}
	fillRow(c, cell, facts(rules, seen))
	if c.Cell.Refusal != nil {
		return
	}
	why := vacuous(c, cell.Robustness)
	for _, r := range rules {
		if r.Vacuous != nil {
			why = append(why, r.Vacuous(seen)...)
		}
	}
	// Two rules may report one fact.
	cell.InvalidReasons = append(cell.InvalidReasons, why...)
	slices.Sort(cell.InvalidReasons)
	cell.InvalidReasons = slices.Compact(cell.InvalidReasons)
	cell.Valid = len(cell.InvalidReasons) == 0
}

func facts(rules []Rule, seen Seen) (all []result.Fact) {
	for _, first := range []bool{true, false} {
		for _, r := range rules {
			if r.Facts != nil && r.First == first {
				all = append(all, r.Facts(seen)...)
			}
		}
	}
	for i := range all {
		all[i].Value = math.Round(all[i].Value*1000) / 1000
	}
	return all
}

func fillRow(c *Case, cell *result.Cell, facts []result.Fact) {
	s := &c.Cell.Scenario
	f := s.Fault
	row := &result.Robustness{
		Row: f.Row, Title: f.Title, Profile: s.Watcher.Profile, Columns: map[string]result.Column{},
		Paired: f.Paired, Facts: facts, Fired: map[string]int64{}, Keys: map[string]int64{},
	}
	if s.Watcher.Profile == profileLegacy {
		row.Expected = f.Legacy
	}
	for _, x := range slices.Concat(c.Cell.Fired, c.Cell.WatchFired) {
		row.Fired[x.Name] += x.Fired
		row.Keys[x.Name] += x.Keys
	}
	for _, d := range c.Deeds {
		row.Fired[d.What]++
		if d.Keys > 0 {
			row.Keys[d.What] += d.Keys
		}
	}
	for _, col := range f.Assert {
		row.Columns[col] = column(c, col, cell.Checks, facts)
	}
	for _, col := range f.Measure {
		m := column(c, col, cell.Checks, facts)
		if m.Verdict != result.NotJudged || m.Value != "" {
			if m.Verdict == result.Fail && m.Value == "" {
				m.Value = "violated"
			}
			if m.Verdict == result.NoPower && m.Value == "" {
				m.Value = "no power"
			}
			m.Verdict = result.Measured
		}
		row.Columns[col] = m
	}
	cell.Robustness = row
}

// column is Column; a watcher that refused storage sent nothing in which to search for secrets.
func column(c *Case, col string, checks map[string]result.Check, facts []result.Fact) result.Column {
	out := Column(col, checks, facts)
	if c.Cell.Refusal != nil && out.Verdict == result.NotJudged &&
		slices.ContainsFunc(facts, func(f result.Fact) bool { return f.Column == col }) {
		out.Verdict, out.Detail = result.Pass, ""
	}
	return out
}

// Column sums up one column: a failure decides; to pass, what the column is about must have been judged.
func Column(col string, checks map[string]result.Check, facts []result.Fact) result.Column {
	out := result.Column{Verdict: result.NotJudged}
	judged, failed := 0, []string(nil)
	for _, g := range columnChecks[col] {
		switch x := checks[g]; x.Verdict {
		case result.Fail, result.Allowed:
			failed = append(failed, fmt.Sprintf("%s: %s", g, x.Counterexample))
		case result.Pass, result.NoPower:
			judged++
		default:
			if slices.Contains(required[col], g) {
				out.Detail = fmt.Sprintf("%s was not judged: %s", g, x.Note)
			}
		}
	}
	for _, f := range facts {
		if f.Column != col {
			continue
		}
		if out.Value == "" && !f.Missing {
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
		out.Detail = "nothing to judge"
	}
	weigh(col, checks, &out)
	return out
}

func factText(f result.Fact) string {
	if f.Missing {
		return "unknown"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.4g %s", f.Value, f.Unit), " ")
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

// vacuous returns why the faults of storage and watch prove nothing, and which asserted columns could not be judged.
func vacuous(c *Case, row *result.Robustness) (why []string) {
	no := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	for _, x := range slices.Concat(c.Cell.Fired, c.Cell.WatchFired) {
		if x.Fired == 0 {
			no("the fault %s never fired", x.Name)
		}
	}
	why = append(why, tooFew(c)...)
	for _, col := range timeColumns {
		if stood := stoodStill(c); stood != "" && row.Columns[col].Verdict == result.Fail {
			no("column %s is about time, and %s", col, stood)
		}
	}
	for _, col := range c.Cell.Scenario.Fault.Assert {
		if x := row.Columns[col]; x.Verdict == result.NotJudged {
			no("column %s could not be judged: %s", col, x.Detail)
		} else if x.Verdict == result.NoPower {
			no("column %s has no power: %s", col, x.Detail)
		}
	}
	return why
}

// weigh gives a column the least power of the checks that it requires. A pass without enough of it is none; a failure
// stays one.
func weigh(col string, checks map[string]result.Check, out *result.Column) {
	least := ""
	for _, g := range required[col] {
		if x := checks[g]; x.Power != nil && (out.Power == nil || *x.Power < *out.Power) {
			out.Power, out.MinPower, least = x.Power, x.MinPower, g
		}
	}
	if out.Verdict == result.Pass && out.Power != nil && *out.Power < out.MinPower {
		out.Verdict = result.NoPower
		out.Detail = fmt.Sprintf("in %s %d pairs of states could have been swapped, at least %d are needed", least,
			*out.Power, out.MinPower)
	}
}
