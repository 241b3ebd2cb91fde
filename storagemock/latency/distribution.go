package latency

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/expr"
)

// maxDuration bounds every duration of the grammar: an hour is past any timeout.
const maxDuration = time.Hour

// distribution draws service times.
type distribution struct {
	mean time.Duration // over a long time
	// draw may keep state and is called by one goroutine at a time; now lets slow
	// periods come and go. If it is nil, every service takes the mean.
	draw func(r random, now time.Time) time.Duration
	// upTo is the share of draws of at most so many nanoseconds, over a long time; nil
	// with draw.
	upTo func(ns float64) float64
}

// share is upTo also of what always takes the mean.
func (d distribution) share(ns float64) float64 {
	if d.upTo == nil {
		return step(ns, float64(d.mean))
	}
	return d.upTo(ns)
}

func (d distribution) sample(r random, now time.Time) time.Duration {
	if d.draw == nil {
		return d.mean
	}
	return d.draw(r, now)
}

// shape is one distribution of the grammar.
type shape struct {
	positional []string // arguments that may be given without their name
	named      []string // further arguments
	form       string   // to show where positional is empty
	read       func(*arguments) distribution
}

// shapes is filled in init because some of them read distributions themselves.
var shapes map[string]shape

const known = "constant, uniform, normal, lognormal, exponential, bimodal, empirical or slow"

func init() {
	shapes = map[string]shape{
		"constant":    {positional: []string{"d"}, read: constant},
		"uniform":     {positional: []string{"min", "max"}, read: uniform},
		"normal":      {positional: []string{"mean", "stddev"}, read: normal},
		"lognormal":   {named: []string{"p50", "mean", "p99", "sigma"}, form: lognormalForm, read: lognormal},
		"exponential": {positional: []string{"mean"}, read: exponential},
		"bimodal":     {positional: []string{"fast", "slow", "p"}, read: bimodal},
		"empirical":   {positional: []string{"file"}, read: empirical},
		"slow":        {positional: []string{"base", "x", "every", "for"}, named: []string{"fixed"}, read: slow},
	}
}

// arguments reads those of one distribution. What the reader returns after a mistake is
// never drawn from.
type arguments struct {
	*expr.Reader
	in  string
	err error // of a distribution inside, or of a file
}

// parseDistribution reads one distribution.
func parseDistribution(text string) (distribution, error) {
	e, err := expr.Parse(text)
	if err != nil {
		return distribution{}, fmt.Errorf("latency %w", err)
	}
	d, err := build(text, e)
	if err != nil {
		return distribution{}, fmt.Errorf("latency %w", err)
	}
	return d, nil
}

// build reads e, which was parsed from in.
func build(in string, e expr.Expr) (distribution, error) {
	fail := func(format string, args ...any) (distribution, error) {
		return distribution{}, &expr.Error{Input: in, Pos: e.Pos, Msg: fmt.Sprintf(format, args...)}
	}
	s, ok := shapes[e.Name]
	switch {
	case ok && !e.Call:
		return fail("%s needs its arguments in parentheses", e.Name)
	case ok && s.form != "" && slices.ContainsFunc(e.Args, func(a expr.Arg) bool { return a.Key == "" }):
		return fail("%s takes its arguments by name: write %s", e.Name, s.form)
	case ok:
		a := &arguments{Reader: expr.Read(in, e, s.positional...), in: in}
		d := s.read(a)
		if a.err != nil {
			return d, a.err
		}
		return d, a.Err(s.named...)
	case e.Call:
		return fail("%s is no distribution; want a duration like 87ms, or %s", e.Name, known)
	}
	d, err := expr.ParseDuration(e.Name)
	if err != nil {
		return fail("%s: %v, or a distribution: %s", e.Name, err, known)
	}
	if d > maxDuration {
		return fail("%s is more than %s", d, maxDuration)
	}
	return distribution{mean: d}, nil
}

// positive takes a duration that must be given, above 0 and at most maxDuration.
func (a *arguments) positive(key string) time.Duration {
	if !a.Has(key) {
		a.Fail("", "%s is missing", key)
		return 1
	}
	d := a.Duration(key, 0)
	if d <= 0 || d > maxDuration {
		a.Fail(key, "%s=%s: want more than 0 and at most %s", key, d, maxDuration)
	}
	return d
}

// nested takes an argument that is a distribution itself.
func (a *arguments) nested(key string) distribution {
	e, ok := a.Expr(key)
	if !ok {
		a.Fail("", "%s is missing", key)
		return distribution{}
	}
	d, err := build(a.in, e)
	if a.err == nil {
		a.err = err
	}
	return d
}

func constant(a *arguments) distribution {
	if !a.Has("d") {
		a.Fail("", "the duration is missing")
	}
	d := a.Duration("d", 0)
	if d > maxDuration {
		a.Fail("d", "%s is more than %s", d, maxDuration)
	}
	return distribution{mean: d}
}

func uniform(a *arguments) distribution {
	least, most := a.Duration("min", 0), a.positive("max")
	if least > most {
		a.Fail("min", "min=%s is above max=%s", least, most)
	}
	return distribution{least + (most-least)/2, func(r random, _ time.Time) time.Duration {
		return least + time.Duration(r.Int64N(int64(most-least)+1))
	}, func(ns float64) float64 { return (ns - float64(least)) / max(1, float64(most-least)) }}
}

// normal is the bell curve, cut at 0. Its mean is at least 3 standard deviations, so that
// the cut moves it by less than 0.2 %.
func normal(a *arguments) distribution {
	mean, deviation := a.positive("mean"), a.Duration("stddev", 0)
	if !a.Has("stddev") {
		a.Fail("", "stddev is missing")
	}
	if mean < 3*deviation {
		a.Fail("stddev", "the mean must be at least 3 times stddev, or cutting at 0 would move it; lognormal has no such limit")
	}
	return distribution{mean, func(r random, _ time.Time) time.Duration {
		for {
			if d := float64(mean) + r.NormFloat64()*float64(deviation); d >= 0 {
				return time.Duration(d)
			}
		}
	}, func(ns float64) float64 { return standardNormal((ns - float64(mean)) / float64(max(1, deviation))) }}
}

// standardNormal is the share of a standard normal distribution up to z.
func standardNormal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

const (
	// z99 is the 99th percentile of the standard normal distribution.
	z99 = 2.3263478740408408
	// maxSigma keeps p99 within 112,000 times p50.
	maxSigma      = 5
	lognormalForm = "lognormal(p50=60ms,p99=400ms) or lognormal(mean=87ms,p99=110ms)"
)

// lognormal is exp of a normal distribution, with mu and sigma of the logarithm of
// nanoseconds: the usual shape of service times. One of p50 and mean says where it is,
// one of p99 and sigma how wide.
func lognormal(a *arguments) distribution {
	centre := "p50"
	if a.Has("mean") {
		centre = "mean"
	}
	if a.Has("p50") == a.Has("mean") || a.Has("p99") == a.Has("sigma") {
		a.Fail("", "want one of p50 and mean, and one of p99 and sigma: write %s", lognormalForm)
		return distribution{}
	}
	c := float64(a.positive(centre))
	sigma := a.Float("sigma", 0)
	if a.Has("p99") {
		ratio := math.Log(float64(a.positive("p99")) / c)
		if ratio < 0 {
			a.Fail("p99", "p99 is below the %s", centre)
		}
		sigma = ratio / z99
		if centre == "mean" {
			sigma = a.sigmaFromMean(ratio)
		}
		if sigma > maxSigma {
			a.Fail("p99", "p99 is more than %.0f times p50; use bimodal or slow for such a tail", math.Exp(z99*maxSigma))
		}
	} else if sigma < 0 || sigma > maxSigma {
		a.Fail("sigma", "sigma=%g: want 0 to %d", sigma, maxSigma)
	}
	mu := math.Log(c)
	if centre == "mean" {
		mu -= sigma * sigma / 2
	}
	mean := math.Exp(mu + sigma*sigma/2)
	if mean > float64(maxDuration) {
		a.Fail("", "its mean would be %.0f h, more than %s", mean/float64(time.Hour), maxDuration)
	}
	return distribution{toDuration(mean), func(r random, _ time.Time) time.Duration {
		return toDuration(math.Exp(mu + sigma*r.NormFloat64()))
	}, func(ns float64) float64 {
		if sigma == 0 {
			return step(ns, math.Exp(mu))
		}
		return standardNormal((math.Log(ns) - mu) / sigma)
	}}
}

// step is upTo where every draw is at.
func step(ns, at float64) float64 {
	if math.Round(ns) < math.Round(at) {
		return 0
	}
	return 1
}

// sigmaFromMean returns the sigma of a distribution, given the logarithm of p99/mean:
// mean = exp(mu+sigma²/2) and p99 = exp(mu+z·sigma) give
// sigma² − 2·z·sigma + 2·ln(p99/mean) = 0; the smaller root is the sensible one.
func (a *arguments) sigmaFromMean(ratio float64) float64 {
	discriminant := z99*z99 - 2*ratio
	if discriminant < 0 {
		a.Fail("p99", "no lognormal has a p99 of more than %.1f times its mean; use bimodal or slow for such a tail", math.Exp(z99*z99/2))
	}
	return z99 - math.Sqrt(discriminant)
}

// exponential is the memoryless distribution.
func exponential(a *arguments) distribution {
	mean := a.positive("mean")
	return distribution{
		mean, func(r random, _ time.Time) time.Duration { return exponentially(r, mean) },
		func(ns float64) float64 { return -math.Expm1(-ns / float64(mean)) },
	}
}

func exponentially(r random, mean time.Duration) time.Duration {
	return toDuration(r.ExpFloat64() * float64(mean))
}

// bimodal is fast or, with probability p, slow: a cache and its misses.
func bimodal(a *arguments) distribution {
	fast, slow := a.nested("fast"), a.nested("slow")
	if !a.Has("p") {
		a.Fail("", "p, the probability of slow, is missing")
	}
	p := a.Probability("p", 0)
	mean := toDuration((1-p)*float64(fast.mean) + p*float64(slow.mean))
	return distribution{mean, func(r random, now time.Time) time.Duration {
		if r.Float64() < p {
			return slow.sample(r, now)
		}
		return fast.sample(r, now)
	}, func(ns float64) float64 { return (1-p)*fast.share(ns) + p*slow.share(ns) }}
}

// toDuration rounds, and keeps absurd values within the type.
func toDuration(ns float64) time.Duration {
	return time.Duration(min(math.Round(ns), float64(maxDuration)))
}
