package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// The tables of those who read: what they got, and what it did to the others.

// hasReaders reports whether anyone reads in any cell.
func (t *table) hasReaders() bool {
	return slices.ContainsFunc(t.res.Cells, func(c result.Cell) bool { return c.Readers != nil })
}

// named has the row's strategy, load and further axes.
func (t *table) named() (heads []heading, names func(*row) []string) {
	heads = words(t.who(), "load")
	for _, k := range t.extra {
		heads = append(heads, words(axis(k))...)
	}
	return heads, func(r *row) []string {
		all := []string{clean(r.strategy), clean(r.load)}
		for _, v := range r.extra {
			all = append(all, clean(v))
		}
		return all
	}
}

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
		return &got{due: w.Changes * int64(w.Count), done: w.Events, errors: some(map[string]int64{"missed": w.Missed, "began anew": w.Relisted}), times: w.LagMs}
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

// Readers is the table of what readers got; without rows where nobody read.
func (t *table) Readers() (s sheet) {
	if !t.hasReaders() {
		return s
	}
	heads, names := t.named()
	s.Keys, s.Heads = len(heads)+2, append(heads, append(words("from", "reader"),
		heading{Title: "due"}, heading{Title: "done"}, heading{Title: "rate", Unit: "/s"},
		heading{Title: "p50", Unit: "ms"}, heading{Title: "p90", Unit: "ms"}, heading{Title: "p99", Unit: "ms"}, heading{Title: "max", Unit: "ms"},
		heading{Title: "errors", Left: true})...)
	for _, r := range t.rows {
		for _, kind := range kindsOfReaders {
			var sum got
			var all []*result.Quantiles
			from, cells, rate := "", 0, 0.0
			for _, c := range r.valid {
				if c.Readers == nil {
					continue
				}
				x := kind.of(c.Readers)
				if x == nil {
					continue
				}
				cells++
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
					rate += *x.rate
					sum.rate = &rate
				}
			}
			if cells == 0 {
				continue
			}
			if sum.rate != nil {
				rate /= float64(cells)
			}
			l := sheetRow{First: len(s.Rows) > 0 && kind.name == "GET"}
			l.add(names(r)...)
			l.add(from, kind.name, fmt.Sprint(sum.due), fmt.Sprint(sum.done), fixed(sum.rate, 0))
			l.add(spread(all)...)
			l.add(errorsText(sum.errors))
			s.Rows = append(s.Rows, l)
		}
	}
	return s
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
	keys := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%s: %d", clean(k), all[k]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// ReadersNote says how to read the table.
func (t *table) ReadersNote() string {
	return "Of queries, the time from when one was due to the last byte of its answer; done are those answered with 200 and all that was asked for. " +
		"Of watches and webhooks, the time from when a write was due to its event at a reader, of healthy receivers and faulty ones apart."
}

// ReaderCosts is the table of what reading does to the watcher and to the apiserver; without
// rows where nobody read.
func (t *table) ReaderCosts() (s sheet) {
	if !t.hasReaders() {
		return s
	}
	heads, names := t.named()
	s.Keys, s.Heads = len(heads), append(heads, append(words("read from"),
		heading{Title: "freshness p99", Unit: "s"}, heading{Title: "of none", Unit: "×"},
		heading{Title: "watcher CPU", Unit: "cores"}, heading{Title: "of none", Unit: "×"},
		heading{Title: "peak memory", Unit: "MiB"}, heading{Title: "of none", Unit: "×"},
		heading{Title: "GETs at the apiserver"}, heading{Title: "LISTs"}, heading{Title: "watches"}, heading{Title: "its CPU", Unit: "cores"})...)
	for i, r := range t.rows {
		if r.void() {
			continue
		}
		l := sheetRow{First: i > 0 && r.load != t.rows[i-1].load, State: r.state(), Color: r.color()}
		l.add(names(r)...)
		from := "nobody"
		if x := r.valid[0].Readers; x != nil {
			from = x.From
		}
		of := func(digits int, field func(*result.Cell) *float64) string {
			return fixed(medianOf(field)(r).number, digits)
		}
		readers := func(field func(*result.Readers) *float64) func(*result.Cell) *float64 {
			return func(c *result.Cell) *float64 {
				if c.Readers == nil {
					return nil
				}
				return field(c.Readers)
			}
		}
		api := func(field func(*result.API) *float64) func(*result.Cell) *float64 {
			return func(c *result.Cell) *float64 {
				if c.API == nil {
					return nil
				}
				return field(c.API)
			}
		}
		l.add(from,
			of(3, func(c *result.Cell) *float64 {
				if c.Freshness == nil {
					return nil
				}
				return &c.Freshness.P99
			}), of(2, readers(func(r *result.Readers) *float64 { return r.FreshnessRatio })),
			of(3, func(c *result.Cell) *float64 { return c.Watcher.CPUCores }), of(2, readers(func(r *result.Readers) *float64 { return r.CPURatio })),
			of(1, func(c *result.Cell) *float64 { return c.Watcher.RSSPeakMiB }), of(2, readers(func(r *result.Readers) *float64 { return r.RSSRatio })),
			of(0, api(func(a *result.API) *float64 { return &a.Gets })), of(0, api(func(a *result.API) *float64 { return &a.Lists })),
			of(0, api(func(a *result.API) *float64 { return &a.Watches })), of(3, api(func(a *result.API) *float64 { return a.CPUCores })))
		s.Rows = append(s.Rows, l)
	}
	return s
}

// ReaderCostsNote says what is compared.
func (t *table) ReaderCostsNote() string {
	return "× is against the cell of the same plan and repetition without readers. The apiserver's figures are requests for Pods during the load and watches of them at its end, by its own counters; " +
		"one watch is that of the record, straight from the apiserver."
}
