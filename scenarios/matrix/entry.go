package matrix

import (
	"slices"
	"strconv"
	"strings"

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
