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
		if w == nil {
			return nil
		}
		due := w.Changes * int64(w.Receivers)
		return &got{due: due, done: due - w.Missed, errors: some(map[string]int64{"missed": w.Missed}), times: w.LagMs}
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
