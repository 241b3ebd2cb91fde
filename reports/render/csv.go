package render

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// writeCSV writes lines whose texts no spreadsheet takes for formulas.
func writeCSV(w io.Writer, lines [][]string) error {
	for _, l := range lines {
		for i, s := range l {
			l[i] = csvText(s)
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func csvText(s string) string {
	s = clean(s)
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	if s == unknown {
		return ""
	}
	return s
}

// CSV writes one line per cell and repetition, units in the heading. The first
// measures have the names of the published measurements. An empty field is not
// known. Figures of invalid cells are there, marked by valid=false; a drain time
// that was not waited for is marked by drain_projected=true.
func CSV(w io.Writer, res *result.Results) error {
	t := arrange(res)
	fields := t.csvFields()
	var head []string
	for _, f := range fields {
		head = append(head, f.name)
	}
	lines := [][]string{head}
	for _, r := range t.rows {
		for _, c := range r.cells {
			var line []string
			for _, f := range fields {
				line = append(line, f.value(r.alone(c)))
			}
			lines = append(lines, line)
		}
	}
	return writeCSV(w, lines)
}

// csvField is one column of the file. Its value is read from a row of one cell.
type csvField struct {
	name  string
	value func(*row) string
}

func csvNumber(name string, measure func(*row) reading) csvField {
	return csvField{name, func(r *row) string {
		v := measure(r)
		if v.number == nil {
			return ""
		}
		return exact(*v.number)
	}}
}

func (t *table) csvFields() []csvField {
	fields := []csvField{
		{"strategy", func(r *row) string { return r.strategy }},
		{"load", func(r *row) string { return r.load }},
	}
	for i, k := range t.extra {
		fields = append(fields, csvField{k, func(r *row) string { return r.extra[i] }})
	}
	fields = append(fields,
		csvField{"repetition", func(r *row) string { return strconv.Itoa(r.cells[0].Repetition) }},
		csvField{"valid", func(r *row) string { return strconv.FormatBool(r.cells[0].Valid) }},
	)
	for _, col := range measures {
		if col.csv != "" {
			fields = append(fields, csvNumber(col.csv, col.measure))
		}
		switch col {
		case drain:
			fields = append(fields,
				csvField{"drain_projected", func(r *row) string { return strconv.FormatBool(drain.measure(r).projected) }},
				csvNumber("done_fraction", measureDone),
			)
		case freshnessP99:
			for _, i := range []int{0, 1, 3} {
				q := freshnessQuantiles[i]
				fields = append(fields, csvNumber("freshness_"+q.name+"_s", q.measure))
			}
			fields = append(fields, csvField{"freshness_at_least", freshnessAtLeast})
		}
	}
	fields = slices.Concat(fields, t.csvPace(), csvReference(t.res))
	fields = append(fields, csvField{"bottleneck", func(r *row) string { return r.cells[0].Bottleneck.Stage }})
	for _, g := range t.checks {
		fields = append(fields, csvField{g, func(r *row) string { return r.checks[g].Verdict }})
	}
	return append(fields,
		csvField{"invalid_reasons", func(r *row) string { return strings.Join(r.cells[0].InvalidReasons, "; ") }},
		csvField{"cell", func(r *row) string { return r.cells[0].ID }},
	)
}

// csvPace are the columns for open loads.
func (t *table) csvPace() []csvField {
	if !t.any(func(c *result.Cell) bool { return c.Pace != nil }) {
		return nil
	}
	pace := func(of func(*result.Pace) *float64) func(*row) reading {
		return medianOf(func(c *result.Cell) *float64 {
			if c.Pace == nil {
				return nil
			}
			return of(c.Pace)
		})
	}
	return []csvField{
		{"keeps_up", func(r *row) string {
			if r.cells[0].Pace == nil {
				return ""
			}
			return strconv.FormatBool(r.cells[0].Pace.KeepsUp)
		}},
		csvNumber("backlog_growth_writes_per_s", pace(func(p *result.Pace) *float64 { return &p.GrowthQPS })),
		csvNumber("sent_per_event", pace(func(p *result.Pace) *float64 { return p.SentPerEvent })),
	}
}

// measureDone is the part of the work done when the cell ended.
func measureDone(r *row) reading {
	if f := r.cutFraction(); f != nil {
		return reading{number: f}
	}
	return reading{number: ifSome(1, drain.measure(r).number != nil)}
}

func freshnessAtLeast(r *row) string {
	v := freshnessP99.measure(r)
	if v.number == nil {
		return ""
	}
	return strconv.FormatBool(v.atLeast)
}
