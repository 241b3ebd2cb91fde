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

// headline is the answer to what a scenario asks about one load: what drained fastest, or
// which settings keep up; or why there is none.
type headline struct {
	best     *row   // drained fastest, and apart from all others; nil: none
	Label    string // what is asked
	Value    string // the answer at a glance, in Unit
	Unit     string
	Name     string // whose it is
	Note     string // what belongs to it
	Sentence string // all of it in words
	// plain is the same for readers who know no terms, without a full stop; more, when the
	// changes of some row arrived, and a caveat may follow it.
	plain, more, caveat string
	arrived             interface{ arrived() string }
}

// full is all of it for readers who know no terms.
func (h *headline) full() string {
	s := h.plain + h.more
	if h.arrived != nil {
		s += h.arrived.arrived()
	}
	return s + h.caveat
}

// Headlines are the answers for each load: of a closed one, drain times are compared; an
// open one asks who keeps up, because there the plan decides how long it takes. Only correct
// points are compared, and only those that were waited for. Beside the published tables the
// answer is another: see Shaped.
func (t *table) Headlines() (lines []headline) {
	if t.compared != nil {
		return nil
	}
	for _, c := range t.contests() {
		switch {
		case c.rows[0].isOpen():
			lines = append(lines, t.sizing(c)...)
		default:
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
	h := headline{Label: "load " + clean(load) + ": fastest correct drain", Value: "no winner"}
	none := func(format string, args ...any) headline {
		h.Note = fmt.Sprintf(format, args...)
		h.Sentence = clean(load) + ": no winner: " + h.Note + "."
		return h
	}
	under := "Under load " + inShort(load, 8) + ", "
	var all []timed
	for _, r := range rows {
		if v := drain.measure(r); r.correct() && r.checks["G1"].Verdict == result.Pass && !r.isFloor() && v.number != nil && !v.projected {
			all = append(all, timed{r, v})
		}
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(*a.drain.number, *b.drain.number) })
	switch len(all) {
	case 0:
		h.plain = under + "no speed can be compared"
		return none("no point may be compared")
	case 1:
		h.plain = under + fmt.Sprintf("storage had all Pods from %s after %s s, with nothing to compare that with", inShort(all[0].label(), 8), drain.text(all[0].drain))
		h.arrived = all[0].row
		return none("only %s may be compared", all[0].label())
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
		h.plain = under + fmt.Sprintf("the %d fastest are too close to call", len(near))
		if len(near) <= 3 {
			h.plain = under + join(near) + " are too close to call"
		}
	}
	switch {
	case len(near) > 1 && few:
		return none("%s are too close to rank: with fewer than %d repetitions nothing closer than %v × is ranked", join(near), stats.Least, stats.Factor)
	case len(near) > 1:
		return none("%s are too close to rank: their intervals overlap", join(near))
	}
	h.best, h.Name, h.Value, h.Unit = first.row, first.label(), short(*first.drain.number), "s"
	count := "(" + strings.TrimPrefix(fmt.Sprintf("%s, n = %d)", first.drain.spread(), len(first.drain.values)), ", ")
	var claims []string
	for i, o := range others {
		if i == 0 || o.strategy == serial {
			claims = append(claims, first.claim(o))
		}
	}
	h.Note = count + " · " + strings.Join(claims, " · ")
	h.Sentence = fmt.Sprintf("%s: %s drained fastest of %d correct points, in %s s %s: %s.", clean(load), h.Name, len(all), h.Value, count, strings.Join(claims, ", "))
	h.plain = under + inShort(h.Name, 8) + " was fastest"
	if len(all) < len(rows) {
		h.plain += fmt.Sprintf(" of %d comparable", len(all))
	}
	h.more = ": all Pods stored after " + h.Value + " s"
	if spread := first.drain.spread(); spread != "" {
		h.more += " (" + spread + ")"
	}
	h.more += ", " + claims[0]
	if last := claims[len(claims)-1]; len(claims) > 1 {
		h.more += " and " + last
	}
	h.arrived = first.row
	if s := untested(all); s != "" {
		h.Note += " · " + s
		h.Sentence += " " + s
	}
	return h
}

// untested says whose order was not put to the test, so that it is not taken for shown.
func untested(all []timed) string {
	var rows []string
	for _, r := range all {
		if weak := r.with(result.NoPower); len(weak) > 0 {
			rows = append(rows, r.label()+" ("+ranges(weak)+")")
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return "Not put to the test, for want of power: " + join(rows) + "."
}

// arrived is within which time storage had the row's changes; "" where it is not known or
// only bounded.
func (r *row) arrived() string {
	p50, p99 := freshnessQuantiles[0].measure(r), freshnessP99.measure(r)
	if p50.number == nil || p99.number == nil || p50.atLeast || p99.atLeast {
		return ""
	}
	return fmt.Sprintf("; half of the changes arrived within %s s, 99 %% within %s s", freshnessP99.text(p50), freshnessP99.text(p99))
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
