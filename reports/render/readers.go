package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// got is what a kind of readers got in one cell.
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
		due := w.Changes * int64(w.Healthy)
		all = append(all, got{"webhook", due, due - w.Missed, map[string]int64{"missed": w.Missed}, w.LagMs})
		if w.FaultyMs != nil {
			due := w.Changes * int64(w.Receivers-w.Healthy)
			all = append(all, got{"webhook with faults", due, w.FaultyMs.Count, w.Faults, w.FaultyMs})
		}
	}
	slices.SortFunc(all, func(a, b got) int { return cmp.Compare(a.kind, b.kind) })
	return slices.DeleteFunc(all, func(g got) bool { return g.due == 0 })
}

// readers is the table of readers and their latencies, by repetition.
func (t *table) readers() Section {
	s := Section{ID: "readers", Title: "Readers", Table: t.keys(), Notes: []string{
		"Times of queries are from when one was due to the last byte of its answer; of watches and webhooks, from when a " +
			"write was due to its event at a reader."}}
	s.Table.Heads = append(s.Table.Heads, append(Heads("from", "reader"), Head{Title: "due"},
		Head{Title: "done", Meaning: "Queries that were answered with 200 and all that was asked for; events that arrived."},
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

// counts lists what is not 0, the most frequent first.
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

// readerCosts compares watcher and apiserver with and without readers.
func (t *table) readerCosts() Section {
	s := Section{ID: "reading-costs", Title: "What reading costs", Table: t.keys(), Notes: []string{
		"× is against the cell of the same plan and repetition without readers. The apiserver's figures are requests for " +
			"Pods during the load and watches of them at its end; the record itself has one watch."}}
	s.Table.Heads = append(s.Table.Heads, Head{Title: "freshness p99", Unit: "×"}, Head{Title: "CPU", Unit: "×"},
		Head{Title: "memory", Unit: "×"}, Head{Title: "GETs"}, Head{Title: "LISTs"}, Head{Title: "watches"},
		Head{Title: "apiserver's CPU", Unit: "cores"})
	if !slices.ContainsFunc(t.res.Cells, func(c result.Cell) bool { return c.Readers != nil }) {
		return s
	}
	for _, r := range t.rows {
		cells := t.cells(r)
		for _, name := range []string{"readers.freshnessRatio", "readers.cpuRatio", "readers.rssRatio", "api.gets",
			"api.lists", "api.watches", "api.cpuCores"} {
			m, _ := result.MetricByName(name)
			cells = append(cells, Cell{Text: shortOf(m.Over(r.Cells).Value)})
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	return s
}

// traffic compares the events per kind of each load's first valid cell with the plan.
func (t *table) traffic() Section {
	s := Section{ID: "traffic", Title: "Events per kind", Table: Table{
		Heads: append(Heads("kind", "profile", "load"),
			Head{Title: "added"}, Head{Title: "modified"}, Head{Title: "deleted"},
			Head{Title: "events", Unit: "per pod"}, Head{Title: "expected", Unit: "per pod"},
			Head{Title: "of expected", Unit: "%"}, Head{Title: "size", Unit: "KB"}, Head{Title: "expected", Unit: "KB"})},
		Notes: []string{"Each acknowledged write is one watch event; expected is what the plan has. Of the first valid " +
			"cell. Sizes are means over storage's requests. 1 KB is 1,000 bytes."}}
	seen := map[string]bool{}
	for _, r := range t.rows {
		if r.void() || seen[r.load] || r.valid[0].Traffic == nil {
			continue
		}
		x := r.valid[0].Traffic
		seen[r.load] = true
		for i, kind := range slices.SortedFunc(maps.Keys(x.Kinds), func(a, b string) int {
			return cmp.Or(cmp.Compare(x.Kinds[b].Events(), x.Kinds[a].Events()), cmp.Compare(a, b))
		}) {
			k := x.Kinds[kind]
			part := unknown
			if k.Expected != nil && *k.Expected > 0 {
				part = short(100 * float64(k.Events()) / *k.Expected)
			}
			cells := Cells(kind, x.Profile, r.load, fmt.Sprint(k.Added), fmt.Sprint(k.Modified), fmt.Sprint(k.Deleted),
				shortOf(k.PerPod), shortOf(k.ExpectedPerPod), part, kilobytes(k.Bytes), kilobytes(k.ExpectedBytes))
			cells[0].Gap = i == 0
			s.Table.Rows = append(s.Table.Rows, cells)
		}
	}
	return s
}

func kilobytes(v *float64) string {
	if v == nil {
		return unknown
	}
	return short(*v / 1000)
}

// growth is the table of a ladder.
func (t *table) growth() Section {
	s := Section{ID: "growth", Title: "Growth", Table: Table{Heads: append(Heads("rung"),
		Head{Title: "objects", Meaning: "That existed before the load."},
		Head{Title: "offered", Unit: "events/s"}, Head{Title: "achieved", Unit: "events/s"},
		Head{Title: "stored", Unit: "s", Meaning: "From the start of the watcher until storage had all that existed before " +
			"the load."},
		Head{Title: "sync CPU", Unit: "s", Meaning: "CPU time of the watcher in that time."},
		Head{Title: "memory", Unit: "MiB", Meaning: "Resident memory in the end, when what the first lists took besides " +
			"has been given back."},
		Head{Title: "per object", Unit: "B", Meaning: "Memory above the smallest rung of the same rate, per object more " +
			"than that has."},
		Head{Title: "peak", Unit: "MiB", Meaning: "The highest resident memory since the start of the process."},
		Head{Title: "freshness p50", Unit: "s"}, Head{Title: "freshness p99", Unit: "s"})}}
	g := t.res.Growth
	if g == nil {
		return s
	}
	for i := range g.Rungs {
		x := &g.Rungs[i]
		rate := shortOf(x.Rate)
		switch {
		case x.Skipped != "":
			s.Notes = append(s.Notes, x.Point+" was skipped: "+x.Skipped)
			continue
		case x.Valid == 0:
			rate = "invalid"
		case x.Rate == nil:
			rate = "unlimited"
		}
		s.Table.Rows = append(s.Table.Rows, Cells(x.Point, strconv.FormatInt(x.Objects, 10), rate, shortOf(x.QPS),
			shortOf(x.Stored), shortOf(x.SyncCPU), shortOf(x.HeldMiB), shortOf(x.BytesPerObject), shortOf(x.PeakMiB),
			shortOf(x.FreshP50), shortOf(x.FreshP99)))
	}
	for _, x := range []struct {
		name string
		s    *result.Slope
	}{{"memory", g.Memory}, {"peak memory", g.Peak}, {"sync CPU", g.SyncCPU}} {
		if x.s != nil {
			s.Notes = append(s.Notes, fmt.Sprintf("Beyond the smallest rung of the lowest rate, %s grows as objects^%.2f "+
				"(%d rungs; ^%.2f between the last two).", x.name, x.s.Exponent, x.s.Rungs, x.s.Last))
		}
	}
	return s
}
