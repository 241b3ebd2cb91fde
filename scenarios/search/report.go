package search

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// report puts the result of a search into words.
type report struct {
	*Search
	best     *candidate // recommended, or the closest
	met      bool       // it was measured and holds
	runner   *candidate // the best of another strategy
	original *candidate // the best that bcs-k8s-watch has
}

// fill writes the result into the tuning. The best may be nil.
func (x *Search) fill(t *result.Tuning, best *candidate) {
	r := report{Search: x, best: best, met: x.judge.confirmed(best)}
	if r.original = x.measured(originals...); r.original == nil {
		r.original = x.closest(originals...)
	}
	t.Met, t.Sentence = r.met, "Nothing was measured, so nothing is recommended."
	if best != nil {
		r.runner = x.measured(x.space.others(best.set.Strategy)...)
		if r.met && len(best.valid()) < x.judge.repeat {
			x.note("%s was measured %s instead of %d", best.set.Name(), units.Count(len(best.valid()), "time"), x.judge.repeat)
		}
		t.Sentence, t.Why = r.sentence(), r.why()
	}
	at := func(c *candidate) int { return slices.Index(x.judge.known(), c) }
	t.Best, t.RunnerUp, t.Original = at(r.best), at(r.runner), at(r.original)
	for _, c := range x.judge.known() {
		t.Candidates = append(t.Candidates, r.entry(c))
	}
	t.Simulations, t.Measured, t.Reused = int(x.screen.played.Load()), x.bench.measured, x.bench.reused
	for _, strategy := range x.space.strategies {
		t.Exhaustive += len(x.space.rungs(strategy)) * max(1, x.judge.repeat)
	}
	t.Notes, t.Fragments = x.notes, r.fragments()
}

func (r *report) entry(c *candidate) result.TunedCandidate {
	e := result.TunedCandidate{
		Setting: c.set, Seeds: len(c.by), Excluded: c.excluded, Cells: c.cells,
		Value: r.judge.predicted(c), Measured: r.judge.worst(c), Verdict: r.judge.verdict(c),
	}
	for i := range c.by {
		if v := r.judge.of(&c.by[i]); i == 0 || v != nil && e.Value != nil && *v == *e.Value {
			e.Predicted = c.by[i]
		}
	}
	if k, ok := stats.Median(r.judge.ratios(c, r.screen.plans.found)); ok {
		e.Error = new(k - 1)
	}
	if f := c.failed(); f != nil {
		e.Excluded = "fails " + strings.Join(f, " ")
	}
	return e
}

// asked states the question in figures.
func (x *Search) asked() []result.TuningFact {
	facts := []result.TuningFact{{Name: "load", Value: x.load()}, {Name: "storage", Value: x.storage()}}
	if c := x.base.Storage.Capacity.Text(); c != "" {
		facts = append(facts, result.TuningFact{Name: "storage capacity", Value: c})
	}
	if len(x.space.kinds) > 1 {
		facts = append(facts, result.TuningFact{Name: "kinds", Value: strings.Join(x.space.kinds, ", ")})
	}
	return append(facts, result.TuningFact{Name: "when a queue is full", Value: x.base.Watcher.QueueFull})
}

func (x *Search) load() string {
	of := "changes"
	if len(x.space.kinds) == 1 {
		of = "changes of Pods"
	}
	switch {
	case x.length == 0:
		return fmt.Sprintf("a burst of %s %s", thousands(x.planned), of)
	case x.base.Traced():
		return fmt.Sprintf("a recording with %s %s in %s", thousands(x.planned), of, x.length)
	case x.options.Asked > 0:
		return fmt.Sprintf("about %s %s a second", figure(x.options.Asked), of)
	}
	return fmt.Sprintf("%s %s a second", figure(float64(x.planned)/x.length.Seconds()), of)
}

func (x *Search) storage() string {
	f := x.base.Storage.LatencyFigures(podKind)
	if f.P50 == 0 {
		return "a latency of " + x.base.Storage.Latency
	}
	return fmt.Sprintf("a storage that answers in %s ms (99 of 100 times within %s ms)", ms(f.P50), ms(f.P99))
}

func ms(d time.Duration) string { return figure(float64(d) / 1e6) }

func objectiveOf(o Objective) result.TuningObjective {
	out := result.TuningObjective{Text: o.Text, Metric: o.Metric, Rate: o.Rate}
	if o.Bound > 0 {
		out.Bound = new(o.Bound.Seconds())
	}
	return out
}

// sentence is the answer in one sentence, from measurements.
func (r *report) sentence() string {
	c, v := r.best, r.judge.worst(r.best)
	s := "For " + r.load() + " and " + r.storage() + ", "
	switch {
	case r.met:
		_, means := r.judge.objective.figure()
		s += enough(c.set, r.space.kinds) + r.beaten() + ": " + fmt.Sprintf(means, figure(roundUp(*v))+" s")
		if merges(c.set.Strategy) || len(c.by) > 0 && c.by[0].Requests < c.by[0].Events {
			s += " (the latest state of an object; states that it had in between may be left out)"
		}
		return s + "; " + r.proof() + "."
	case len(c.cells) == 0:
		how := "comes closest"
		if r.judge.holds(c, r.bound()) {
			how = "would do"
		}
		return s + "nothing was measured that holds the objective; by simulation " + named(c.set) + " " + how +
			", with " + r.said(r.judge.predicted(c)) + "."
	}
	missed := "could be confirmed"
	if o := r.judge.objective; o.Rate > 0 {
		missed = fmt.Sprintf("carries %s changes a second", figure(o.Rate))
	} else if o.Bound > 0 {
		missed = "keeps " + o.Metric + " within " + figure(o.Bound.Seconds()) + " s"
	}
	s += "no setting that was tried " + missed + "; "
	switch n := len(c.valid()); {
	case c.failed() != nil:
		return s + named(c.set) + " comes closest, and fails " + strings.Join(c.failed(), " ") + "."
	case n == 0:
		return s + "of " + named(c.set) + " no measurement is valid (" + c.reason() + ")."
	case v == nil:
		return s + named(c.set) + " comes closest, and was not done when it was cut."
	default:
		return s + fmt.Sprintf("%s comes closest, with %s s (%s).", named(c.set), figure(*v), units.Count(n, "run"))
	}
}

// enough describes a setting by the keys of a configuration.
func enough(s Setting, kinds []string) string {
	at := fmt.Sprintf("%d requests at once", s.Queues)
	if s.Queues <= 1 {
		at = "one request at a time"
	}
	if len(kinds) > 1 {
		at += fmt.Sprintf(" for each of %d kinds of object", len(kinds))
	}
	switch s.Strategy {
	case single:
		at = "no podQueueNum: " + at
	case adaptive:
		at = "no podQueueNum: it finds the number of requests itself"
	case partitioned:
		at = fmt.Sprintf("%d queues for Pods", s.Queues)
		others := len(kinds) - 1
		if slices.Contains(kinds, eventKind) {
			others--
			at += fmt.Sprintf(", %d for Events", originalEventQueues*s.Queues)
		}
		if others > 0 {
			at += ", one for each other kind"
		}
	}
	return "the strategy " + named(s) + " (" + at + ") is enough"
}

// named is a setting by its keys.
func named(s Setting) string {
	if !numbered(s.Strategy) {
		return s.Strategy
	}
	return fmt.Sprintf("%s with podQueueNum %d", s.Strategy, s.Queues)
}

// beaten counts the settings that it was compared with under a relative objective.
func (r *report) beaten() string {
	others := -1
	for _, c := range r.judge.cands {
		others += min(1, len(r.judge.values(c)))
	}
	switch {
	case !r.judge.objective.relative():
		return ""
	case others == 0:
		return " (no other setting was measured)"
	}
	return fmt.Sprintf(" (of %s measured, none is clearly faster)", units.Count(others, "other setting"))
}

// proof says what was shown in how many runs, omitting whatever was not judged.
func (r *report) proof() string {
	n, safe, ordered, events := 0, true, true, int64(math.MaxInt64)
	for _, t := range r.best.cells {
		if t.Valid {
			n, safe, ordered, events = n+1, safe && t.Safe, ordered && t.Ordered, min(events, t.Figures.Events)
		}
	}
	s := "measured in " + units.Count(n, "run")
	switch {
	case safe && ordered:
		s = "nothing was lost or reordered in " + units.Count(n, "run")
	case safe:
		s = "nothing was lost in " + units.Count(n, "run")
	}
	if events > 0 {
		s += " of " + map[bool]string{true: "at least "}[n > 1] + thousands(events) + " changes"
	}
	if r.base.Simulated() {
		s += " from a simulated API server"
	}
	return s
}

// why gives the reasons for the answer in figures.
func (r *report) why() (all []result.TuningFact) {
	add := func(name, format string, args ...any) {
		all = append(all, result.TuningFact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	c, mean := r.best, r.base.Storage.MeanLatency(podKind)
	took := r.length.Seconds()
	if took == 0 && len(c.by) > 0 && c.by[0].Drain != nil {
		took = *c.by[0].Drain
	}
	if took > 0 && mean > 0 {
		rate := float64(c.requests()) / took
		add("Little's law", "%s requests a second, simulated, of %s ms each keep %s in flight on average",
			figure(rate), ms(mean), figure(rate*mean.Seconds()))
	}
	if len(c.by) > 0 && c.requests() < c.by[0].Events {
		add("merging", "%s of %s changes are sent, simulated: later ones took their place", thousands(c.requests()),
			thousands(c.by[0].Events))
	}
	if v := highest(c.by, handlerDepth); v != nil {
		add("queues", "at most %s changes wait at once, simulated; each queue has room for %s", thousands(int64(*v)),
			thousands(int64(c.set.HandlerLen)))
	}
	if low := r.smaller(); low != nil {
		how, verdict, measured := "simulated", "would do", len(low.valid()) > 0
		if measured {
			how = "measured"
		}
		switch {
		case !r.judge.holds(low, r.bound()):
			verdict = "does not"
		case !measured:
			verdict = "might do, and was not measured"
		}
		add("fewer", "%s %s: %s, %s", low.set.Name(), verdict, r.said(r.judge.value(low)), how)
	}
	if k := r.runner; k != nil {
		add("runner-up", "%s %s: %s, measured in %s", k.set.Name(), r.judge.verdict(k), r.said(r.judge.worst(k)),
			units.Count(len(k.valid()), "run"))
	}
	return all
}

// smaller is the largest known setting below the best in its strategy, measured if possible. One that
// was played with fewer plans does not compare.
func (r *report) smaller() (low *candidate) {
	for _, k := range r.judge.known() {
		measured := len(k.valid()) > 0
		if k.set.Strategy == r.best.set.Strategy && k.set.Queues < r.best.set.Queues &&
			(measured || len(k.by) >= len(r.best.by)) && (low == nil || measured || len(low.valid()) == 0) {
			low = k
		}
	}
	return low
}

// Files of the fragments.
const (
	FileOurs     = "k8s-watch.json"
	FileOriginal = "bcs-k8s-watch.json"
)

// fragments are the configurations to paste.
func (r *report) fragments() (all []result.TuningFragment) {
	if r.best != nil {
		s := r.best.set
		bcs := map[string]any{
			"strategy": s.Strategy, "writerQueueLen": s.WriterLen, "handlerQueueLen": s.HandlerLen,
			"queueFull": r.base.Watcher.QueueFull,
		}
		if numbered(s.Strategy) {
			bcs["podQueueNum"] = s.Queues
		}
		f := fragment(FileOurs, "k8s-watch", bcs)
		if !r.met {
			f.Note = r.standing(r.best)
		}
		all = append(all, f)
	}
	if r.original != nil {
		s := r.original.set
		f := fragment(FileOriginal, "bcs-k8s-watch", map[string]any{"podQueueNum": s.Queues, "writerQueueLen": s.WriterLen})
		f.Note = fmt.Sprintf("%s, by k8s-watch with the strategy %s, which has the same queues: the original was not run. "+
			"Its handler queues always hold 102,400 events; what finds no room within 1 s is dropped",
			r.standing(r.original), s.Strategy)
		all = append(all, f)
	}
	return all
}

// standing says how far a candidate in a fragment is confirmed.
func (r *report) standing(c *candidate) string {
	switch r.judge.verdict(c) {
	case result.TunedHolds:
		return "holds the objective"
	case result.TunedUnmeasured, result.TunedInvalid:
		return "predicted only: no valid measurement confirms it"
	}
	return "what comes closest; it does not hold the objective"
}

func fragment(file, program string, bcs map[string]any) result.TuningFragment {
	data, err := json.MarshalIndent(map[string]any{"bcs": bcs}, "", "  ")
	if err != nil {
		panic(err) // numbers and words
	}
	return result.TuningFragment{File: file, For: program, Text: string(data) + "\n"}
}

// roundUp keeps two digits, upwards: "within" must stay true.
func roundUp(v float64) float64 {
	if v <= 0 {
		return v
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	up, err := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(v/unit-1e-9)*unit, 'g', 2, 64), 64)
	if err != nil {
		return v
	}
	return up
}

// thousands writes 20,000.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
