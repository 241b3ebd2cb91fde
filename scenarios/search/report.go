package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// Files of the fragments.
const (
	FileOurs     = "k8s-watch.json"
	FileOriginal = "bcs-k8s-watch.json"
)

// report puts the result into words.
func (x *Search) report() *result.Tuning {
	o := x.options.Objective
	t := &result.Tuning{
		Schema: result.TuningSchema, Started: x.began, Finished: time.Now(), Scenario: x.base.Metadata.Name,
		Provider: x.base.Cluster.Provider, Asked: x.asked(), Best: -1, RunnerUp: -1, Original: -1,
		Objective: result.TuningObjective{Text: o.Text, Metric: o.Metric, Bound: o.Bound.Seconds()},
		Simulated: x.played, Measured: x.measured, Notes: x.notes,
	}
	at := map[*candidate]int{nil: -1}
	for _, l := range x.ladders {
		for _, c := range l.rungs {
			if len(c.by) > 0 || len(c.cells) > 0 {
				at[c] = len(t.Candidates)
				t.Candidates = append(t.Candidates, x.entry(c))
			}
		}
	}
	if x.options.Rate {
		x.reportRates(t)
		return t
	}
	best, runner := x.best(), (*candidate)(nil)
	t.Met = best != nil
	if best == nil {
		_, best = x.closest(x.options.Strategies)
	}
	original := x.bestOf(originals)
	t.Sentence = "Nothing was measured, so nothing is recommended."
	if best != nil {
		if runner = x.bestOf(x.others(best.set.Strategy)); runner != nil && len(runner.cells) == 0 {
			runner = nil
		}
		if n := len(best.valid()); t.Met && n < x.options.Repeat {
			x.note("%s was measured %s instead of %d", best.set.Name(), units.Count(n, "time"), x.options.Repeat)
			t.Notes = x.notes
		}
		t.Sentence, t.Why = x.sentence(best, t.Met), x.reasons(best, runner)
	}
	t.Best, t.RunnerUp, t.Original = at[best], at[runner], at[original]
	t.Fragments = x.fragments(best, original)
	return t
}

// bestOf is the first answer of the strategies, else their first measured or predicted candidate; nil without one.
func (x *Search) bestOf(strategies []string) (c *candidate) {
	for _, l := range x.ladders {
		if held, _ := x.answer(l); held != nil && !l.wrong() && slices.Contains(strategies, l.strategy) {
			return held
		}
	}
	_, c = x.closest(strategies)
	return c
}

func (x *Search) entry(c *candidate) result.TunedCandidate {
	e := result.TunedCandidate{
		Setting: c.set, Excluded: c.excluded, Cells: c.cells, Value: highest(c.by, x.of),
		Measured: highest(c.valid(), x.of), Verdict: x.verdict(c),
	}
	for i := range c.by {
		if v := x.of(&c.by[i]); i == 0 || v != nil && e.Value != nil && *v == *e.Value {
			e.Predicted = c.by[i]
		}
	}
	if k := stats.Median(x.ratios(c)); k != nil {
		e.Error = new(*k - 1)
	}
	for i := range c.cells {
		t := &c.cells[i]
		repeated := !t.Valid && len(t.Failed) == 0 && len(c.valid()) > 0 // by a valid cell, which decides
		if why := x.why(t); why != "" && !repeated {
			e.Excluded = why
		}
	}
	return e
}

// reportRates adds the highest rate of each strategy, and what ends it.
func (x *Search) reportRates(t *result.Tuning) {
	unit := "writes/s"
	if x.base.Load.Profile != "" {
		unit = "pods/s"
	}
	t.Met = true
	var said []string
	for _, l := range x.ladders {
		held, above := x.answer(l)
		r := result.TunedRate{Strategy: l.strategy, Unit: unit}
		if above != nil {
			r.Above, r.Why = new(above.set.Rate), x.entry(above).Excluded
		}
		if held != nil {
			r.Rate = new(held.set.Rate)
			r.AtLeast = above == nil || x.verdict(above) == result.TunedInvalid
		}
		t.Met = t.Met && held != nil
		r.Sentence = x.rateSentence(&r)
		t.Rates = append(t.Rates, r)
		said = append(said, r.Sentence)
	}
	t.Sentence = strings.Join(said, " ")
}

func (x *Search) rateSentence(r *result.TunedRate) string {
	switch {
	case r.Rate == nil && r.Above == nil:
		return r.Strategy + ": nothing was measured."
	case r.Rate == nil:
		return fmt.Sprintf("%s carries no rate that was tried, down to %s %s: %s.", r.Strategy, figure(*r.Above), r.Unit,
			r.Why)
	}
	least, limit := "", "no higher rate was tried"
	if r.AtLeast {
		least = "at least "
	}
	if r.Above != nil {
		limit = fmt.Sprintf("not %s: %s", figure(*r.Above), r.Why)
	}
	return fmt.Sprintf("%s carries %s%s %s with %s and nothing lost (%s).",
		r.Strategy, least, figure(*r.Rate), r.Unit, x.options.Objective.limit(), limit)
}

// asked states the question in figures.
func (x *Search) asked() []result.TuningFact {
	facts := []result.TuningFact{{Name: "load", Value: x.load()}, {Name: "storage", Value: x.storage()}}
	if c := x.base.Storage.Capacity.Text(); c != "" {
		facts = append(facts, result.TuningFact{Name: "storage capacity", Value: c})
	}
	if len(x.kinds) > 1 {
		facts = append(facts, result.TuningFact{Name: "kinds", Value: strings.Join(x.kinds, ", ")})
	}
	return append(facts, result.TuningFact{Name: "when a queue is full", Value: x.base.Watcher.QueueFull})
}

func (x *Search) load() string {
	of := "changes"
	if len(x.kinds) == 1 {
		of = "changes of Pods"
	}
	if x.length == 0 {
		return fmt.Sprintf("a burst of %s %s", thousands(x.planned), of)
	}
	text := fmt.Sprintf("%s %s a second", figure(float64(x.planned)/x.length.Seconds()), of)
	if steps := x.base.Load.Steps; len(steps) > 1 && x.base.Load.Profile == "" {
		most := slices.MaxFunc(steps, func(a, b plan.RateStep) int { return cmp.Compare(a.Rate, b.Rate) })
		text += " on average, " + figure(most.Rate) + " at most"
	}
	return text
}

func (x *Search) storage() string {
	f := x.base.Storage.LatencyFigures(podKind)
	if f.P50 == 0 {
		return "a latency of " + x.base.Storage.Latency
	}
	return fmt.Sprintf("a storage that answers in %s ms (99 of 100 times within %s ms)", ms(f.P50), ms(f.P99))
}

func ms(d time.Duration) string { return figure(float64(d) / 1e6) }

// sentence is the answer in one sentence, from measurements.
func (x *Search) sentence(c *candidate, met bool) string {
	s := "For " + x.load() + " and " + x.storage() + ", "
	v := highest(c.valid(), x.of)
	switch {
	case met:
		_, means := x.options.Objective.figure()
		s += named(c.set) + " is enough: " + fmt.Sprintf(means, figure(roundUp(*v))+" s")
		if merges(c.set.Strategy) || len(c.by) > 0 && c.by[0].Requests < c.by[0].Events {
			s += " (the latest state of an object; states that it had in between may be left out)"
		}
		return s + "; " + x.proof(c) + "."
	case len(c.cells) > 0 && len(c.valid()) == 0 && c.failed() == nil:
		return s + "cannot tell: no measurement was valid (" + c.cells[len(c.cells)-1].Reason + "); by simulation " +
			named(c.set) + " has " + x.said(x.predicted(c)) + "."
	case len(c.cells) == 0:
		return s + "nothing was measured that holds the objective; by simulation " + named(c.set) + " has " +
			x.said(x.predicted(c)) + "."
	}
	return s + "no setting that was tried has " + x.options.Objective.limit() + "; " + named(c.set) + " comes closest: " +
		x.entry(c).Excluded + "."
}

// named is a setting by its keys.
func named(s Setting) string {
	if !numbered(s.Strategy) {
		return "the strategy " + s.Strategy
	}
	return fmt.Sprintf("the strategy %s with podQueueNum %d", s.Strategy, s.Queues)
}

// merges reports whether a strategy keeps only the latest state of a waiting object.
func merges(strategy string) bool { return strategy == dedup || strategy == adaptive }

// proof says what was shown in how many runs, omitting whatever was not judged.
func (x *Search) proof(c *candidate) string {
	n, ordered, events := 0, true, int64(math.MaxInt64)
	for _, t := range c.cells {
		if t.Valid {
			n, ordered, events = n+1, ordered && t.Ordered, min(events, t.Figures.Events)
		}
	}
	s := "nothing was lost in " + units.Count(n, "run")
	if ordered {
		s = "nothing was lost or reordered in " + units.Count(n, "run")
	}
	if events > 0 {
		s += " of " + map[bool]string{true: "at least "}[n > 1] + thousands(events) + " changes"
	}
	if x.base.Simulated() {
		s += " from a simulated API server"
	}
	return s
}

// said formats a value of the objective's metric.
func (x *Search) said(v *float64) string {
	if v == nil {
		return "an unknown " + x.options.Objective.Metric
	}
	return figure(*v) + " s"
}

// reasons for the answer, in figures.
func (x *Search) reasons(c, runner *candidate) (all []result.TuningFact) {
	add := func(name, format string, args ...any) {
		all = append(all, result.TuningFact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	took, mean := x.length.Seconds(), x.base.Storage.MeanLatency(podKind)
	if took == 0 && len(c.by) > 0 && c.by[0].Drain != nil {
		took = *c.by[0].Drain
	}
	if took > 0 && mean > 0 {
		rate := float64(c.requests()) / took
		add("Little's law", "%s requests a second, simulated, of %s ms each keep %s in flight on average",
			figure(rate), ms(mean), figure(rate*mean.Seconds()))
	}
	if v := highest(c.by, handlerDepth); v != nil {
		add("queues", "at most %s changes wait at once, simulated; each queue has room for %s", thousands(int64(*v)),
			thousands(int64(c.set.HandlerLen)))
	}
	if low := x.smaller(c); low != nil {
		how := "simulated"
		if len(low.valid()) > 0 {
			how = "measured"
		}
		add("fewer", "%s: %s, %s", low.set.Name(), x.said(x.value(low)), how)
	}
	if runner != nil {
		add("runner-up", "%s %s: %s, measured in %s", runner.set.Name(), x.verdict(runner), x.said(x.value(runner)),
			units.Count(len(runner.valid()), "run"))
	}
	return all
}

// smaller is the next known setting below another of its strategy.
func (x *Search) smaller(than *candidate) (low *candidate) {
	for _, l := range x.ladders {
		for _, c := range slices.Backward(l.rungs) {
			if l.strategy == than.set.Strategy && c.set.Queues < than.set.Queues && x.value(c) != nil {
				low = c
			}
		}
	}
	return low
}

// fragments are the configurations to paste.
func (x *Search) fragments(best, original *candidate) (all []result.TuningFragment) {
	if best != nil {
		s := best.set
		bcs := map[string]any{
			"strategy": s.Strategy, "writerQueueLen": s.WriterLen, "handlerQueueLen": s.HandlerLen,
			"queueFull": x.base.Watcher.QueueFull,
		}
		if numbered(s.Strategy) {
			bcs["podQueueNum"] = s.Queues
		}
		f := fragment(FileOurs, "k8s-watch", bcs)
		if x.verdict(best) != result.TunedHolds {
			f.Note = x.standing(best)
		}
		all = append(all, f)
	}
	if original != nil {
		s := original.set
		f := fragment(FileOriginal, "bcs-k8s-watch", map[string]any{"podQueueNum": s.Queues, "writerQueueLen": s.WriterLen})
		f.Note = fmt.Sprintf("%s, by k8s-watch with the strategy %s, which has the same queues: the original was not run. "+
			"Its handler queues always hold 102,400 events; what finds no room within 1 s is dropped",
			x.standing(original), s.Strategy)
		all = append(all, f)
	}
	return all
}

// standing says how far a candidate in a fragment is confirmed.
func (x *Search) standing(c *candidate) string {
	switch x.verdict(c) {
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
