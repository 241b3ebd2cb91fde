package dist

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/expr"
	"github.com/watchbench/watchbench/internal/units"
)

// kind is what the values of a distribution are.
type kind struct {
	noun, literal, example string
	read                   func(string) (float64, error)
	most                   float64 // 0: unbounded
}

var (
	durations = kind{"duration", "87ms", "LN(1s,0.5)", seconds, 0}
	latencies = kind{"duration", "87ms", "", seconds, MaxLatency.Seconds()}
	sizes     = kind{"size", "12KB", "LN(12KB,0.5)", func(s string) (float64, error) {
		n, err := units.ParseSize(s)
		return float64(n), err
	}, 0}
	numbers = kind{"number", "4", "bins(5=80,30=15)", func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= 0 && v <= most) {
			return 0, fmt.Errorf("want a number from 0")
		}
		return v, nil
	}, 0}
)

func seconds(s string) (float64, error) {
	d, err := expr.ParseDuration(s)
	return d.Seconds(), err
}

var forms = []string{"constant", "uniform", "normal", "lognormal", "LN", "exponential", "pareto", "zipf", "bins", "mix", "bimodal", "sum", "empirical", "slow"}

const (
	// maxSigma keeps a mean within 270,000 times the median, and p99 within 112,000 times.
	maxSigma = 5
	maxZipf  = 10_000
	maxText  = 1 << 10
	// z99 is the 99th percentile of the standard normal distribution.
	z99           = 2.3263478740408408
	lognormalForm = "lognormal(p50=60ms,p99=400ms) or lognormal(mean=87ms,p99=110ms)"
)

// parse reads one distribution. Problem and remedy of its errors are parted by a semicolon.
func parse(text string, k kind) (law, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("a distribution of %d characters; write at most %d", len(text), maxText)
	}
	advise := func(err error) error {
		if k.example == "" {
			return err
		}
		return fmt.Errorf("%w; write for example %s", err, k.example)
	}
	body, bounds, clip := text, "", false
	if i := strings.LastIndex(text, " clip "); i >= 0 {
		body, bounds, clip = text[:i], text[i+len(" clip "):], true
	}
	e, err := expr.Parse(body)
	if err != nil {
		return nil, advise(err)
	}
	b := builder{text, k}
	l, err := b.law(e)
	if err != nil {
		return nil, advise(err)
	}
	if !clip {
		return l, nil
	}
	low, high, err := b.span(strings.TrimSpace(bounds))
	if err != nil {
		return nil, fmt.Errorf("%q: clip %s: %w; write for example clip 3..60 with units", text, bounds, err)
	}
	return newClipped(l, low, high), nil
}

type builder struct {
	text string
	kind
}

func (b builder) fail(pos int, format string, args ...any) error {
	return &expr.Error{Input: b.text, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// bounded reads a value of the kind.
func (b builder) bounded(s string) (float64, error) {
	v, err := b.read(s)
	if err == nil && b.most > 0 && v > b.most {
		err = fmt.Errorf("more than %s", MaxLatency)
	}
	return v, err
}

// span reads low..high.
func (b builder) span(s string) (low, high float64, err error) {
	from, to, ok := strings.Cut(s, "..")
	if !ok {
		return 0, 0, fmt.Errorf("want a range such as 1..10")
	}
	if low, err = b.bounded(from); err != nil {
		return 0, 0, err
	}
	if high, err = b.bounded(to); err != nil {
		return 0, 0, err
	}
	if low > high {
		return 0, 0, fmt.Errorf("%s is above %s", from, to)
	}
	return low, high, nil
}

func (b builder) law(e expr.Expr) (law, error) {
	if !e.Call {
		v, err := b.bounded(e.Name)
		switch {
		case err != nil && slices.Contains(forms, e.Name):
			return nil, b.fail(e.Pos, "%s needs its arguments in parentheses", e.Name)
		case err != nil:
			if b.most == 0 {
				err = fmt.Errorf("neither a %s nor a distribution", b.noun)
			}
			return nil, b.fail(e.Pos, "%s: %v, %s", e.Name, err, b.wanted())
		}
		return constant(v), nil
	}
	switch e.Name {
	case "constant":
		return b.call(e, func(c *call) law { return constant(c.value("d")) }, "d")
	case "LN":
		return b.call(e, (*call).ln, "median", "sigma")
	case "lognormal":
		if slices.ContainsFunc(e.Args, func(a expr.Arg) bool { return a.Key == "" }) {
			return nil, b.fail(e.Pos, "lognormal takes its arguments by name: write %s", lognormalForm)
		}
		return b.call(e, (*call).lognormal)
	case "normal":
		return b.call(e, (*call).normal, "mean", "stddev")
	case "uniform":
		return b.call(e, (*call).uniform, "min", "max")
	case "exponential":
		return b.call(e, func(c *call) law { return exponential(c.value("mean")) }, "mean")
	case "pareto":
		return b.call(e, (*call).pareto, "least", "alpha")
	case "zipf":
		return b.call(e, (*call).zipf, "s", "n")
	case "bimodal":
		return b.call(e, (*call).bimodal, "fast", "slow", "p")
	case "empirical":
		return b.call(e, (*call).empirical, "file")
	case "slow":
		return b.call(e, (*call).slow, "base", "x", "every", "for")
	case "bins":
		return b.bins(e)
	case "mix":
		return b.mix(e)
	case "sum":
		return b.sum(e)
	}
	return nil, b.fail(e.Pos, "%s is no distribution, %s", e.Name, b.wanted())
}

func (b builder) wanted() string {
	return fmt.Sprintf("want a %s like %s, or %s", b.noun, b.literal, strings.Join(forms, ", "))
}

func (b builder) bins(e expr.Expr) (law, error) {
	m := mixture{}
	for _, a := range e.Args {
		if a.Key == "" || a.Value.Call {
			return nil, b.fail(a.Pos, "bins takes values or ranges with their weights, such as 5=80")
		}
		var l law
		if strings.Contains(a.Key, "..") {
			low, high, err := b.span(a.Key)
			if err == nil && low <= 0 {
				err = fmt.Errorf("a range begins above 0")
			}
			if err != nil {
				return nil, b.fail(a.Pos, "%s: %v", a.Key, err)
			}
			if l = law(between{low, high}); low == high {
				l = constant(low)
			}
		} else {
			v, err := b.bounded(a.Key)
			if err != nil {
				return nil, b.fail(a.Pos, "%s is not a %s: %v", a.Key, b.noun, err)
			}
			l = constant(v)
		}
		if err := b.add(&m, a.Value.Name, l, a.Pos); err != nil {
			return nil, err
		}
	}
	return b.weighted(e, m)
}

func (b builder) mix(e expr.Expr) (law, error) {
	m := mixture{}
	for _, a := range e.Args {
		if a.Key == "" {
			return nil, b.fail(a.Pos, "mix takes weights and distributions, such as 0.6=%s", b.literal)
		}
		l, err := b.law(a.Value)
		if err != nil {
			return nil, err
		}
		if err := b.add(&m, a.Key, l, a.Pos); err != nil {
			return nil, err
		}
	}
	return b.weighted(e, m)
}

func (b builder) add(m *mixture, weight string, l law, pos int) error {
	w, err := numbers.read(weight)
	if err != nil || w > 1e9 {
		return b.fail(pos, "%s is not a weight; use a number from 0 to 1e9", weight)
	}
	if n := len(m.weights); n > 0 {
		w += m.weights[n-1]
	}
	m.weights, m.parts = append(m.weights, w), append(m.parts, l)
	return nil
}

func (b builder) weighted(e expr.Expr, m mixture) (law, error) {
	if n := len(m.weights); n == 0 || m.weights[n-1] == 0 {
		return nil, b.fail(e.Pos, "%s needs a weight above 0", e.Name)
	}
	return m, nil
}

func (b builder) sum(e expr.Expr) (law, error) {
	var parts []law
	for _, a := range e.Args {
		if a.Key != "" {
			return nil, b.fail(a.Pos, "sum takes distributions by position")
		}
		l, err := b.law(a.Value)
		if err != nil {
			return nil, err
		}
		parts = append(parts, l)
	}
	if len(parts) == 0 {
		return nil, b.fail(e.Pos, "sum needs something to add")
	}
	return newSum(parts), nil
}

// call reads the arguments of one distribution. What is returned after a mistake is never
// drawn from.
type call struct {
	*expr.Reader
	builder
	err error // of a distribution inside, or of a file
}

func (b builder) call(e expr.Expr, read func(*call) law, positional ...string) (law, error) {
	c := &call{Reader: expr.Read(b.text, e, positional...), builder: b}
	l := read(c)
	if c.err != nil {
		return nil, c.err
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return l, nil
}

// value takes one of the kind that must be given.
func (c *call) value(key string) float64 {
	if !c.Has(key) {
		name := key
		if key == "d" {
			name = "the " + c.noun
		}
		c.Fail("", "%s is missing", name)
		return 1
	}
	text := c.Text(key, "")
	v, err := c.bounded(text)
	if err != nil {
		c.Fail(key, "%s: %v", text, err)
	}
	return v
}

// positive takes one above 0.
func (c *call) positive(key string) float64 {
	v := c.value(key)
	if v <= 0 {
		c.Fail(key, "%s: want more than 0", key)
	}
	return v
}

// number takes a plain one that must be given.
func (c *call) number(key string) float64 {
	if !c.Has(key) {
		c.Fail("", "%s is missing", key)
	}
	return c.Float(key, 1)
}

// nested takes an argument that is a distribution itself.
func (c *call) nested(key string) law {
	e, ok := c.Expr(key)
	if !ok {
		c.Fail("", "%s is missing", key)
		return constant(1)
	}
	l, err := c.law(e)
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return constant(1)
	}
	return l
}

func (c *call) ln() law {
	l := lognormal{c.positive("median"), c.number("sigma")}
	if !(l.sigma >= 0 && l.sigma <= maxSigma) {
		c.Fail("sigma", "sigma=%g: want 0 to %d", l.sigma, maxSigma)
	}
	return l
}

// lognormal is exp of a normal distribution: the usual shape of service times. One of p50
// and mean says where it is, one of p99 and sigma how wide.
func (c *call) lognormal() law {
	centre := "p50"
	if c.Has("mean") {
		centre = "mean"
	}
	if c.Has("p50") == c.Has("mean") || c.Has("p99") == c.Has("sigma") {
		c.Fail("", "want one of p50 and mean, and one of p99 and sigma: write %s", lognormalForm)
		return bell{}
	}
	middle, sigma := c.positive(centre), c.Float("sigma", 0)
	if c.Has("p99") {
		ratio := math.Log(c.positive("p99") / middle)
		if ratio < 0 {
			c.Fail("p99", "p99 is below the %s", centre)
		}
		sigma = ratio / z99
		if centre == "mean" {
			sigma = c.sigmaFromMean(ratio)
		}
		if sigma > maxSigma {
			c.Fail("p99", "p99 is more than %.0f times p50; use bimodal or slow for such a tail", math.Exp(z99*maxSigma))
		}
	} else if !(sigma >= 0 && sigma <= maxSigma) {
		c.Fail("sigma", "sigma=%g: want 0 to %d", sigma, maxSigma)
	}
	if centre == "mean" {
		middle *= math.Exp(-sigma * sigma / 2)
	}
	l := bell{lognormal{middle, sigma}}
	if c.most > 0 && l.mean() > c.most {
		c.Fail("", "its mean would be %.0f h, more than %s", l.mean()/3600, MaxLatency)
	}
	return l
}

// sigmaFromMean returns the sigma of a distribution, given the logarithm of p99/mean:
// mean = exp(mu+sigma²/2) and p99 = exp(mu+z·sigma) give
// sigma² − 2·z·sigma + 2·ln(p99/mean) = 0; the smaller root is the sensible one.
func (c *call) sigmaFromMean(ratio float64) float64 {
	discriminant := z99*z99 - 2*ratio
	if discriminant < 0 {
		c.Fail("p99", "no lognormal has a p99 of more than %.1f times its mean; use bimodal or slow for such a tail", math.Exp(z99*z99/2))
	}
	return z99 - math.Sqrt(max(0, discriminant))
}

// normal has a mean of at least 3 standard deviations, so that the cut at 0 moves it by less
// than 0.2 %.
func (c *call) normal() law {
	n := normal{c.positive("mean"), c.value("stddev")}
	if n.average < 3*n.deviation {
		c.Fail("stddev", "the mean must be at least 3 times stddev, or cutting at 0 would move it; lognormal has no such limit")
	}
	return n
}

func (c *call) uniform() law {
	u := uniform{0, c.value("max")}
	if c.Has("min") {
		u.least = c.value("min")
	}
	if u.least > u.most {
		c.Fail("min", "min is above max")
	}
	return u
}

func (c *call) pareto() law {
	p := pareto{c.positive("least"), c.number("alpha")}
	if !(p.alpha >= 0.1 && p.alpha <= 100) {
		c.Fail("alpha", "alpha=%g: want 0.1 to 100", p.alpha)
	}
	return p
}

func (c *call) zipf() law {
	s, n := c.number("s"), c.number("n")
	switch {
	case c.noun != numbers.noun:
		c.Fail("", "zipf draws numbers, not a %s", c.noun)
	case !(s >= 0 && s <= 10) || !(n >= 1 && n <= maxZipf) || n != math.Trunc(n):
		c.Fail("", "want an s of 0 to 10 and a whole n of 1 to %d", maxZipf)
	default:
		return newZipf(s, int(n))
	}
	return constant(1)
}

// bimodal is fast or, with probability p, slow: a cache and its misses.
func (c *call) bimodal() law {
	fast, slow := c.nested("fast"), c.nested("slow")
	if !c.Has("p") {
		c.Fail("", "p, the probability of slow, is missing")
	}
	p := c.Probability("p", 0)
	return mixture{[]float64{p, 1}, []law{slow, fast}}
}
