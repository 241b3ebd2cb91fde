package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/expr"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/storagemock/latency"
)

// maxText bounds each value of the command line, in bytes.
const maxText = 1 << 10

// MaxRate bounds a rate of writes, as the load's own does.
const MaxRate = 100_000

// ParseRate reads 200/s, writes per second.
func ParseRate(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "/s")
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case len(text) > maxText || !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return 0, badinput.New("write writes per second, for example 200/s", "--rate %s is not a rate", short(text))
	case v <= 0 || v > MaxRate:
		return 0, badinput.New(fmt.Sprintf("use more than 0 and at most %d/s", MaxRate), "--rate %s is out of range", text)
	}
	return v, nil
}

// ParseStorage reads 'p50=60ms,p99=400ms' (or mean for p50), a duration, or any
// distribution of storage.latency, and returns the latter.
func ParseStorage(text string) (string, error) {
	const remedy = "write for example 'p50=60ms,p99=400ms', 80ms, or a distribution of storage.latency"
	spec := strings.TrimSpace(text)
	if len(text) > maxText || spec == "" {
		return "", badinput.New(remedy, "--storage %q is no latency", short(text))
	}
	if key, _, ok := strings.Cut(spec, "="); ok && !strings.ContainsAny(spec, "():; \t\n") && slices.Contains([]string{"p50", "mean", "p99", "sigma"}, key) {
		spec = "lognormal(" + spec + ")"
	}
	m, err := latency.ParseModel(spec, 1)
	if err != nil {
		return "", &badinput.Error{What: "--storage " + short(text), Remedy: remedy, Err: err}
	}
	if m.Mean("PUT", podKind) <= 0 {
		return "", badinput.New("write the time that storage takes", "--storage %s: a storage that takes no time needs no tuning", short(text))
	}
	return spec, nil
}

// Range is both ends of what is searched.
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
	switch {
	case err != nil || err2 != nil:
		return Range{}, badinput.New("write for example "+within.String(), "--%s %s is not a range", flag, short(text))
	case a > b:
		return Range{}, badinput.New(fmt.Sprintf("write %d..%d", b, a), "--%s %s begins above its end", flag, text)
	case a < within.Low || b > within.High:
		return Range{}, badinput.New("use "+within.String()+" or a part of it", "--%s %s is out of range", flag, text)
	}
	return Range{a, b}, nil
}

// Objective is what is to be reached.
type Objective struct {
	Text   string
	Metric string        // of results.json
	Bound  time.Duration // 0: as low as it gets
	Rate   float64       // writes per second that are to be carried, 0: the load's own
}

// limit is the bound in words.
func (o Objective) limit() string {
	return fmt.Sprintf("%s ≤ %s s", strings.Replace(o.Metric, ".", " ", 1), figure(o.Bound.Seconds()))
}

// Metrics that an objective may be about.
const (
	metricP50        = "freshness.p50"
	metricP90        = "freshness.p90"
	metricP99        = "freshness.p99"
	metricMax        = "freshness.max"
	metricDrain      = "handler.drainSeconds"
	metricDrainAfter = "handler.drainAfterLoadSeconds"
)

// objectives are the words of an objective.
var objectives = []struct{ word, metric string }{
	{metricP99, metricP99}, {metricP90, metricP90}, {metricP50, metricP50}, {metricMax, metricMax},
	{"drain", metricDrain}, {"drainAfterLoad", metricDrainAfter}, {"rate", metricDrainAfter},
}

// ObjectiveWords lists the words that an objective begins with.
func ObjectiveWords() (words []string) {
	for _, o := range objectives {
		words = append(words, o.word)
	}
	return words
}

// maxBound is past any objective.
const maxBound = 24 * time.Hour

// ParseObjective reads freshness.p99=2s, freshness.p99, drain=30s or rate=200/s.
func ParseObjective(text string) (Objective, error) {
	word, value, bounded := strings.Cut(text, "=")
	i := slices.IndexFunc(objectives, func(o struct{ word, metric string }) bool { return o.word == word })
	if i < 0 || len(text) > maxText {
		return Objective{}, badinput.New(badinput.Ask(badinput.Nearest(word, ObjectiveWords()), "use one of "+strings.Join(ObjectiveWords(), ", ")),
			"--objective %s: %q is not known", short(text), short(word))
	}
	o := Objective{Text: text, Metric: objectives[i].metric}
	if word == "rate" {
		if !bounded {
			return o, badinput.New("write for example rate=200/s; --find rate finds the highest", "--objective rate names no rate")
		}
		rate, err := ParseRate(value)
		if err != nil {
			return o, badinput.New("write for example rate=200/s", "--objective %s: %q is no rate of more than 0 and at most %d/s", short(text), short(value), MaxRate)
		}
		o.Rate = rate
		return o, nil
	}
	if !bounded {
		return o, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Millisecond || d > maxBound {
		return o, badinput.New(fmt.Sprintf("write for example %s=2s, from 1ms to 24h, or %s alone for as low as it gets", word, word), "--objective %s: %q is no time to reach", short(text), short(value))
	}
	o.Bound = d
	return o, nil
}

// Limits are what a setting must not take.
type Limits struct {
	Text     []string
	Memory   units.Size // resident memory of the watcher; 0: no limit
	InFlight int        // requests at once; 0: no limit
}

// ParseLimits reads memory=64MiB and inflight=60.
func ParseLimits(all []string) (l Limits, err error) {
	const remedy = "write for example memory=64MiB or inflight=60"
	for _, text := range all {
		word, value, _ := strings.Cut(text, "=")
		if slices.ContainsFunc(l.Text, func(t string) bool { return strings.HasPrefix(t, word+"=") }) {
			return l, badinput.New("give one", "--limit %s is there twice", word)
		}
		switch word {
		case "memory":
			if l.Memory, err = units.ParseSize(value); err != nil || l.Memory < 1<<20 {
				return l, badinput.New("write at least 1MiB, for example memory=64MiB", "--limit %s: %q is no memory that a process can live on", short(text), short(value))
			}
		case "inflight":
			if l.InFlight, err = strconv.Atoi(value); err != nil || l.InFlight < 1 {
				return l, badinput.New("write at least 1, for example inflight=60", "--limit %s: %q is no number of requests", short(text), short(value))
			}
		default:
			return l, badinput.New(remedy, "--limit %s is not known", short(text))
		}
		l.Text = append(l.Text, text)
	}
	return l, nil
}

// short is a user's text for an error.
func short(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// figure writes a number with three digits at most, without zeros that say nothing.
func figure(v float64) string { return render.Brief(v) }

// scaled is a latency with all times multiplied; false where that cannot be said in its
// grammar, or would say something else.
func scaled(text string, factor float64) (string, bool) {
	if strings.Contains(text, "slow(") || strings.Contains(text, "empirical(") {
		return "", false
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		i := strings.IndexAny(rest, "0123456789.")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		j := i
		for j < len(rest) && (rest[j] >= '0' && rest[j] <= '9' || rest[j] == '.' || rest[j] >= 'a' && rest[j] <= 'z' || strings.HasPrefix(rest[j:], "µ") || rest[j] == 0xb5) {
			j++
		}
		b.WriteString(rest[:i])
		if d, err := expr.ParseDuration(rest[i:j]); err == nil && d > 0 && (i == 0 || strings.ContainsRune("=(,", rune(rest[i-1]))) {
			b.WriteString(time.Duration(float64(d) * factor).String())
		} else {
			b.WriteString(rest[i:j])
		}
		rest = rest[j:]
	}
	out := b.String()
	was, err := latency.ParseModel(text, 1)
	now, err2 := latency.ParseModel(out, 1)
	if err != nil || err2 != nil {
		return "", false
	}
	ratio := float64(now.Mean("PUT", podKind)) / float64(was.Mean("PUT", podKind))
	return out, math.Abs(ratio/factor-1) < 0.01
}

func objectiveOf(o Objective) result.TuningObjective {
	out := result.TuningObjective{Text: o.Text, Metric: o.Metric, Rate: o.Rate}
	if o.Bound > 0 {
		out.Bound = new(o.Bound.Seconds())
	}
	return out
}
