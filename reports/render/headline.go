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
		case t.decidesBy() == "freshness.p99":
			lines = append(lines, headlineOf(c.name, c.rows, byFreshness))
		case c.rows[0].isOpen() && t.decidesBy() == "":
			lines = append(lines, t.sizing(c)...)
		default:
			lines = append(lines, headlineOf(c.name, c.rows, byDrain))
		}
	}
	return lines
}

// decidesBy is the figure that the scenario ranks by; "" leaves it to the load.
func (t *table) decidesBy() string {
	d, _ := t.res.Scenario["decide"].(map[string]any)
	figure, _ := d["figure"].(string)
	return figure
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
			if !result.OfWatcher(axis) {
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

// race is what rows are ranked by, and how that is said.
type race struct {
	by                       *column
	heading, won, best, than string
	alone, took              string // with the only row and its figure, with the winner's figure
	of                       func(*result.Cell) *float64
}

var (
	byDrain = &race{drain, "fastest correct drain", "drained fastest", "fastest", "faster", "storage had all Pods from %s after %s s", "all Pods stored after %s s",
		func(c *result.Cell) *float64 {
			if c.Handler.DrainProjected {
				return nil
			}
			return c.Handler.DrainSeconds
		}}
	byFreshness = &race{freshnessP99, "freshest", "was freshest", "freshest", "fresher", "of %s 99 %% of the changes arrived within %s s", "99 %% of the changes arrived within %s s",
		func(c *result.Cell) *float64 {
			if c.Freshness == nil || c.Cut {
				return nil
			}
			return &c.Freshness.P99
		}}
)

// timed is a row that may be compared, with its figure.
type timed struct {
	*row
	*race
	figure  reading
	bounded bool
}

// runners are the rows that may be compared, the best first.
func (by *race) runners(rows []*row) (all []timed) {
	for _, r := range rows {
		v := by.by.measure(r)
		if !r.correct() || r.checks["G1"].Verdict != result.Pass || r.isFloor() || v.number == nil || v.projected {
			continue
		}
		all = append(all, timed{row: r, race: by, figure: v})
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(*a.figure.number, *b.figure.number) })
	return all
}

// places are the rows that are ranked, the best first.
type places struct {
	result.Places
	timed []timed
}

func (by *race) places(all []timed) (p places, ok bool) {
	var cells [][]*result.Cell
	for _, r := range all {
		cells = append(cells, r.valid)
	}
	p.Places, ok = result.Rank(cells, by.of)
	for i, row := range p.Rows {
		r := all[row]
		r.bounded = p.Bounded[i]
		p.timed = append(p.timed, r)
	}
	return p, ok
}

// tied is how many rows at the top are not told apart from the first.
func (p *places) tied() (n int) {
	for n = 1; n < len(p.timed) && !p.Differ(0, n); n++ {
	}
	return n
}

func headlineOf(load string, rows []*row, by *race) headline {
	h := headline{Label: "load " + clean(load) + ": " + by.heading, Value: "no winner"}
	none := func(format string, args ...any) headline {
		h.Note = fmt.Sprintf(format, args...)
		h.Sentence = clean(load) + ": no winner: " + h.Note + "."
		return h
	}
	under := "Under load " + inShort(load, 8) + ", "
	all := by.runners(rows)
	switch len(all) {
	case 0:
		h.plain = under + "no speed can be compared"
		return none("no point may be compared")
	case 1:
		h.plain = under + fmt.Sprintf(by.alone+", with nothing to compare that with", inShort(all[0].label(), 8), by.by.text(all[0].figure))
		h.arrived = all[0].row
		return none("only %s may be compared", all[0].label())
	}
	p, ok := by.places(all)
	if !ok {
		h.plain = under + fmt.Sprintf("nothing is ranked: that takes %d valid repetitions", stats.Least)
		return none("a ranking takes %d repetitions in which two points or more are valid", stats.Least)
	}
	if n := p.tied(); n > 1 {
		what, behind, alike := p.tie(n)
		h.plain, h.more = under+what, behind
		if !alike {
			return none("%s", what+behind)
		}
		var names []string
		for _, r := range p.timed[:n] {
			names = append(names, r.label())
		}
		h.Value, h.Note = join(others(names, 2)), what+behind
		h.Sentence = clean(load) + ": " + h.Note + "."
		return h
	}
	first := p.timed[0]
	h.best, h.Name, h.Value, h.Unit = first.row, first.label(), short(*first.figure.number), "s"
	count := "(" + strings.TrimPrefix(fmt.Sprintf("%s, n = %d)", first.figure.spread(), len(first.figure.values)), ", ")
	claims := []string{first.claim(p.timed[1])}
	for _, o := range p.timed[2:] {
		if o.strategy == serial {
			claims = append(claims, first.claim(o))
		}
	}
	further := p.further(1)
	h.Note = count + " · " + strings.Join(slices.Concat(claims, further), " · ")
	h.Sentence = fmt.Sprintf("%s: %s %s of %d correct points, in %s s %s: %s.", clean(load), h.Name, by.won, len(all), h.Value, count, strings.Join(claims, ", ")+leading("; ", join(further)))
	h.plain = under + inShort(h.Name, 8) + " was " + by.best
	if len(all) < len(rows) {
		h.plain += fmt.Sprintf(" of %d comparable", len(all))
	}
	h.more = ": " + fmt.Sprintf(by.took, h.Value)
	if spread := first.figure.spread(); spread != "" {
		h.more += " (" + spread + ")"
	}
	h.more += ", " + join(claims) + leading("; ", join(further))
	if by == byDrain && len(further) == 0 { // a paragraph has room for one of them
		h.arrived = first.row
	}
	if s := untested(all); s != "" {
		h.Note += " · " + s
		h.Sentence += " " + s
	}
	return h
}

// tie says of the first n places that they are not told apart, and who is behind them.
func (p *places) tie(n int) (what, behind string, alike bool) {
	var names []string
	same, limited := true, true
	for i, r := range p.timed[:n] {
		names = append(names, r.timing())
		same, limited = same && (i == 0 || p.Alike(0, i)), limited && r.bounded
	}
	what = fmt.Sprintf("are not told apart by %d repetitions", p.N)
	switch {
	case limited:
		what = "kept up with the load, which was their limit"
	case same:
		what = "are the same within 10 %"
	}
	ahead := n < len(p.timed)
	for i := 0; ahead && i < n; i++ {
		ahead = p.Differ(i, n)
	}
	if ahead {
		slowest, next := p.timed[n-1], p.timed[n]
		behind = fmt.Sprintf("; each is at least %s × %s than %s", short(*next.figure.number / *slowest.figure.number), slowest.than, next.label())
		behind += leading("; ", join(p.further(n)))
	}
	return join(names) + " " + what, behind, same
}

// further are the leads among the places from i on, each over the next. That one request at a time is slower, all know.
func (p *places) further(i int) (claims []string) {
	for ; i+1 < len(p.timed); i++ {
		if p.timed[i+1].strategy != serial && p.Differ(i, i+1) {
			claims = append(claims, p.timed[i].label()+" is "+p.timed[i].claim(p.timed[i+1]))
		}
	}
	return claims
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

func (r timed) timing() string { return fmt.Sprintf("%s (%s s)", r.label(), short(*r.figure.number)) }

// claim compares with another row, and says where both did not do the same work.
func (r timed) claim(o timed) string {
	s := fmt.Sprintf("%s × %s than %s", short(*o.figure.number / *r.figure.number), r.than, o.label())
	if r.bounded {
		s = "at least " + s + " (limited by the load)"
	}
	if part := share(r, o, func(c *result.Cell) int64 { return c.Load.Done }); part != "" {
		s += " after " + part + " of its writes"
	}
	if part := share(r, o, func(c *result.Cell) int64 { return c.Storage.Requests }); part != "" {
		s += " with " + part + " of its requests"
	}
	return s
}

// sameWork is how much two amounts may differ and still be the same work.
const sameWork = 0.02

// share is r's amount as a part of o's; "" where they are as good as the same.
func share(r, o timed, amount func(*result.Cell) int64) string {
	known := func(c *result.Cell) *float64 { return ifSome(float64(amount(c)), amount(c) > 0) }
	a, b := median(valuesOf(r.valid, known)), median(valuesOf(o.valid, known))
	if a == nil || b == nil || math.Abs(*a / *b - 1) <= sameWork {
		return ""
	}
	return percent(*a / *b)
}
