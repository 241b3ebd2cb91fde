package render

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// What a run's page may have, whatever the shape of its matrix.
const (
	mostPage = 2_950_000 // bytes, the chart script included
	mostRows = 24        // in a chart of one load: more lines are not told apart
)

// drawings are the charts of a run's page. They take the place of the table's methods, which
// draw all there are.
type drawings struct {
	Loads                            []loadView
	Overall, KindCharts, SweptCharts []*chart
	OverLoad                         *chart
}

// undrawn is a page whose charts are still to come.
func (t *table) undrawn() (d drawings) {
	for _, l := range t.Loads() {
		d.Loads = append(d.Loads, loadView{ID: l.ID, Name: l.Name})
	}
	return d
}

// room is what a page has left for charts, in bytes.
type room struct {
	left int
	err  error // of the first chart that could not be drawn
}

// take draws the charts for which there is room.
func (r *room) take(all []*chart) (kept []*chart) {
	for _, c := range all {
		var b bytes.Buffer
		if r.err == nil {
			r.err = pageTemplates.Lookup("chart").Execute(&b, c)
		}
		if b.Len() > r.left {
			continue
		}
		r.left -= b.Len()
		c.HTML = template.HTML(b.String()) //nolint:gosec // by the template, which escapes
		kept = append(kept, c)
	}
	return kept
}

// one draws a chart that may not be there, or not have the room.
func (r *room) one(c *chart) *chart {
	for _, c := range r.take(drawn([]*chart{c})) {
		return c
	}
	return nil
}

// undrawnNote says how many charts a page leaves out; none for 0.
func undrawnNote(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s not drawn, so that the page stays below 3 MB: the tables and %s have the figures.", plural(n, "chart"), result.FileName)}
}

// draw has the charts for which there is room: those that answer first, then the main ones of
// each load, then the further ones.
func (t *table) draw(bytes int) (drawings, error) {
	r := &room{left: bytes}
	d := drawings{
		OverLoad: r.one(t.OverLoad()), SweptCharts: r.take(t.SweptCharts()), KindCharts: r.take(t.KindCharts()), Overall: r.take(t.Overall()),
		Loads: t.Loads(),
	}
	due := make([]int, len(d.Loads))
	for i := range d.Loads {
		l := &d.Loads[i]
		due[i] = len(l.Main) + len(l.More)
		l.Main = r.take(l.Main)
	}
	for i := range d.Loads {
		l := &d.Loads[i]
		l.More = r.take(l.More)
		l.Notes = append(l.Notes, undrawnNote(due[i]-len(l.Main)-len(l.More))...)
	}
	return d, r.err
}

// telling are the rows that the charts of a load have room for, in their order: the fastest,
// then others that may be compared, then the rest. note says so where they are not all.
func (t *table) telling(rows []*row) (kept []*row, note []string) {
	if len(rows) <= mostRows {
		return rows, nil
	}
	winners := t.winners()
	rank := func(r *row) int {
		switch {
		case winners[r]:
			return 0
		case r.correct():
			return 1
		case !r.void():
			return 2
		}
		return 3
	}
	first := slices.SortedStableFunc(slices.Values(rows), func(a, b *row) int { return rank(a) - rank(b) })[:mostRows]
	kept = slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !slices.Contains(first, r) })
	return kept, []string{fmt.Sprintf("The charts show %d of the %d points of this load: those that may be compared come first, in the order of the table.", len(kept), len(rows))}
}
