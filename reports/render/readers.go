package render

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

type got struct {
	kind      string
	due, done int64
	errors    map[string]int64
	times     *result.Quantiles
}

func gotBy(r *result.Readers) (all []got) {
	for kind, q := range map[string]*result.Queries{"GET": r.Get, "LIST": r.List} {
		if q != nil {
			all = append(all, got{kind, q.Planned, q.Done, q.Errors, q.FromIntent})
		}
	}
	if w := r.Watches; w != nil {
		all = append(all, got{"watch", w.Changes * int64(w.Count), w.Events,
			map[string]int64{"missed": w.Missed, "began anew": w.Relisted}, w.LagMs})
	}
	if w := r.Webhooks; w != nil {
		due := w.Changes * int64(w.Receivers)
		all = append(all, got{"webhook", due, due - w.Missed, map[string]int64{"missed": w.Missed}, w.LagMs})
	}
	slices.SortFunc(all, func(a, b got) int { return cmp.Compare(a.kind, b.kind) })
	return slices.DeleteFunc(all, func(g got) bool { return g.due == 0 })
}

func (t *table) readers() Section {
	s := Section{ID: "readers", Title: "Readers", Table: t.keys(), Notes: []string{
		"Times of queries are from when one was due to the last byte of its answer; of watches and webhooks, from when a " +
			"write was due to its event at a reader."}}
	s.Table.Heads = append(s.Table.Heads, append(Heads("from", "reader"), Head{Title: "due"},
		Head{Title: "done", Meaning: "Queries answered with 200 and everything requested; events received."},
		Head{Title: "p50", Unit: "ms"}, Head{Title: "p99", Unit: "ms"}, Head{Title: "max", Unit: "ms"},
		Head{Title: "errors", Words: true})...)
	for _, r := range t.rows {
		for _, c := range r.valid {
			if c.Readers == nil {
				continue
			}
			for _, g := range gotBy(c.Readers) {
				p50, p99, most := unknown, unknown, unknown
				if q := g.times; q != nil && q.Count > 0 {
					if p50, most = fixed(&q.P50, 2), fixed(&q.Max, 2); !q.P99IsMax() {
						p99 = fixed(&q.P99, 2)
					}
				}
				s.Table.Rows = append(s.Table.Rows, append(t.cells(r), Cells(c.Readers.From, g.kind, fmt.Sprint(g.due),
					fmt.Sprint(g.done), p50, p99, most, counts(g.errors))...))
			}
		}
	}
	return s
}

func counts(all map[string]int64) string {
	var parts []string
	for _, k := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	}) {
		if all[k] != 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", clean(k), all[k]))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func (t *table) growth() Section {
	s := Section{ID: "growth", Title: "Growth", Table: Table{Heads: append(Heads("rung"),
		Head{Title: "objects", Meaning: "That existed before the load."},
		Head{Title: "offered", Unit: "events/s"}, Head{Title: "achieved", Unit: "events/s"},
		Head{Title: "stored", Unit: "s", Meaning: "From the start of the watcher until storage had all that existed before " +
			"the load."},
		Head{Title: "sync CPU", Unit: "s", Meaning: "CPU time of the watcher in that time."},
		Head{Title: "memory", Unit: "MiB", Meaning: "Resident memory in the end, when what the first lists took besides " +
			"has been given back."},
		Head{Title: "peak", Unit: "MiB", Meaning: "The highest resident memory since the start of the process."},
		Head{Title: "freshness p50", Unit: "s"}, Head{Title: "freshness p99", Unit: "s"})}}
	if !t.ladder() {
		return s
	}
	for _, r := range slices.SortedStableFunc(slices.Values(t.rows), func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.Cells[0].Load.Prefill, b.Cells[0].Load.Prefill), cmp.Compare(a.offered(), b.offered()))
	}) {
		rate := short(r.offered())
		switch {
		case r.void():
			rate = "invalid"
		case math.IsInf(r.offered(), 1):
			rate = "unlimited"
		}
		cells := Cells(r.Name, fmt.Sprint(r.Cells[0].Load.Prefill), rate)
		for _, name := range []string{"load.qps", "watcher.storedSeconds", "watcher.storedCPUSeconds", "watcher.rssEndMiB",
			"watcher.rssHighestMiB", "freshness.p50", result.FigureFreshness} {
			m, err := result.MetricByName(name)
			if err != nil {
				panic(err) // the names are constants
			}
			cells = append(cells, Cell{Text: shortOf(m.Over(r.Cells).Value)})
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	return s
}

func (t *table) ladder() bool {
	is, _ := t.res.Scenario["ladder"].(bool)
	return is
}

func (r *row) offered() float64 {
	if v := r.Median(func(c *result.Cell) *float64 { return c.Load.OfferedQPS }); v != nil {
		return *v
	}
	return math.Inf(1)
}
