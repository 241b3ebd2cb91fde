package render

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

const sweptLeast = 3

// notations are the quantities that points may be written in, with the unit of the axis and its
// size in the quantity's smallest unit.
var notations = []struct {
	quantity units.Quantity
	unit     string
	least    float64
}{
	{units.Numbers, "", 1}, {units.Durations, "s", 1e9}, {units.Sizes, "KiB", 1 << 10}, {units.Shares, "%",
		1e-2}, {units.Speeds, "×", 1},
}

// swept has the rows along each axis whose points are numbers, or have a unit, by rising value, and a chart over each:
// of the figures that have a threshold, with it, else of storage's rate. A ladder has its own table.
func (t *table) swept() Section {
	s := Section{ID: "sweep", Title: "Over the swept values", Notes: []string{
		"Where gain no longer follows the values, something else limits the rate: see “Where the events went”."}}
	s.Table.Heads = append(Heads("axis", "of"), Head{Title: "value"})
	metrics := append(chosen("storage.qps", "handler.drainSeconds", "freshness.p99"), t.perReplica()...)
	for _, m := range metrics {
		s.Table.Heads = append(s.Table.Heads, headOf(m))
	}
	s.Table.Heads = append(s.Table.Heads, Head{Title: "gain", Unit: "×",
		Meaning: "Storage rate divided by that of the line above."}, Head{Title: "verdict", Words: true})
	if t.ladder() {
		return s
	}
	for i, path := range t.extra {
		at, unit := t.along(i)
		if at == nil {
			continue
		}
		name := func(r *row) string {
			rest := slices.Delete(slices.Clone(r.extra), i, i+1)
			return clean(strings.Join(slices.Concat([]string{r.strategy}, rest, []string{r.load}), " "))
		}
		rows := slices.SortedStableFunc(slices.Values(t.rows), func(a, b *row) int {
			return cmp.Or(cmp.Compare(name(a), name(b)), cmp.Compare(at[a], at[b]))
		})
		for k, r := range rows {
			begins := k == 0 || name(rows[k-1]) != name(r)
			rate, gain := r.speed(), math.NaN()
			if !begins {
				gain = rate / rows[k-1].speed()
			}
			cells := append([]Cell{{Text: axis(path), Gap: begins}}, Cells(name(r), r.extra[i])...)
			for _, m := range metrics {
				cells = append(cells, cellOf(m, r.Cells))
			}
			s.Table.Rows = append(s.Table.Rows, append(cells, Cell{Text: fixed(&gain, 2)},
				Cell{Text: r.verdict(), Tone: r.state().tone()}))
		}
		for _, m := range t.bounded() {
			s.Plots = append(s.Plots, t.over(m, rows, name, at, axis(path)+leading(" (", unit, ")")))
		}
	}
	return s
}

// perReplica are the figures of watchers that share the work, where there are some.
func (t *table) perReplica() []result.Metric {
	all := chosen("watcher.replicaRSSPeakMiB", "watcher.replicaCPUCores")
	if !slices.ContainsFunc(t.rows, func(r *row) bool { return all[0].Over(r.Cells).Value != nil }) {
		return nil
	}
	return all
}

// bounded are the figures that have a threshold; without one those per replica, or storage's rate.
func (t *table) bounded() (all []result.Metric) {
	for i := range t.res.Thresholds {
		m, err := result.MetricByName(t.res.Thresholds[i].Metric)
		same := func(x result.Metric) bool { return x.Name == m.Name }
		if err == nil && m.Title != "" && !slices.ContainsFunc(all, same) {
			all = append(all, m)
		}
	}
	if all = append(all, t.perReplica()...); len(all) == 0 {
		return chosen("storage.qps")
	}
	return all
}

// over is a chart of a metric over the values of an axis, with its thresholds and a mark on the answer.
func (t *table) over(m result.Metric, rows []*row, name func(*row) string, at map[*row]float64, x string) Plot {
	p := Plot{Title: m.Title + " over " + x, Unit: unitOf(m.Unit), X: x, Caption: m.Meaning}
	answer := PlotLine{Name: "answer", Marks: true}
	for k, r := range rows {
		if k == 0 || name(rows[k-1]) != name(r) {
			p.Lines = append(p.Lines, PlotLine{Name: name(r)})
		}
		v := math.NaN()
		if have := m.Over(r.Cells).Value; have != nil && r.correct() {
			v = inUnit(m.Unit, *have)
		}
		line := &p.Lines[len(p.Lines)-1]
		line.Points = append(line.Points, [2]float64{at[r], v})
		if t.answers(r) {
			answer.Points = append(answer.Points, [2]float64{at[r], v})
		}
	}
	drawn := map[string]bool{}
	for i := range t.res.Thresholds {
		b := &t.res.Thresholds[i]
		limit, err := m.Bound(b.Bound)
		if b.Metric == m.Name && err == nil && !drawn[b.Bound] {
			drawn[b.Bound] = true
			p.bound("bound "+b.Bound, inUnit(m.Unit, limit.Value))
		}
	}
	if len(answer.Points) > 0 {
		p.Lines = append(p.Lines, answer)
	}
	return p
}

// answers reports whether a row is the smallest setting that keeps up, or leads alone; without a contest, whether it is
// the first in the table that holds all thresholds.
func (t *table) answers(r *row) bool {
	if len(t.contests) == 0 && len(t.res.Thresholds) > 0 {
		holds := func(r *row) bool {
			return !slices.ContainsFunc(t.res.Thresholds, func(x result.Threshold) bool { return x.Point == r.Name && !x.Holds })
		}
		i := slices.IndexFunc(t.rows, holds)
		return i >= 0 && t.rows[i] == r
	}
	for i := range t.contests {
		if s := t.contests[i].Sizing; s != nil && slices.Contains(slices.Concat(s.Every, s.Latest), r.Name) {
			return true
		}
	}
	_, leads := t.best()[r]
	return leads
}

func (r *row) speed() float64 {
	if v := figureOf("storage.qps").Over(r.Cells).Value; v != nil && r.correct() {
		return *v
	}
	return math.NaN()
}

// along returns the rows' values on an axis and their common unit; nil if there is none, or too few values.
func (t *table) along(axis int) (at map[*row]float64, unit string) {
	for _, n := range notations {
		at, values := map[*row]float64{}, map[float64]bool{}
		for _, r := range t.rows {
			if v, ok := n.quantity.Value(r.extra[axis]); ok {
				at[r], values[v] = v/n.least, true
			}
		}
		if len(at) == len(t.rows) && len(values) >= sweptLeast {
			return at, n.unit
		}
	}
	return nil, ""
}
