package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/reference"
	"github.com/watchbench/watchbench/reports/result"
)

// likePublished is the scenario with the load of the published tables, whose page has these for comparison.
const likePublished = "strategies-published"

func published(res *result.Results) []Section {
	c := reference.Compare(res)
	if c == nil && res.Run.Scenario != likePublished {
		return nil
	}
	rows := Section{ID: "beside", Title: "Beside the published tables", Place: OnPage, Table: Table{
		Heads: Heads("setup, threads", "")}, Notes: []string{"Measured by the authors of bcs-k8s-watch on a real cluster. " +
		"“before”: one Pod handler queue, Writer queue 10 240. “after”: 30 Pod handler queues, Writer queue 102 400."}}
	for _, name := range reference.Figures {
		rows.Table.Heads = append(rows.Table.Heads, headOf(figureOf(name)))
	}
	rows.Table.Heads = append(rows.Table.Heads, Head{Title: "over the drain", Unit: "qps"})
	line := func(r *reference.Row, name string, of func(figure string) string, drain string) {
		cells := Cells(r.Label(), name)
		for _, f := range reference.Figures {
			cells = append(cells, Cell{Text: of(f)})
		}
		cells[0].Gap = name == "published"
		rows.Table.Rows = append(rows.Table.Rows, append(cells, Cell{Text: drain}))
	}
	for i := range reference.Rows() {
		r := &reference.Rows()[i]
		line(r, "published", func(f string) string { return short(r.Value(f)) }, "")
		if c == nil {
			continue
		}
		for j := range c.Lines {
			l := &c.Lines[j]
			if l.Row != r {
				continue
			}
			line(r, l.Watcher, func(f string) string {
				if f == result.FigureDrain && l.Projected() {
					return "~" + shortOf(l.Of(f))
				}
				return shortOf(l.Of(f))
			}, shortOf(l.All()))
			if l.Why != "" {
				rows.Notes = append(rows.Notes, fmt.Sprintf("%s %s is invalid: %s.", l.Watcher, r.Label(), l.Why))
			} else if n := l.Of("events.dropped"); n != nil && *n > 0 {
				rows.Notes = append(rows.Notes, fmt.Sprintf("%s %s dropped %.0f events.", l.Watcher, r.Label(), *n))
			}
		}
	}
	if c == nil {
		return []Section{rows}
	}
	rows.Place = Everywhere
	rows.Notes = append(rows.Notes, fmt.Sprintf("Storage rates are of all kinds: as published, over about %.0f s before "+
		"and %.0f s after, or over the drain of Pods or its busiest %d s. A row that this machine did not load as published "+
		"compares in ratios, not figures.",
		reference.Windows[reference.Before], reference.Windows[reference.After], reference.MostDrain))
	shape := Section{ID: "shape", Title: "The shape of the published tables", Table: Table{
		Heads: Heads("watcher", "rule", "verdict", "figures")}}
	for _, r := range c.Rules {
		tone := map[string]Tone{reference.Holds: Good, reference.Fails: Bad, reference.NotMeasured: Warn}[r.Verdict]
		shape.Table.Rows = append(shape.Table.Rows, []Cell{{Text: r.Watcher}, {Text: r.Name}, {Text: r.Verdict, Tone: tone},
			{Text: r.Figures}})
	}
	return []Section{shape, rows}
}

// besideHeadline is whether the watchers follow the published factor; "" for other scenarios.
func besideHeadline(res *result.Results) string {
	c := reference.Compare(res)
	if c == nil {
		return ""
	}
	var parts []string
	for _, r := range c.Rules {
		if r.Needed {
			parts = append(parts, fmt.Sprintf("%s: %s: %s (%s)", r.Watcher, r.Name, r.Verdict, r.Figures))
		}
	}
	return "Beside the published tables, " + strings.Join(parts, "; ") + "."
}

// besideFields are a cell's extra fields in throughput.csv: its published row's figures, and its rates of all kinds.
func besideFields(load string, c *result.Cell) (fields []string) {
	row := reference.Find(load)
	for _, name := range reference.Figures {
		text := ""
		if row != nil {
			text = strconv.FormatFloat(row.Value(name), 'g', -1, 64)
		}
		fields = append(fields, text)
	}
	windowed := ""
	if row != nil {
		windowed = number("", reference.Busiest(c, reference.Windows[row.Setup]))
	}
	return append(fields, number("", reference.AllKinds(c)), windowed)
}
