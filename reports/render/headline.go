package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// headline is the strategy that drained fastest under one load, as text; or why none is
// named.
type headline struct {
	best   *row // nil: none
	Load   string
	Best   string
	Drain  string   // of the best, seconds
	Count  string   // how often it was measured, and its interval
	among  int      // rows that were compared
	Claims []string // what it is compared with, and what differs
	Weak   []string // compared rows that passed a check without power, with its name
	Why    string   // there is no best
}

// Headlines compares drain times, among correct cells whose drain was waited for.
func (t *table) Headlines() (lines []headline) {
	for _, c := range t.contests() {
		if !t.shared(c.rows[0].load) {
			lines = append(lines, headlineOf(c.name, c.rows))
		}
	}
	return lines
}

// contest are rows that differ in their watcher alone: under one load, with one storage.
type contest struct {
	name string // of the load and of what else distinguishes it
	rows []*row
}

// contests are all rows by what their watchers were put to, in row order.
func (t *table) contests() (all []contest) {
	for _, r := range t.rows {
		name := r.load
		for i, axis := range t.extra {
			if axis != "watcher" && !strings.HasPrefix(axis, "watcher.") {
				name += " " + r.extra[i]
			}
		}
		i := slices.IndexFunc(all, func(c contest) bool { return c.name == name })
		if i < 0 {
			i, all = len(all), append(all, contest{name: name})
		}
		all[i].rows = append(all[i].rows, r)
	}
	return all
}

// winners are the rows that a headline names.
func (t *table) winners() map[*row]bool {
	rows := map[*row]bool{}
	for _, h := range t.Headlines() {
		if h.best != nil {
			rows[h.best] = true
		}
	}
	return rows
}

// timed is a row that may be compared, with its drain time.
type timed struct {
	*row
	drain reading
}

func headlineOf(load string, rows []*row) headline {
	h := headline{Load: clean(load)}
	var all []timed
	for _, r := range rows {
		if v := drain.measure(r); r.correct() && r.checks["G1"].Verdict == result.Pass && !r.isFloor() && v.number != nil && !v.projected {
			all = append(all, timed{r, v})
		}
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(*a.drain.number, *b.drain.number) })
	switch len(all) {
	case 0:
		h.Why = "no point may be compared"
		return h
	case 1:
		h.Why = "only " + all[0].label() + " may be compared"
		return h
	}
	first, others := all[0], all[1:]
	near := []string{first.timing()}
	few := len(first.drain.values) < stats.Least
	for _, o := range others {
		if stats.Apart(first.drain.values, o.drain.values) >= 0 {
			near = append(near, o.timing())
			few = few || len(o.drain.values) < stats.Least
		}
	}
	if len(near) > 1 {
		h.Why = join(near) + " are too close to rank: their intervals overlap"
		if few {
			h.Why = fmt.Sprintf("%s are too close to rank: with fewer than %d repetitions nothing closer than %v × is ranked", join(near), stats.Least, stats.Factor)
		}
		return h
	}
	h.best, h.among = first.row, len(all)
	for _, r := range all {
		if weak := r.with(result.NoPower); len(weak) > 0 {
			h.Weak = append(h.Weak, r.label()+" ("+ranges(weak)+")")
		}
	}
	h.Best, h.Drain = first.label(), short(*first.drain.number)
	h.Count = "(" + strings.TrimPrefix(fmt.Sprintf("%s, n = %d)", first.drain.spread(), len(first.drain.values)), ", ")
	for i, o := range others {
		if i == 0 || o.strategy == serial {
			h.Claims = append(h.Claims, first.claim(o))
		}
	}
	return h
}

// serial is the strategy with one request at a time, which others are compared with.
const serial = "single"

func (r timed) timing() string { return fmt.Sprintf("%s (%s s)", r.label(), short(*r.drain.number)) }

// claim compares with another row, and says where both did not do the same work.
func (r timed) claim(o timed) string {
	s := fmt.Sprintf("%s × faster than %s", short(*o.drain.number / *r.drain.number), o.label())
	if part := share(r, o, func(c *result.Cell) int64 { return c.Load.Done }); part != "" {
		s += " after " + part + " of its writes"
	}
	if part := share(r, o, func(c *result.Cell) int64 { return c.Storage.Requests }); part != "" {
		s += " with " + part + " of its requests"
	}
	return s
}

// sameWork is how much two amounts may differ and still be the same work.
const sameWork = 0.10

// share is r's amount as a part of o's; "" where they are as good as the same.
func share(r, o timed, amount func(*result.Cell) int64) string {
	known := func(c *result.Cell) *float64 { return ifSome(float64(amount(c)), amount(c) > 0) }
	a, b := median(valuesOf(r.valid, known)), median(valuesOf(o.valid, known))
	if a == nil || b == nil || math.Abs(*a / *b - 1) <= sameWork {
		return ""
	}
	return percent(*a / *b)
}

// Sentence is the headline in words.
func (h headline) Sentence() string {
	if h.best == nil {
		return h.Load + ": no winner: " + h.Why + "."
	}
	return fmt.Sprintf("%s: %s drained fastest of %d correct points, in %s s %s: %s.%s", h.Load, h.Best, h.among, h.Drain, h.Count, strings.Join(h.Claims, ", "), h.Untested())
}

// Untested says whose order was not put to the test, so that it is not taken for shown.
func (h headline) Untested() string {
	if len(h.Weak) == 0 {
		return ""
	}
	return " Not put to the test, for want of power: " + join(h.Weak) + "."
}
