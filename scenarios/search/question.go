package search

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

const (
	// maxText bounds each value of the command line, in bytes.
	maxText = 1 << 10
	// maxBound is past any objective.
	maxBound = 24 * time.Hour
	// MaxRate bounds a rate of writes, as the load's own does.
	MaxRate   = 100_000
	leastRate = 0.1
)

// Question describes load and storage without a scenario.
type Question struct {
	Rate    float64       // writes per second
	Storage string        // latency, as ParseStorage returns it
	Length  time.Duration // of the load
	Burst   Burst         // in the middle of the load
}

// Burst is a higher rate for a while.
type Burst struct {
	Rate   float64
	Length time.Duration
}

// ParseBurst reads 150/s:5s, which must fit a load of a length.
func ParseBurst(text string, load time.Duration) (b Burst, err error) {
	rate, length, _ := strings.Cut(text, ":")
	b.Rate, err = ParseRate(rate)
	if err == nil {
		b.Length, err = time.ParseDuration(length)
	}
	if err != nil || b.Length < time.Second || b.Length > load-2*time.Second {
		return b, badinput.New(fmt.Sprintf("write its rate and its length, for example 150/s:5s, of 1s to %s (--for less 2s)",
			load-2*time.Second), "--burst %s is not a burst", short(text))
	}
	return b, nil
}

// Plain is an open load of Pods.
const Plain = `# Made by watchbench tune.
apiVersion: watchbench/v1
kind: Scenario
metadata: {name: tune}
load: {model: open, rate: 200, duration: 20s, arrival: poisson, lifecycle: pod/fast, objectBytes: 3KiB}
`

// Sets are the overrides for Plain or a profile's scenario, whose rate of Pods is scaled to about the rate of writes.
func (q Question) Sets(s *spec.Scenario) (sets []string, err error) {
	rate := q.Rate
	if s.Load.Profile != "" {
		l := s.Load.Load
		l.Duration = units.Duration(q.Length)
		off := math.Inf(1)
		for range 5 { // the plans' writes do not grow evenly with the rate
			writes, err := writesOf(l, s.Seed)
			if err != nil {
				return nil, err
			}
			if d := math.Abs(writes - q.Rate); d < off {
				off, rate = d, l.Rate
			}
			l.Rate = rounded(l.Rate * q.Rate / max(1, writes))
		}
	}
	load := []string{"load.rate=" + number(rounded(rate))}
	if b := q.Burst; b.Rate > 0 {
		calm := fmt.Sprintf("{length: %s, rate: %s}", (q.Length-b.Length)/2, number(rounded(rate)))
		load = []string{"load.rate=0",
			fmt.Sprintf("load.steps=[%s, {length: %s, rate: %s}, %s]", calm, b.Length, number(b.Rate), calm)}
	}
	return append(load, "cluster.provider=simulated", "load.duration="+q.Length.String(),
		"watcher.synchronizer.disabled=true", // what a strategy loses is not to be repaired
		"storage.latency="+strconv.Quote(q.Storage)), nil
}

// writesOf is the mean of the writes per second of the plans that are played.
func writesOf(l plan.Load, seed uint64) (mean float64, err error) {
	for i := range uint64(seeds) {
		p, err := plan.New(plan.Config{Seed: seed + i, RunID: "tune", Load: l})
		if err != nil {
			return 0, &badinput.Error{What: fmt.Sprintf("profile %s with %s pods/s", l.Profile, figure(l.Rate)), Err: err}
		}
		mean += float64(p.Planned()) / l.Duration.Std().Seconds() / seeds
	}
	return mean, nil
}

// ParseRate reads 200/s, writes per second.
func ParseRate(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "/s")
	v, err := strconv.ParseFloat(number, 64)
	if len(text) > maxText || !ok || err != nil || !(v > 0 && v <= MaxRate) {
		return 0, badinput.New(fmt.Sprintf("give the writes per second, for example 200/s, up to %d/s", MaxRate),
			"--rate %s is not a rate", short(text))
	}
	return v, nil
}

// ParseStorage reads 'p50=60ms,p99=400ms', a duration, or any distribution of storage.latency, which it returns.
func ParseStorage(text string) (string, error) {
	const remedy = "write for example 'p50=60ms,p99=400ms', 80ms, or a distribution of storage.latency"
	s := strings.TrimSpace(text)
	if len(text) > maxText || s == "" {
		return "", badinput.New(remedy, "--storage %q is not a latency", short(text))
	}
	key, _, pairs := strings.Cut(s, "=")
	if pairs && !strings.ContainsAny(s, "():; \t\n") && slices.Contains([]string{"p50", "mean", "p99", "sigma"}, key) {
		s = "lognormal(" + s + ")"
	}
	m, err := behavior.ParseModel(s, 1)
	if err != nil && !strings.ContainsAny(s, "(") {
		return "", badinput.New(remedy, "--storage %s is not a latency", short(text))
	}
	if err != nil {
		return "", &badinput.Error{What: "--storage " + short(text), Remedy: remedy, Err: err}
	}
	if m.Mean("PUT", podKind) <= 0 {
		return "", badinput.New("write the time that storage takes",
			"--storage %s: a storage that takes no time needs no tuning", short(text))
	}
	return s, nil
}

// Range has both ends of a searched range.
type Range struct{ Low, High int }

func (r Range) String() string { return fmt.Sprintf("%d..%d", r.Low, r.High) }

// ParseQueues reads 1..256, or a part of it.
func ParseQueues(text string) (Range, error) {
	low, high, ok := strings.Cut(text, "..")
	if !ok {
		low, high = text, text
	}
	a, err := strconv.Atoi(low)
	b, err2 := strconv.Atoi(high)
	if err != nil || err2 != nil || a > b || a < QueueRange.Low || b > QueueRange.High {
		return Range{}, badinput.New(fmt.Sprintf("write %s or a part of it", QueueRange),
			"--queues %s is not a range within %s", short(text), QueueRange)
	}
	return Range{a, b}, nil
}

// Objective of a search: a figure that must be within a bound.
type Objective struct {
	Text   string
	Metric string // of results.json
	Bound  time.Duration
}

// DefaultObjective applies to a search that names none.
const DefaultObjective = "freshness.p99=2s"

const metricDrain = "handler.drainSeconds"

// objectives lists the words that an objective begins with, the metric of each, and the meaning of a value.
var objectives = []struct {
	word, metric string
	of           func(*Figures) *float64
	means        string // of "0.5 s"
}{
	{"freshness.p99", "freshness.p99", func(f *Figures) *float64 { return f.P99 },
		"99 of 100 changes are in storage within %s"},
	{"freshness.p90", "freshness.p90", func(f *Figures) *float64 { return f.P90 },
		"9 of 10 changes are in storage within %s"},
	{"freshness.p50", "freshness.p50", func(f *Figures) *float64 { return f.P50 },
		"half of the changes are in storage within %s"},
	{"freshness.max", "freshness.max", func(f *Figures) *float64 { return f.Max }, "every change is in storage within %s"},
	{"drain", metricDrain, func(f *Figures) *float64 { return f.Drain },
		"all of it is in storage within %s of the first change"},
	{"drainAfterLoad", "handler.drainAfterLoadSeconds", func(f *Figures) *float64 { return f.DrainAfter },
		"all of it is in storage within %s of the last change"},
}

// ObjectiveWords lists the words that an objective begins with.
func ObjectiveWords() (words []string) {
	for _, o := range objectives {
		words = append(words, o.word)
	}
	return words
}

// figure returns the getter of the objective's figure, and the meaning of a value.
func (o Objective) figure() (of func(*Figures) *float64, means string) {
	for _, k := range objectives {
		if k.metric == o.Metric {
			return k.of, k.means
		}
	}
	return func(*Figures) *float64 { return nil }, "%s"
}

// limit is the bound in words.
func (o Objective) limit() string {
	return fmt.Sprintf("%s ≤ %s s", strings.Replace(o.Metric, ".", " ", 1), figure(o.Bound.Seconds()))
}

// ParseObjective reads freshness.p99=2s or drain=30s.
func ParseObjective(text string) (o Objective, err error) {
	word, value, _ := strings.Cut(text, "=")
	o.Text = text
	for _, k := range objectives {
		if k.word == word && len(text) <= maxText {
			o.Metric = k.metric
		}
	}
	switch {
	case word == "rate":
		return o, badinput.New("use --rate 200/s, or --find rate for the highest", "--objective %s: a rate is not a figure",
			short(text))
	case o.Metric == "":
		return o, badinput.New(badinput.Ask(badinput.Nearest(word, ObjectiveWords()),
			"use one of "+strings.Join(ObjectiveWords(), ", ")),
			"--objective %s: %q is not known", short(text), short(word))
	}
	o.Bound, err = time.ParseDuration(value)
	if err != nil || o.Bound < time.Millisecond || o.Bound > maxBound {
		return o, badinput.New(fmt.Sprintf("write for example %s=2s, from 1ms to 24h", word),
			"--objective %s: %q is not a time to reach", short(text), short(value))
	}
	return o, nil
}

// short cuts a user's text for an error.
func short(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// figure writes a number with at most three digits.
func figure(v float64) string { return render.Brief(v) }

// number formats a number for YAML.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }

// rounded is a rate with three digits, within the bounds of a scenario.
func rounded(rate float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(min(max(rate, leastRate), MaxRate), 'g', 3, 64), 64)
	if err != nil || math.IsNaN(r) {
		return leastRate
	}
	return r
}
