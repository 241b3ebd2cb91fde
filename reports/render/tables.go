package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// throughput is the table of the measures of the given groups; those that the published
// measurements have come first, the verdict last.
func (t *table) throughput(verdicts bool, groups ...[]*column) Table {
	s := t.keys()
	s.Heads, s.Keys = append(s.Heads, Head{Title: "n",
		Meaning: "Valid repetitions, and of how many, where some are invalid."}), s.Keys+1
	for _, g := range groups {
		for i, c := range g {
			h := c.head()
			h.Divide = i == 0
			s.Heads = append(s.Heads, h)
		}
	}
	if verdicts {
		s.Heads = append(s.Heads, Head{Title: "checks", Words: true, Signed: true, Divide: true,
			Meaning: "Guarantees judged over the recorded history. The speed of a point that fails one of G1–G6 is not " +
				"compared."})
	}
	best := t.best()
	for _, r := range t.rows {
		cells := append(t.cells(r), Cell{Text: r.count()})
		if r.void() {
			why := r.verdict() + ": " + strings.Join(r.cells[0].InvalidReasons, "; ")
			s.Rows = append(s.Rows, append(cells, Cell{Text: why, Tone: Bad, Rest: true}))
			continue
		}
		for _, c := range slices.Concat(groups...) {
			v := c.cell(r)
			if best[r] == c {
				v.Tone = Best
			}
			cells = append(cells, v)
		}
		if verdicts {
			cells = append(cells, Cell{Text: r.verdict(), Tone: r.state().tone()})
		}
		s.Rows = append(s.Rows, cells)
	}
	return s
}

// count is how many repetitions the figures are from, and of how many.
func (r *row) count() string {
	if len(r.valid) == len(r.cells) {
		return strconv.Itoa(len(r.valid))
	}
	return fmt.Sprintf("%d of %d", len(r.valid), len(r.cells))
}

// titled returns the columns of the second table.
func titled(columns []*column) []*column {
	return slices.DeleteFunc(slices.Clone(columns), func(c *column) bool { return c.Title == "" })
}

// verdicts is the table of the guarantees, one column each.
func (t *table) verdicts() Section {
	s := Section{ID: "checks", Title: "Verdict per check", Table: t.keys()}
	if len(t.checks) == 0 {
		return Section{ID: s.ID, Title: s.Title, Text: []string{"Nothing was judged."}}
	}
	for _, g := range t.checks {
		s.Table.Heads = append(s.Table.Heads, Head{Title: g, Unit: guarantees[g].name, Meaning: guarantees[g].meaning,
			Words: true})
	}
	for _, r := range t.rows {
		cells := t.cells(r)
		for _, g := range t.checks {
			v := Cell{Text: unknown}
			if c, ok := r.checks[g]; ok {
				v = verdictCell(c)
			}
			cells = append(cells, v)
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	if len(t.unasked) > 0 {
		s.Notes = []string{"Not asked by this scenario: " + ranges(t.unasked) + "."}
	}
	return s
}

// account returns the watcher's own event counters, or nil for a watcher without any.
func account(c *result.Cell) *result.Events {
	if e := c.Events; e != nil && (c.Handler.Strategy != result.External || e.Received > 0) {
		return e
	}
	return nil
}

// flows is where the events went, and what limited each valid row.
func (t *table) flows() Section {
	s := Section{ID: "flow", Title: "Where the events went, and what limited each point", Table: t.keys(), Place: Aside}
	s.Table.Heads = append(s.Table.Heads, []Head{
		{Title: "received", Meaning: "Events that the watcher read from watches and lists, by its own counters."},
		{Title: "sent", Meaning: "Of these, those whose request storage acknowledged."},
		{Title: "coalesced", Meaning: "Events that a newer state of their object replaced before they were sent."},
		{Title: "filtered", Meaning: "Events that the configuration excludes."},
		{Title: "parked", Meaning: "Events whose requests storage refused; they wait until their object changes, or " +
			"storage is back."},
		{Title: "queued", Meaning: "Events that still waited as the counters were read."},
		{Title: "dropped", Meaning: "Events thrown away because a queue was full, where the configuration asks for it."},
		{Title: "retried", Meaning: "Requests that were sent again after a failure."},
		{Title: "bottleneck", Words: true, Meaning: "What limited the first valid repetition, by fixed rules over its " +
			"figures."},
		{Title: "because", Words: true},
	}...)
	for _, r := range t.rows {
		if r.void() {
			continue
		}
		c, cells := r.representative(), t.cells(r)
		if e := account(c); e != nil {
			for _, n := range []int64{e.Received, e.Sent, e.Coalesced, e.Filtered, e.Parked, e.Queued, e.Dropped, e.Retried} {
				cells = append(cells, Cell{Text: fmt.Sprint(n)})
			}
		} else {
			cells = append(cells, Cells(slices.Repeat([]string{unknown}, 8)...)...)
		}
		cells = append(cells, Cells(orUnknown(c.Bottleneck.Stage), c.Bottleneck.Why)...)
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	if len(s.Table.Rows) == 0 {
		return Section{}
	}
	s.Notes = []string{"By the watcher's own counters; of one that was restarted, those of its last process."}
	return s
}

// sends says whether the watcher passed every event on; false where it is not known.
func sends(r *row) (words string, every bool) {
	every, perEvent := r.SendsEvery()
	switch {
	case perEvent == nil:
		return unknown, false
	case every:
		return "every event", true
	}
	return "latest state, " + percent(*perEvent), false
}

// paceWords is the row's verdict, with how many repetitions say so if not all do.
func (r *row) paceWords() string {
	kept, of := r.Pace()
	switch {
	case of == 0:
		return unknown
	case kept == of:
		return "keeps up"
	case kept == 0:
		return "falls behind"
	case r.KeepsUp():
		return fmt.Sprintf("keeps up %d of %d", kept, of)
	}
	return fmt.Sprintf("falls behind %d of %d", of-kept, of)
}

// paces is the table of rows that keep up with an open load or fall behind.
func (t *table) paces() Section {
	s := Section{ID: "pace", Title: "Who keeps up", Table: t.keys(), Notes: []string{
		"Who falls behind has a freshness of this length of load; a longer one gives more."}}
	s.Table.Heads = append(s.Table.Heads,
		Head{Title: "open load", Words: true,
			Meaning: "Whether the backlog grew, over the second half of the load, by no more than 5 % of the rate of writing."},
		Head{Title: "backlog growth", Unit: "writes/s",
			Meaning: "By how many writes a second those grew that the API server took and storage has not, nor anything newer."},
		Head{Title: "freshness p50", Unit: "s"}, Head{Title: "freshness p99", Unit: "s"},
		Head{Title: "sends", Words: true,
			Meaning: "Whether each event became a request, or one request had the latest of several states."})
	for _, r := range t.rows {
		if _, of := r.Pace(); r.isFloor() || of == 0 {
			continue
		}
		words, _ := sends(r)
		pace := Cell{Text: r.paceWords(), Tone: Bad}
		if r.KeepsUp() {
			pace.Tone = Good
		}
		s.Table.Rows = append(s.Table.Rows, append(append(t.cells(r), pace), Cells(
			fixed(r.BacklogGrowth(), 1), freshnessP99.text(freshnessQuantiles[0].measure(r)),
			freshnessP99.text(freshnessP99.measure(r)), words)...))
	}
	if len(s.Table.Rows) == 0 {
		return Section{}
	}
	return s
}

// thresholds are the scenario's bounds, and how they came out.
func (t *table) thresholds() Section {
	s := Section{ID: "thresholds", Title: "Thresholds", Table: Table{Keys: 2,
		Heads: append(Heads("point", "figure", "bound"),
			Head{Title: "value", Meaning: "The median over the valid repetitions."}, Head{Title: "verdict", Words: true,
				Signed: true})}}
	for i := range t.res.Thresholds {
		x := &t.res.Thresholds[i]
		v := Cell{Text: "holds", Tone: Good}
		switch {
		case x.Failed():
			v = Cell{Text: "FAILS", Tone: Bad}
		case !x.Holds:
			v = Cell{Text: "not judged", Tone: Warn}
		}
		v.Text += leading(": ", x.Why)
		s.Table.Rows = append(s.Table.Rows, append(Cells(x.Point, x.Metric, x.Bound, x.Figure()), v))
	}
	return s
}

// bounds is the outcome of the thresholds in a sentence; what was not judged, or a point that the run does not have, is
// no pass.
func (t *table) bounds() []Cell {
	var missed []string
	held, all := 0, len(t.res.Thresholds)
	for i := range t.res.Thresholds {
		if x := &t.res.Thresholds[i]; x.Failed() {
			missed = append(missed, x.String())
		} else if x.Holds {
			held++
		}
	}
	if all == 0 {
		return nil
	}
	v := Cell{Text: "Of " + plural(all, "threshold"), Tone: Good}
	if held < all || len(t.res.Missing()) > 0 {
		v.Tone = Warn
	}
	switch rest := all - held - len(missed); {
	case rest == all:
		v.Text += ", none was judged."
		return []Cell{v}
	case len(missed) > 0:
		v.Tone, v.Text = Bad, fmt.Sprintf("%s, %d failed: %s.", v.Text, len(missed), strings.Join(missed, "; "))
	default:
		v.Text += ", none failed."
	}
	if rest := all - held - len(missed); rest > 0 {
		v.Text += fmt.Sprintf(" Not judged: %d.", rest)
	}
	return []Cell{v}
}

// summary is the run's outcome in one sentence.
func (t *table) summary() Cell {
	if len(t.rows) == 0 {
		return Cell{Text: "The record holds no cells.", Tone: Bad}
	}
	count := map[state]int{}
	for _, r := range t.rows {
		count[r.state()]++
	}
	var parts []string
	for _, s := range slices.Backward(states) {
		if n := count[s.state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.text))
		}
	}
	return Cell{Text: "Of " + plural(len(t.rows), "point") + ": " + strings.Join(parts, "; ") + ".",
		Tone: t.outcome().tone()}
}

// growth is the table of a ladder.
func (t *table) growth() Section {
	g := t.res.Growth
	if g == nil || len(g.Rungs) == 0 {
		return Section{}
	}
	s := Section{ID: "growth", Title: "Growth", Table: Table{Keys: 1, Heads: append(Heads("rung"),
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
		Head{Title: "freshness p50", Unit: "s"}, Head{Title: "freshness p99", Unit: "s"}, Head{Words: true})}}
	for i := range g.Rungs {
		x := &g.Rungs[i]
		rate, note := fixed(x.Rate, 0), ""
		switch {
		case x.Valid == 0:
			note = "invalid"
		case x.Rate == nil:
			rate, note = "unlimited", "as fast as the watcher reads: the ingest ceiling"
		}
		s.Table.Rows = append(s.Table.Rows, Cells(x.Point, strconv.FormatInt(x.Objects, 10), rate, fixed(x.QPS, 0),
			fixed(x.Stored, 2), fixed(x.SyncCPU, 2), fixed(x.HeldMiB, 1), fixed(x.BytesPerObject, 0), fixed(x.PeakMiB, 1),
			fixed(x.FreshP50, 4), fixed(x.FreshP99, 4), note))
	}
	var parts []string
	for _, x := range []struct {
		name string
		s    *result.Slope
	}{{"memory", g.Memory}, {"peak memory", g.Peak}, {"sync CPU", g.SyncCPU}} {
		if x.s == nil {
			parts = append(parts, x.name+": too few rungs")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s grows as objects^%.2f (%d rungs; ^%.2f between the last two)",
			x.name, x.s.Exponent, x.s.Rungs, x.s.Last))
	}
	s.Notes = []string{"Beyond the smallest rung of the lowest rate, " + strings.Join(parts, "; ") + "."}
	return s
}

// profiles lists what was taken on request, by cell.
func (t *table) profiles() Section {
	s := Section{ID: "profiles", Title: "Profiles", Table: Table{Keys: 1, Heads: Heads("cell", "profile", "file")},
		Notes: []string{
			"go tool pprof -http=: FILE opens one. Taking them costs CPU time, which the figures of this run contain."}}
	for i := range t.res.Cells {
		for _, p := range t.res.Cells[i].Profiles {
			name := p.Party + " " + p.Kind
			if p.Kind == result.ProfileCPU {
				name += fmt.Sprintf(" (%.0f s)", p.Seconds)
			}
			s.Table.Rows = append(s.Table.Rows, []Cell{{Text: t.res.Cells[i].ID}, {Text: name}, {Text: p.File,
				Link: local(p.File)}})
		}
	}
	if len(s.Table.Rows) == 0 {
		return Section{}
	}
	return s
}
