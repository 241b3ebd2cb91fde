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

// settings are the axes beside the strategy in which watchers differ: by the names of
// points, or by single fields.
func (t *table) settings() (at []int) {
	for i, name := range t.extra {
		if result.OfWatcher(name) {
			at = append(at, i)
		}
	}
	return at
}

// sizes are those of them that have a number at every point, by which settings are ordered.
func (t *table) sizes() []int {
	return slices.DeleteFunc(t.settings(), func(i int) bool {
		return slices.ContainsFunc(t.rows, func(r *row) bool {
			_, err := strconv.ParseFloat(r.extra[i], 64)
			return err != nil
		})
	})
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

// size is the number along an axis; what has none to be set is beyond all others.
func (r *row) size(axis int) float64 {
	n, err := strconv.ParseFloat(r.extra[axis], 64)
	if err != nil || r.strategy == adaptive {
		return math.Inf(1)
	}
	return n
}

// bySize orders settings by their numbers, the first axis first, and not as they are written.
func (t *table) bySize(a, b *row) (c int) {
	for _, i := range t.sizes() {
		c = cmp.Or(c, cmp.Compare(a.size(i), b.size(i)))
	}
	return c
}

// sameKind reports whether two rows differ in numbers alone.
func (t *table) sameKind(a, b *row) bool {
	sizes := t.sizes()
	for i := range a.extra {
		if a.extra[i] != b.extra[i] && !slices.Contains(sizes, i) {
			return false
		}
	}
	return a.strategy == b.strategy
}

// smallest finds, of each kind, the first row by size that keeps up and beyond which, in all
// of its numbers, none of its kind falls behind or is wrong.
func (t *table) smallest(rows []*row) (found []*row) {
	good := func(r *row) bool { return r.correct() && r.keepsUp() }
	sizes := t.sizes()
	beyond := func(a, b *row) bool {
		return !slices.ContainsFunc(sizes, func(i int) bool { return b.size(i) < a.size(i) })
	}
	for _, r := range slices.SortedStableFunc(slices.Values(rows), t.bySize) {
		kind := func(o *row) bool { return t.sameKind(r, o) }
		fails := slices.ContainsFunc(rows, func(o *row) bool { return kind(o) && beyond(r, o) && !good(o) })
		if !fails && !slices.ContainsFunc(found, kind) {
			found = append(found, r)
		}
	}
	return found
}

// sizing answers which setting keeps up with an open load; nothing where no cell tells.
func (t *table) sizing(c contest) []headline {
	rows := slices.DeleteFunc(slices.Clone(c.rows), func(r *row) bool { _, of := r.pace(); return of == 0 || r.isFloor() })
	if len(rows) == 0 {
		return nil
	}
	found := t.smallest(rows)
	slices.SortStableFunc(found, func(a, b *row) int { return cmp.Or(t.bySize(a, b), cmp.Compare(p99(a), p99(b))) })
	all, latest := t.best(found, true), t.best(found, false)
	notKnown, known := t.notKnown(c, slices.Concat(all, latest)...), ""
	if notKnown != "" {
		known = "known "
	}
	which, none := "smallest "+known+"setting", "no "+known+"setting"
	switch {
	case len(t.settings()) == 0:
		which, none = "freshest "+known+t.who(), "no "+known+t.who()
	case len(t.sizes()) == 0:
		which = "freshest " + known + "setting"
	}
	short := func(r *row) string { return inShort(t.setting(r), 12) }
	whole := func(r *row) string { return t.setting(r) + " (" + r.cost() + ")" }
	h := headline{Label: "load " + clean(c.name) + ": " + which + " that keeps up"}
	switch {
	case len(all)+len(latest) == 0 && slices.ContainsFunc(rows, (*row).keepsUp):
		kept := slices.MinFunc(slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return !r.keepsUp() }), t.bySize)
		h.Value = "none"
		h.plain = fmt.Sprintf("At %s, %s will do: %s keeps up, but %s", question(kept), none, inShort(t.setting(kept), 12), kept.unfit())
		h.Sentence = fmt.Sprintf("%s: %s will do: %s keeps up, but %s.", question(kept), none, t.setting(kept), kept.unfit())
	case len(all)+len(latest) == 0:
		least := slices.MinFunc(rows, func(a, b *row) int { return cmp.Compare(*growth(a).number, *growth(b).number) })
		h.Value, none = "none", none+" keeps up"
		if notKnown != "" {
			h.Value, none = "not known", "whether a setting keeps up is not known"
		}
		h.plain = fmt.Sprintf("At %s, %s; the backlog of %s, which is least behind, grows by %s writes every second", question(least), none, inShort(t.setting(least), 12), shortOf(growth(least).number))
		h.Sentence = fmt.Sprintf("%s: %s; least behind is %s: %s.", question(least), none, t.setting(least), least.behind())
	case len(all) == 0:
		h.Value = latest.label()
		h.plain = fmt.Sprintf("At %s, the %s%s", question(latest[0]), latest.are(which, short), latest.each("skips states that newer ones have replaced"))
		h.arrived = latest
		h.Sentence = fmt.Sprintf("%s: the %s; none does that sends every event.", question(latest[0]), latest.are(which, whole))
	default:
		h.Value = all.label()
		h.plain = fmt.Sprintf("At %s, the %s%s", question(all[0]), all.are(which, short), all.each("passes on every event"))
		h.arrived = all
		h.Sentence = fmt.Sprintf("%s: the %s", question(all[0]), all.are(which, whole))
		if len(latest) > 0 {
			h.plain += "; if the latest state of an object is enough, " + latest.names(short)
			h.Sentence += "; if the latest state of an object is enough, " + latest.names(whole)
		}
		h.Sentence += "."
	}
	if h.Sentence += notKnown; notKnown != "" {
		h.caveat = "; others that are invalid or missing might also do"
	}
	h.Note = h.Sentence
	return []headline{h}
}

// unfit is why a row that keeps up is no answer.
func (r *row) unfit() string {
	switch wrong := slices.DeleteFunc(r.failing(), func(g string) bool { return !core(g) }); {
	case len(wrong) > 0:
		return "fails " + ranges(wrong)
	case len(r.checks) == 0:
		return "no check judged it"
	}
	return "a larger one falls behind or is not correct"
}

// notKnown names the points that may be the answer in place of the chosen ones: they are not
// larger, and invalid, without a verdict or not there.
func (t *table) notKnown(c contest, chosen ...*row) (s string) {
	larger := func(r *row) bool {
		compared := false
		for _, o := range chosen {
			if compared = true; t.bySize(r, o) <= 0 {
				return false
			}
		}
		return compared
	}
	var invalid, untold []string
	for _, r := range c.rows {
		switch _, of := r.pace(); {
		case of > 0 || r.isFloor() || larger(r):
		case r.void():
			invalid = append(invalid, r.label())
		default:
			untold = append(untold, r.label())
		}
	}
	for _, why := range []struct {
		word  string
		names []string
	}{{"invalid", invalid}, {"missing", t.absent()}, {"their backlog does not tell", untold}} {
		if len(why.names) > 0 {
			s += " Not known, because " + why.word + ": " + join(why.names) + "."
		}
	}
	return s
}

// absent are the points of which the run has no cell at all, by their ids.
func (t *table) absent() (points []string) {
	for _, id := range t.res.Missing() {
		point := result.PointOf(id)
		there := slices.ContainsFunc(t.res.Cells, func(c result.Cell) bool { return c.Point() == point })
		if !there && !slices.Contains(points, clean(point)) {
			points = append(points, clean(point))
		}
	}
	return points
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
		s = Brief(*v) + " writes/s"
	}
	p50, p99 := configuredP50(r).number, configuredP99(r).number
	switch spec := clean(r.cells[0].Storage.LatencySpec); {
	case p50 != nil && p99 != nil:
		s += fmt.Sprintf(" at storage latency p50 %s ms, p99 %s ms", Brief(*p50), Brief(*p99))
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
		if _, of := r.pace(); r.isFloor() || of == 0 {
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
	return "Backlog: writes that the API server took and storage does not have yet, nor anything newer. It keeps up if that number grows, over the second half of the load, by no more than 5 % of the rate of writing. Freshness of what falls behind is of this length of load; a longer one gives more. With few writes per latency of storage, chance has a part in it: repeat the run, or give it a longer load."
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
