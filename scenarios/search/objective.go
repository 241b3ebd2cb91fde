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
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/storagemock/latency"
)

const (
	// maxText bounds each value of the command line, in bytes.
	maxText = 1 << 10
	// maxBound is past any objective.
	maxBound = 24 * time.Hour
	// MaxRate bounds a rate of writes, as the load's own does.
	MaxRate = 100_000
)

// ParseRate reads 200/s, writes per second.
func ParseRate(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "/s")
	v, err := strconv.ParseFloat(number, 64)
	if len(text) > maxText || !ok || err != nil || !(v > 0 && v <= MaxRate) {
		return 0, badinput.New(fmt.Sprintf("write writes per second, for example 200/s, up to %d/s", MaxRate),
			"--rate %s is not a rate", short(text))
	}
	return v, nil
}

// ParseStorage reads 'p50=60ms,p99=400ms' (or mean for p50), a duration, or any
// distribution of storage.latency, and returns the latter.
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
	m, err := latency.ParseModel(s, 1)
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

// ParseRange reads 1..256, within the given bounds.
func ParseRange(flag, text string, within Range) (Range, error) {
	low, high, ok := strings.Cut(text, "..")
	if !ok {
		low, high = text, text
	}
	a, err := strconv.Atoi(low)
	b, err2 := strconv.Atoi(high)
	if err != nil || err2 != nil || a > b || a < within.Low || b > within.High {
		return Range{}, badinput.New(fmt.Sprintf("write %s or a part of it", within),
			"--%s %s is not a range within %s", flag, short(text), within)
	}
	return Range{a, b}, nil
}

// Objective of a search.
type Objective struct {
	Text   string
	Metric string        // of results.json
	Bound  time.Duration // 0: as low as it gets
	Rate   float64       // writes per second to carry; 0: the load's own
}

const (
	metricP99        = "freshness.p99"
	metricDrain      = "handler.drainSeconds"
	metricDrainAfter = "handler.drainAfterLoadSeconds"
)

// objectives lists the words that an objective begins with, the metric of each, and the meaning of a value.
var objectives = []struct {
	word, metric string
	of           func(*Figures) *float64
	means        string // of "0.5 s"
}{
	{metricP99, metricP99, func(f *Figures) *float64 { return f.P99 }, "99 of 100 changes are in storage within %s"},
	{"freshness.p90", "freshness.p90", func(f *Figures) *float64 { return f.P90 },
		"9 of 10 changes are in storage within %s"},
	{"freshness.p50", "freshness.p50", func(f *Figures) *float64 { return f.P50 },
		"half of the changes are in storage within %s"},
	{"freshness.max", "freshness.max", func(f *Figures) *float64 { return f.Max }, "every change is in storage within %s"},
	{"drain", metricDrain, func(f *Figures) *float64 { return f.Drain },
		"all of it is in storage within %s of the first change"},
	{"drainAfterLoad", metricDrainAfter, func(f *Figures) *float64 { return f.DrainAfter },
		"all of it is in storage within %s of the last change"},
	{"rate", metricDrainAfter, nil, ""},
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

// relative reports whether the bound is the fastest measured setting instead of a value.
func (o Objective) relative() bool { return o.Bound == 0 }

// limit is the bound in words.
func (o Objective) limit() string {
	return fmt.Sprintf("%s ≤ %s s", strings.Replace(o.Metric, ".", " ", 1), figure(o.Bound.Seconds()))
}

// ParseObjective reads freshness.p99=2s, freshness.p99, drain=30s or rate=200/s.
func ParseObjective(text string) (Objective, error) {
	word, value, bounded := strings.Cut(text, "=")
	o := Objective{Text: text}
	for _, k := range objectives {
		if k.word == word && len(text) <= maxText {
			o.Metric = k.metric
		}
	}
	if o.Metric == "" {
		return o, badinput.New(badinput.Ask(badinput.Nearest(word, ObjectiveWords()),
			"use one of "+strings.Join(ObjectiveWords(), ", ")),
			"--objective %s: %q is not known", short(text), short(word))
	}
	var err error
	switch {
	case word == "rate":
		if o.Rate, err = ParseRate(value); err != nil {
			return o, badinput.New("write for example rate=200/s; --find rate finds the highest",
				"--objective %s does not name a rate of at most %d/s", short(text), MaxRate)
		}
	case bounded:
		o.Bound, err = time.ParseDuration(value)
		if err != nil || o.Bound < time.Millisecond || o.Bound > maxBound {
			return o, badinput.New(fmt.Sprintf("write for example %s=2s, from 1ms to 24h, or %s alone for as low as it gets",
				word, word),
				"--objective %s: %q is not a time to reach", short(text), short(value))
		}
	}
	return o, nil
}

// Limits on the resources of a setting.
type Limits struct {
	Text     []string
	Memory   units.Size // resident memory of the watcher, as measured; 0: no limit
	InFlight int        // requests at once; 0: no limit
}

// ParseLimits reads memory=64MiB and inflight=60.
func ParseLimits(all []string) (l Limits, err error) {
	for _, text := range all {
		word, value, _ := strings.Cut(text, "=")
		ok := false
		switch {
		case word == "memory" && l.Memory == 0:
			l.Memory, err = units.ParseSize(value)
			ok = err == nil && l.Memory >= 1<<20
		case word == "inflight" && l.InFlight == 0:
			l.InFlight, err = strconv.Atoi(value)
			ok = err == nil && l.InFlight >= 1
		}
		if !ok {
			return l, badinput.New("give each once, for example memory=64MiB (1MiB or more) and inflight=60 (1 or more)",
				"--limit %s cannot be used", short(text))
		}
		l.Text = append(l.Text, text)
	}
	return l, nil
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
