package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// got is one line of the table: what a kind of readers got in one cell.
type got struct {
	due, done int64
	errors    map[string]int64
	rate      *float64 // done per second
	times     *result.Quantiles
}

// kindsOfReaders are in the order in which they are shown.
var kindsOfReaders = []struct {
	name string
	of   func(*result.Readers) *got
}{
	{"GET", func(r *result.Readers) *got { return queried(r.Get) }},
	{"LIST", func(r *result.Readers) *got { return queried(r.List) }},
	{"watch", func(r *result.Readers) *got {
		w := r.Watches
		if w == nil {
			return nil
		}
		errors := some(map[string]int64{"missed": w.Missed, "began anew": w.Relisted})
		return &got{due: w.Changes * int64(w.Count), done: w.Events, errors: errors, times: w.LagMs}
	}},
	{"webhook", func(r *result.Readers) *got {
		w := r.Webhooks
		if w == nil || w.Healthy == 0 {
			return nil
		}
		due := w.Changes * int64(w.Healthy)
		return &got{due: due, done: due - w.Missed, errors: some(map[string]int64{"missed": w.Missed}), times: w.LagMs}
	}},
	{"faulty webhook", func(r *result.Readers) *got {
		w := r.Webhooks
		if w == nil || w.Healthy == w.Receivers {
			return nil
		}
		x := &got{due: w.Changes * int64(w.Receivers-w.Healthy), errors: w.Faults, times: w.FaultyMs}
		if w.FaultyMs != nil {
			x.done = w.FaultyMs.Count
		}
		return x
	}},
}

func queried(q *result.Queries) *got {
	if q == nil {
		return nil
	}
	return &got{due: q.Planned, done: q.Done, errors: q.Errors, rate: q.QPS, times: q.FromIntent}
}

// some are the counts that are not 0.
func some(all map[string]int64) map[string]int64 {
	maps.DeleteFunc(all, func(_ string, n int64) bool { return n == 0 })
	return all
}

// readers is the table of readers and their latencies.
func (t *table) readers() Section {
	s := Section{ID: "readers", Title: "Readers", Table: t.keys(), Notes: []string{
		"Times of queries are from when one was due to the last byte of its answer; of watches and webhooks, from when a " +
			"write " +
			"was due to its event at a reader."}}
	s.Table.Heads = append(s.Table.Heads, append(Heads("from", "reader"), Head{Title: "due"},
		Head{Title: "done", Meaning: "Queries that were answered with 200 and all that was asked for; events that arrived."},
		Head{Title: "rate", Unit: "/s"}, Head{Title: "p50", Unit: "ms"}, Head{Title: "p90", Unit: "ms"},
		Head{Title: "p99", Unit: "ms"}, Head{Title: "max", Unit: "ms"}, Head{Title: "errors", Words: true})...)
	s.Table.Keys += 2
	for _, r := range t.rows {
		for _, kind := range kindsOfReaders {
			if cells := gotBy(r, kind.of); cells != nil {
				row := append(t.cells(r), Cells(cells[0], kind.name)...)
				row[0].Gap = kind.name == "GET"
				s.Table.Rows = append(s.Table.Rows, append(row, Cells(cells[1:]...)...))
			}
		}
	}
	if len(s.Table.Rows) == 0 {
		return Section{}
	}
	return s
}

// gotBy sums up what a kind of readers got in the valid cells of a row; nil where there are none.
func gotBy(r *row, of func(*result.Readers) *got) []string {
	var sum got
	var all []*result.Quantiles
	var rates []float64
	from := ""
	for _, c := range r.valid {
		if c.Readers == nil {
			continue
		}
		x := of(c.Readers)
		if x == nil {
			continue
		}
		from, sum.due, sum.done = c.Readers.From, sum.due+x.due, sum.done+x.done
		for what, n := range x.errors {
			if sum.errors == nil {
				sum.errors = map[string]int64{}
			}
			sum.errors[what] += n
		}
		if x.times != nil {
			all = append(all, x.times)
		}
		if x.rate != nil {
			rates = append(rates, *x.rate)
		}
	}
	if from == "" {
		return nil
	}
	line := []string{from, fmt.Sprint(sum.due), fmt.Sprint(sum.done), fixed(median(rates), 0)}
	return append(append(line, spread(all)...), errorsText(sum.errors))
}

// spread is p50, p90, p99 and the maximum of distributions taken together, in ms.
func spread(all []*result.Quantiles) []string {
	h := result.Merge(all)
	if h == nil {
		return slices.Repeat([]string{unknown}, 4)
	}
	at := func(p float64) string { return fixed(new(float64(h.ValueAtQuantile(p))/1000), 2) }
	p99 := at(99)
	if h.TotalCount() < result.LeastForP99 {
		p99 = unknown
	}
	return []string{at(50), at(90), p99, fixed(new(float64(h.Max())/1000), 2)}
}

// errorsText lists errors, the most frequent first.
func errorsText(all map[string]int64) string {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%s: %d", clean(k), all[k]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// readerCosts compares watcher and apiserver with and without readers.
func (t *table) readerCosts() Section {
	if !t.any(func(c *result.Cell) bool { return c.Readers != nil }) {
		return Section{}
	}
	s := Section{ID: "reading-costs", Title: "What reading costs", Table: t.keys(), Notes: []string{
		"× is against the cell of the same plan and repetition without readers. The apiserver's figures are requests for " +
			"Pods " +
			"during the load and watches of them at its end; the record itself has one watch."}}
	s.Table.Heads = append(s.Table.Heads, append(Heads("read from"),
		Head{Title: "freshness p99", Unit: "s"}, Head{Title: "of none", Unit: "×"},
		Head{Title: "watcher CPU", Unit: "cores"}, Head{Title: "of none", Unit: "×"},
		Head{Title: "peak memory", Unit: "MiB"}, Head{Title: "of none", Unit: "×"},
		Head{Title: "GETs at the apiserver"}, Head{Title: "LISTs"}, Head{Title: "watches"},
		Head{Title: "its CPU", Unit: "cores"})...)
	for _, r := range t.rows {
		if r.void() {
			continue
		}
		cells := append(t.cells(r), Cell{Text: "nobody"})
		if x := r.valid[0].Readers; x != nil {
			cells[len(cells)-1].Text = x.From
		}
		for _, f := range readerFigures {
			cells = append(cells, Cell{Text: fixed(medianOf(f.of)(r).number, f.decimals)})
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	return s
}

// readerFigures are the columns of figures of that table.
var readerFigures = []struct {
	decimals int
	of       func(*result.Cell) *float64
}{
	{3, func(c *result.Cell) *float64 {
		if c.Freshness == nil {
			return nil
		}
		return &c.Freshness.P99
	}},
	{2, byReaders(func(r *result.Readers) *float64 { return r.FreshnessRatio })},
	{3, func(c *result.Cell) *float64 { return c.Watcher.CPUCores }},
	{2, byReaders(func(r *result.Readers) *float64 { return r.CPURatio })},
	{1, func(c *result.Cell) *float64 { return c.Watcher.RSSPeakMiB }},
	{2, byReaders(func(r *result.Readers) *float64 { return r.RSSRatio })},
	{0, byAPI(func(a *result.API) *float64 { return &a.Gets })},
	{0, byAPI(func(a *result.API) *float64 { return &a.Lists })},
	{0, byAPI(func(a *result.API) *float64 { return &a.Watches })},
	{3, byAPI(func(a *result.API) *float64 { return a.CPUCores })},
}

func byReaders(of func(*result.Readers) *float64) func(*result.Cell) *float64 {
	return func(c *result.Cell) *float64 {
		if c.Readers == nil {
			return nil
		}
		return of(c.Readers)
	}
}

func byAPI(of func(*result.API) *float64) func(*result.Cell) *float64 {
	return func(c *result.Cell) *float64 {
		if c.API == nil {
			return nil
		}
		return of(c.API)
	}
}
