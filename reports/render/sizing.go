package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Which settings keep up with an open load, and what that costs in freshness.

var (
	growth       = paceOf(func(p *result.Pace) *float64 { return &p.GrowthQPS })
	sentPerEvent = paceOf(func(p *result.Pace) *float64 { return p.SentPerEvent })
)

func paceOf(field func(*result.Pace) *float64) func(*row) reading {
	return medianOf(func(c *result.Cell) *float64 {
		if c.Pace == nil {
			return nil
		}
		return field(c.Pace)
	})
}

// isOpen reports whether the plan, and not the answers, says when the row's load writes.
func (r *row) isOpen() bool { return r.cells[0].Load.Model == result.ModelOpen }

// pace counts the valid repetitions in which storage kept up, of those that tell.
func (r *row) pace() (kept, of int) {
	for _, c := range r.valid {
		if c.Pace != nil {
			of++
			if c.Pace.KeepsUp {
				kept++
			}
		}
	}
	return kept, of
}

// keepsUp: in most repetitions.
func (r *row) keepsUp() bool {
	kept, of := r.pace()
	return 2*kept > of
}

// paceWords is the row's verdict, with how many repetitions say so if not all do.
func (r *row) paceWords() string {
	kept, of := r.pace()
	switch {
	case of == 0:
		return unknown
	case kept == of:
		return "keeps up"
	case kept == 0:
		return "falls behind"
	case r.keepsUp():
		return fmt.Sprintf("keeps up %d of %d", kept, of)
	}
	return fmt.Sprintf("falls behind %d of %d", of-kept, of)
}

// everyEvent is the least of requests per event that means that each was sent.
const everyEvent = 0.99

// sends says whether the watcher passed every event on; false where it is not known.
func (r *row) sends() (words string, every bool) {
	switch v := sentPerEvent(r).number; {
	case v == nil:
		return unknown, false
	case *v >= everyEvent:
		return "every event", true
	default:
		return "latest state, " + percent(*v), false
	}
}

// axis is the name of a parameter without the section that all settings share.
func axis(name string) string { return clean(strings.TrimPrefix(name, "watcher.")) }

// settings are the axes beside the strategy in which watchers differ.
func (t *table) settings() (at []int) {
	for i, name := range t.extra {
		if strings.HasPrefix(name, "watcher.") {
			at = append(at, i)
		}
	}
	return at
}

// setting is "keyed with podQueueNum 20".
func (t *table) setting(r *row) string {
	if r.strategy == adaptive {
		return adaptive + ", which finds the number itself"
	}
	var words []string
	for _, i := range t.settings() {
		words = append(words, axis(t.extra[i])+" "+clean(r.extra[i]))
	}
	return strings.TrimSuffix(clean(r.strategy)+" with "+join(words), " with ")
}

// adaptive is the strategy that has no number of requests in flight to be set.
const adaptive = "adaptive"

// size orders settings by the number in the first axis, and what has none last.
func (t *table) size(r *row) float64 {
	if r.strategy == adaptive {
		return math.Inf(1)
	}
	for _, i := range t.settings() {
		if n, err := strconv.ParseFloat(r.extra[i], 64); err == nil {
			return n
		}
	}
	return 0
}

// smallest finds the first row of each strategy that keeps up and after which none falls
// behind. Rows are in the order of their settings.
func smallest(rows []*row) (found []*row) {
	at := map[string]int{}
	for _, r := range rows {
		i, seen := at[r.strategy]
		switch _, of := r.pace(); {
		case of == 0:
		case !r.correct() || !r.keepsUp():
			if seen {
				found[i] = nil
				delete(at, r.strategy)
			}
		case !seen:
			at[r.strategy] = len(found)
			found = append(found, r)
		}
	}
	return slices.DeleteFunc(found, func(r *row) bool { return r == nil })
}

// sizing answers which setting keeps up with an open load; nothing where no cell tells.
func (t *table) sizing(c contest) []headline {
	rows := slices.DeleteFunc(slices.Clone(c.rows), func(r *row) bool { _, of := r.pace(); return of == 0 || r.isFloor() })
	if len(rows) == 0 {
		return nil
	}
	which := "smallest setting"
	if len(t.settings()) == 0 {
		which = "freshest strategy"
	}
	h := headline{Label: "load " + clean(c.name) + ": " + which + " that keeps up"}
	found := smallest(rows)
	slices.SortStableFunc(found, func(a, b *row) int { return cmp.Or(cmp.Compare(t.size(a), t.size(b)), cmp.Compare(p99(a), p99(b))) })
	of := func(every bool) *row {
		i := slices.IndexFunc(found, func(r *row) bool { _, all := r.sends(); return all == every })
		if i < 0 {
			return nil
		}
		return found[i]
	}
	all, latest := of(true), of(false)
	switch {
	case all == nil && latest == nil:
		least := slices.MinFunc(rows, func(a, b *row) int { return cmp.Compare(*growth(a).number, *growth(b).number) })
		h.Value = "none"
		h.Sentence = fmt.Sprintf("%s: no setting keeps up; least behind is %s: %s.", question(least), t.setting(least), least.behind())
	case all == nil:
		h.Value = latest.label()
		h.Sentence = fmt.Sprintf("%s: the %s that keeps up is %s (%s); none does that sends every event.", question(latest), which, t.setting(latest), latest.cost())
	default:
		h.Value = all.label()
		h.Sentence = fmt.Sprintf("%s: the %s that keeps up is %s (%s)", question(all), which, t.setting(all), all.cost())
		if latest != nil {
			h.Sentence += fmt.Sprintf("; if the latest state of an object is enough, %s (%s)", t.setting(latest), latest.cost())
		}
		h.Sentence += "."
	}
	h.Sentence += t.notKnown(c, all, latest)
	h.Note = h.Sentence
	return []headline{h}
}

// notKnown names the points below the chosen ones that are invalid: one of them may be the
// answer.
func (t *table) notKnown(c contest, chosen ...*row) string {
	chosen = slices.DeleteFunc(chosen, func(r *row) bool { return r == nil })
	most := math.Inf(1)
	if len(chosen) > 0 {
		most = t.size(slices.MaxFunc(chosen, func(a, b *row) int { return cmp.Compare(t.size(a), t.size(b)) }))
	}
	var names []string
	for _, r := range c.rows {
		if r.void() && !r.isFloor() && t.size(r) <= most {
			names = append(names, r.label())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Not known, because invalid: " + join(names) + "."
}

// p99 is the row's, beyond all others where it is not known.
func p99(r *row) float64 {
	if v := freshnessP99.measure(r).number; v != nil {
		return *v
	}
	return math.Inf(1)
}

// question is what was asked of the row: "200 writes/s at storage latency p50 60 ms, p99
// 400 ms".
func question(r *row) string {
	s := "the load"
	if v := offered(r).number; v != nil {
		s = brief(*v) + " writes/s"
	}
	p50, p99 := configuredP50(r).number, configuredP99(r).number
	switch spec := clean(r.cells[0].Storage.LatencySpec); {
	case p50 != nil && p99 != nil:
		s += fmt.Sprintf(" at storage latency p50 %s ms, p99 %s ms", brief(*p50), brief(*p99))
	case spec != "":
		s += " at storage latency " + spec
	}
	return s
}

// cost is what keeping up has to show for it.
func (r *row) cost() string {
	words, _ := r.sends()
	return fmt.Sprintf("%s, freshness p50 %s s, p99 %s s, n = %d", words,
		freshnessP99.text(freshnessQuantiles[0].measure(r)), freshnessP99.text(freshnessP99.measure(r)), len(r.valid))
}

func (r *row) behind() string {
	return fmt.Sprintf("its backlog grows by %s writes/s", shortOf(growth(r).number))
}

// Paces is the table of who keeps up; without rows if no cell tells, or where loads are
// parts of capacities, which have a table of their own.
func (t *table) Paces() (s sheet) {
	s.Keys, s.Heads = 2, words("strategy", "load")
	if len(t.loads()) == 1 {
		s.Keys, s.Heads = 1, s.Heads[:1]
	}
	for _, name := range t.extra {
		s.Keys, s.Heads = s.Keys+1, append(s.Heads, words(axis(name))...)
	}
	s.Heads = append(s.Heads, heading{Title: "open load", Left: true}, heading{Title: "backlog growth", Unit: "writes/s"},
		heading{Title: "freshness p50", Unit: "s"}, heading{Title: "freshness p99", Unit: "s"}, heading{Title: "sends", Left: true})
	var last *row
	for _, r := range t.rows {
		if _, of := r.pace(); r.share() != nil || r.isFloor() || of == 0 {
			continue
		}
		l := sheetRow{First: last != nil && (r.load != last.load || r.strategy != last.strategy), State: r.state(), Color: r.color()}
		last = r
		l.add(clean(r.strategy), clean(r.load))
		l.Cells = l.Cells[:min(2, len(t.loads()))]
		for _, v := range r.extra {
			l.add(clean(v))
		}
		sends, _ := r.sends()
		tone := bad
		if r.keepsUp() {
			tone = good
		}
		l.Cells = append(l.Cells, cell{Text: r.paceWords(), tone: tone})
		l.add(fixed(growth(r).number, 1), freshnessP99.text(freshnessQuantiles[0].measure(r)), freshnessP99.text(freshnessP99.measure(r)), sends)
		s.Rows = append(s.Rows, l)
	}
	return s
}

// PaceNote says how the table is to be read.
func (t *table) PaceNote() string {
	return "Backlog: writes that the API server took and storage does not have yet, nor anything newer. It keeps up if that number grows, over the second half of the load, by no more than 5 % of the rate of writing. Freshness of what falls behind is of this length of load; a longer one gives more."
}

// csvPace are the columns of throughput.csv for open loads.
func (t *table) csvPace() []csvField {
	if !t.any(func(c *result.Cell) bool { return c.Pace != nil }) {
		return nil
	}
	return []csvField{
		{"keeps_up", func(r *row) string {
			if _, of := r.pace(); of == 0 {
				return ""
			}
			return strconv.FormatBool(r.keepsUp())
		}},
		csvNumber("backlog_growth_writes_per_s", growth),
		csvNumber("sent_per_event", sentPerEvent),
	}
}
