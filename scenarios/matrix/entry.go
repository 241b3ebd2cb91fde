package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// FromCell is the entry of a finished cell.
func FromCell(scenario string, c result.Cell) result.MatrixEntry {
	e := result.MatrixEntry{Scenario: scenario, Cell: c.ID, Invalid: c.InvalidReasons, Late: c.LateReasons}
	if r := c.Robustness; r != nil {
		e.Row, e.Title, e.Columns, e.Facts, e.Fired, e.Keys, e.Expected = r.Row, r.Title, r.Columns, r.Facts, r.Fired, r.Keys,
			r.Expected
	}
	return e
}

// Complete sorts the entries by row and adds the rows that have none; asked are the rows that were to be run, empty for
// all.
func Complete(m *result.Matrix, asked []string) {
	have := map[string]bool{}
	for _, e := range m.Entries {
		have[e.Row] = true
	}
	for _, r := range result.MatrixRows {
		if have[r.ID] || len(asked) > 0 && !slices.Contains(asked, r.ID) {
			continue
		}
		m.Entries = append(m.Entries, result.MatrixEntry{Row: r.ID, Title: r.Title, NotBuilt: r.NotBuilt,
			NotRun: r.NotBuilt == ""})
	}
	slices.SortStableFunc(m.Entries, func(a, b result.MatrixEntry) int { return number(a.Row) - number(b.Row) })
}

func number(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "F"))
	if err != nil {
		return len(result.MatrixRows)
	}
	return n
}

// Known reports whether there is a row of that name.
func Known(id string) bool {
	return slices.ContainsFunc(result.MatrixRows, func(r result.MatrixRow) bool { return r.ID == id })
}

// Compose draws up the matrix from a campaign and the results of its runs, which are nil where a run has none. Of two
// tries of a scenario it takes what Settle says, or the first where nothing was worth a second.
func Compose(c *history.Campaign, results func(history.CampaignRun) *result.Results) *result.Matrix {
	m := &result.Matrix{Schema: result.MatrixSchema, Profile: c.Profile, Seconds: c.Seconds}
	var last []result.MatrixEntry
	for _, r := range c.Runs {
		entries := Entries(r, results(r))
		if r.Try > 1 {
			why := Again(last)
			if len(why) == 0 {
				continue // by former rules
			}
			m.Entries = m.Entries[:len(m.Entries)-len(last)]
			m.Retries = append(m.Retries, retry(last, why))
			entries = Settle(last, entries, why)
		}
		m.Entries = append(m.Entries, entries...)
		last = entries
	}
	Complete(m, c.Asked)
	return m
}

// Entries returns the entries of a run, one for each cell that was finished, and one for an error that kept others from
// being run.
func Entries(r history.CampaignRun, res *result.Results) (entries []result.MatrixEntry) {
	if res != nil {
		for _, c := range res.Cells {
			e := FromCell(r.Scenario, c)
			e.Dir, e.Seconds = r.Dir, r.Seconds/float64(max(1, r.Cells))
			entries = append(entries, e)
		}
		pair(res.Cells, entries)
	}
	if r.Error != "" && len(entries) < r.Cells {
		e := result.MatrixEntry{Row: r.Row, Title: r.Title, Scenario: r.Scenario, Error: r.Error, Seconds: r.Seconds,
			Dir: r.Dir}
		if r.Crashed { // no record of the cell is needed to say so
			e.Columns = map[string]result.Column{"X": {Verdict: result.Fail, Detail: r.Error}}
		}
		entries = append(entries, e)
	}
	return entries
}

// without is the name of the point of an axis that is the load without what goes wrong at the other points.
const without = "none"

const pairedName = "freshness p99 of Pods, against the same load without the fault"

// pair adds to the entry of each cell that asks for it how fresh its Pods were beside those of the cell without the
// fault. A cell that has none fails: nothing was compared.
func pair(cells []result.Cell, entries []result.MatrixEntry) {
	for i := range cells {
		c := &cells[i]
		if c.Robustness == nil || c.Robustness.Paired == 0 || undisturbed(c) {
			continue
		}
		e := &entries[i]
		if _, asked := e.Columns["I"]; !asked {
			continue
		}
		f := pairedFact(c, other(cells, c))
		e.Facts = append(slices.Clone(e.Facts), f)
		e.Columns = maps.Clone(e.Columns)
		col := e.Columns["I"]
		col.Value = cmp.Or(col.Value, factText(f))
		if !f.OK {
			why := fmt.Sprintf("%s: %s%s", f.Name, factText(f), limitText(f))
			if col.Verdict == result.Fail {
				why = col.Detail + "; " + why
			}
			col.Verdict, col.Detail = result.Fail, why
		}
		e.Columns["I"] = col
	}
}

func undisturbed(c *result.Cell) bool {
	for _, point := range c.Params {
		if point == without {
			return true
		}
	}
	return false
}

// other is the cell of the same repetition that differs from one in nothing but that one of its points is none; nil if
// there is none, or if it proves nothing.
func other(cells []result.Cell, c *result.Cell) *result.Cell {
	for i := range cells {
		o := &cells[i]
		differ, same := 0, o.Repetition == c.Repetition && len(o.Params) == len(c.Params)
		for axis, point := range c.Params {
			switch o.Params[axis] {
			case point:
			case without:
				differ++
			default:
				same = false
			}
		}
		if same && differ == 1 && o.Valid && !o.Cut {
			return o
		}
	}
	return nil
}

// pairedFact holds a cell's freshness to that of the other. What is better than leastBaseline counts as that, as for
// the row F0.
func pairedFact(c, base *result.Cell) result.Fact {
	switch {
	case base == nil || base.Freshness == nil:
		return Missing("I", pairedName, "s", "no cell without the fault to compare with")
	case c.Freshness == nil:
		return Missing("I", pairedName, "s", "nothing arrived")
	}
	f := Within("I", pairedName, "s", c.Freshness.P99, c.Robustness.Paired*max(base.Freshness.P99, leastBaseline))
	f.Detail = fmt.Sprintf("without: %v s", base.Freshness.P99)
	return f
}

// timeColumns are judged by how long something took.
var timeColumns = []string{"I", "T"}

// wrong reports whether an entry shows more than lateness: a second try would hide it.
func wrong(e *result.MatrixEntry) bool {
	failed, _ := e.Verdict()
	return e.Error != "" || slices.ContainsFunc(failed, func(c string) bool { return !slices.Contains(timeColumns, c) })
}

// Again returns why a scenario is run once more, by cell: those that prove nothing. It is empty where any cell shows
// something wrong beside figures of time.
func Again(entries []result.MatrixEntry) map[string]string {
	why := map[string]string{}
	for i := range entries {
		e := &entries[i]
		if wrong(e) {
			return nil
		}
		if len(e.Invalid) > 0 {
			why[e.Cell] = strings.Join(e.Invalid, "; ")
		}
	}
	return why
}

// Settle merges two runs of a scenario; why is from Again. The second try of an invalid cell counts, and records what
// the first was. A valid one keeps its first result, unless the second shows something wrong.
func Settle(first, second []result.MatrixEntry, why map[string]string) []result.MatrixEntry {
	settled := slices.Clone(second)
	for i := range settled {
		e := &settled[i]
		w, again := why[e.Cell]
		was := slices.IndexFunc(first, func(x result.MatrixEntry) bool { return x.Cell == e.Cell })
		if again {
			e.First = w
		} else if was >= 0 && !wrong(e) {
			*e = first[was]
		}
	}
	return settled
}

// retry is the second try of a scenario, for the table.
func retry(first []result.MatrixEntry, why map[string]string) result.Retry {
	r := result.Retry{Scenario: first[0].Scenario}
	for _, e := range first {
		if w, again := why[e.Cell]; again {
			if len(first) > 1 {
				w = e.Cell + ": " + w
			}
			r.Why = strings.TrimPrefix(r.Why+"; "+w, "; ")
		}
	}
	return r
}

const (
	// stallGap is four periods of the sampler, stallSteal a share of the CPU time; quiet machines have below 0.005.
	stallGap   = time.Second
	stallSteal = 0.05
)

// stoodStill says how the machine stood still between the start of the load and the end of the drain; empty if it did
// not.
func stoodStill(c *Case) string {
	samples := c.Samples
	within := func(t int64) bool { return t >= c.Cell.LoadStarted && t <= c.Cell.DrainEnd }
	gap, stolen, total := time.Duration(0), 0.0, 0.0
	for i := 1; i < len(samples); i++ {
		a, b := &samples[i-1], &samples[i]
		if !within(a.Time) || !within(b.Time) {
			continue
		}
		if a.Until != 0 { // what a party takes to answer a reading is not in it
			gap = max(gap, time.Duration(b.Time-a.Until))
		}
		if a.CPU != nil && b.CPU != nil {
			stolen, total = stolen+b.CPU.Steal-a.CPU.Steal, total+b.CPU.Total-a.CPU.Total
		}
	}
	switch {
	case gap >= stallGap:
		return fmt.Sprintf("the runner stood still for %s", gap.Round(10*time.Millisecond))
	case total > 0 && stolen/total >= stallSteal:
		return fmt.Sprintf("the hypervisor took %.0f%% of the CPU time", 100*stolen/total)
	}
	return ""
}
