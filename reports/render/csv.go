package render

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// CSV writes one line per cell and repetition, units in the heading. The first
// measures have the names of the published measurements. An empty field is not
// known. Figures of invalid cells are there, marked by valid=false; a drain time
// that was not waited for is marked by drain_projected=true.
func CSV(w io.Writer, res *result.Results) error {
	if err := res.Validate(); err != nil {
		return err
	}
	t := arrange(res)
	head := []string{"strategy", "load"}
	for _, k := range t.extra {
		head = append(head, csvText(k))
	}
	head = append(head, "repetition", "valid")
	for _, c := range columns {
		head = append(head, c.csv)
		switch c {
		case drain:
			head = append(head, "drain_projected", "done_fraction")
		case freshnessP99:
			head = append(head, "freshness_p50_s", "freshness_p90_s", "freshness_max_s", "freshness_at_least")
		}
	}
	head = append(head, "drain_after_load_s", "imbalance_ratio", "cpu_us_per_request", "bottleneck")
	for _, g := range t.checks {
		head = append(head, csvText(g))
	}
	head = append(head, "invalid_reasons", "cell")

	out := csv.NewWriter(w)
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range t.rows {
		for _, c := range r.cells {
			if err := out.Write(t.csvLine(r, c)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func (t *table) csvLine(r *row, c *result.Cell) []string {
	// The columns read a row; one that consists of this cell alone gives its figures.
	one := &row{cells: []*result.Cell{c}, valid: []*result.Cell{c}}
	line := []string{csvText(r.strategy), csvText(r.load)}
	for _, v := range r.extra {
		line = append(line, csvText(v))
	}
	line = append(line, strconv.Itoa(c.Repetition), strconv.FormatBool(c.Valid))
	for _, col := range columns {
		v := col.value(one)
		line = append(line, csvNumber(v.number))
		switch col {
		case drain:
			done := ""
			if c.Cut {
				done = exact(c.CutFraction)
			} else if v.number != nil {
				done = "1"
			}
			line = append(line, strconv.FormatBool(v.projected), done)
		case freshnessP99:
			q := c.Freshness
			if q == nil || q.Count == 0 {
				line = append(line, "", "", "", "")
				break
			}
			line = append(line, exact(q.P50), exact(q.P90), exact(q.Max), strconv.FormatBool(v.atLeast))
		}
	}
	line = append(line, csvNumber(c.Handler.DrainAfterLoad), csvNumber(c.Handler.Imbalance), csvNumber(c.Watcher.CPUMicrosPerReq), csvText(c.Bottleneck.Stage))
	for _, g := range t.checks {
		line = append(line, csvText(c.Checks[g].Verdict))
	}
	return append(line, csvText(strings.Join(c.InvalidReasons, "; ")), csvText(c.ID))
}

func csvNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return exact(*v)
}

// csvText keeps a spreadsheet from taking text for a formula.
func csvText(s string) string {
	s = clean(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	if s == unknown {
		return ""
	}
	return s
}
