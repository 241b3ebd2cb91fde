package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Scenario is one that the matrix may run: its name and what it says of its row.
type Scenario struct {
	Name  string
	Fault *spec.Fault
}

// BaseRow is the undisturbed row, with which others are compared.
const BaseRow = "F0"

// longMark in a scenario's name keeps it out unless it is asked for.
const longMark = "-long"

// Choice selects a part of the matrix.
type Choice struct {
	Refs   []string // rows or names of scenarios; none: all that the profile is about
	Legacy bool     // the profile legacy: without Refs, only what it is expected to fail
	Long   bool     // the long scenarios too
}

// Choose picks the scenarios to run, the undisturbed row first where it is wanted or another is compared with it, and
// the rows that the table is to show, none for all. Unknown references, and nothing to run, are errors.
func Choose(all []Scenario, c Choice) (names, rows []string, err error) {
	wanted := map[string]bool{}
	for _, ref := range c.Refs {
		named := slices.ContainsFunc(all, func(s Scenario) bool { return s.Name == ref })
		switch row := strings.ToUpper(ref); {
		case Known(row):
			rows = append(rows, row)
		case named:
			wanted[ref] = true
		default:
			for _, s := range all {
				names = append(names, s.Name)
			}
			return nil, nil, fmt.Errorf("%q is neither a row F0 to F30 nor a scenario of the matrix; %s", ref,
				badinput.Ask(badinput.NearestPath(ref, names), "see watchbench scenarios list"))
		}
	}
	asked := slices.Clone(rows) // rows grows by those of scenarios that were named
	base, needBase := "", false
	for _, s := range all {
		take := wanted[s.Name] || slices.Contains(asked, s.Fault.Row)
		if len(c.Refs) == 0 {
			take = !c.Legacy || len(s.Fault.Legacy) > 0
		}
		if strings.Contains(s.Name, longMark) && !wanted[s.Name] && !c.Long {
			take = false
		}
		if s.Fault.Row == BaseRow && base == "" {
			base, needBase = s.Name, needBase || take
			continue
		}
		if !take {
			continue
		}
		needBase = needBase || slices.Contains(s.Fault.Assert, "I")
		names = append(names, s.Name)
		if len(c.Refs) > 0 || c.Legacy {
			rows = append(rows, s.Fault.Row)
		}
	}
	if base != "" && needBase {
		names = append([]string{base}, names...)
		if c.Legacy && len(c.Refs) == 0 {
			rows = append([]string{BaseRow}, rows...)
		}
	}
	rows = unique(rows)
	if len(names) == 0 {
		var why []string
		for _, r := range result.MatrixRows {
			if slices.Contains(rows, r.ID) {
				why = append(why, r.ID+": "+cmp.Or(r.NotBuilt, "its scenarios are long and need --by-hand"))
			}
		}
		return nil, nil, fmt.Errorf("nothing to run: %s", strings.Join(why, ", "))
	}
	return names, rows, nil
}

func unique(all []string) (out []string) {
	for _, s := range all {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
