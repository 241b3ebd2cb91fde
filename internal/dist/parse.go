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
	numbers = kind{"number", "4", "mix(0.8=5,0.2=30)", func(s string) (float64, error) {
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

const laws = "uniform, exponential, lognormal, LN, zipf, mix or slow"

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
	body, bounds, clip := text, "", false
	if i := strings.LastIndex(text, " clip "); i >= 0 {
		body, bounds, clip = text[:i], text[i+len(" clip "):], true
	}
	b := builder{text, k}
	e, err := expr.Parse(body)
	var l law
	if err == nil {
		l, err = b.law(e)
	}
	switch {
	case err != nil && k.example != "":
		return nil, fmt.Errorf("%w; write for example %s", err, k.example)
	case err != nil || !clip:
		return l, err
	}
	low, high, err := b.span(strings.TrimSpace(bounds))
	if err != nil {
		return nil, fmt.Errorf("%q: clip %s: %w; write for example clip 3..60 with units", text, bounds, err)
	}
	return clipped{l, low, high}, nil
}

type builder struct {
	text string
	kind
}

func (b builder) fail(pos int, format string, args ...any) error {
	return &expr.Error{Input: b.text, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

func (b builder) bounded(s string) (float64, error) {
	v, err := b.read(s)
	if err == nil && b.most > 0 && v > b.most {
		err = fmt.Errorf("more than %s", MaxLatency)
	}
	return v, err
}

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
		return b.word(e)
	}
	c := &call{Reader: expr.Read(b.text, e, positional[e.Name]...), builder: b}
	var l law
	switch e.Name {
	case "LN":
		l = c.lognormal("median")
	case "lognormal":
		if slices.ContainsFunc(e.Args, func(a expr.Arg) bool { return a.Key == "" }) {
			return nil, b.fail(e.Pos, "lognormal takes its arguments by name: write %s", lognormalForm)
		}
		l = c.lognormal("p50", "mean")
	case "uniform":
		l = c.uniform()
	case "exponential":
		l = exponential(c.value("mean"))
	case "zipf":
		l = c.zipf()
	case "slow":
		l = c.slow()
	case "mix":
		return b.mix(e)
	default:
		return nil, b.fail(e.Pos, "%s: unknown distribution, %s", e.Name, b.wanted())
	}
	if c.err != nil {
		return nil, c.err
	}
	return l, c.Err()
}

// positional are the arguments of each law in their order.
var positional = map[string][]string{
	"LN": {"median", "sigma"}, "uniform": {"min", "max"}, "exponential": {"mean"}, "zipf": {"s", "n"},
	"slow": {"base", "x", "every", "for"},
}

func (b builder) word(e expr.Expr) (law, error) {
	if strings.Contains(e.Name, "..") {
		low, high, err := b.span(e.Name)
		switch {
		case err != nil:
			return nil, b.fail(e.Pos, "%s: %v", e.Name, err)
		case low <= 0:
			return nil, b.fail(e.Pos, "%s: a range begins above 0", e.Name)
		case low == high:
			return constant(low), nil
		}
		return between{low, high}, nil
	}
	v, err := b.bounded(e.Name)
	if err != nil {
		return nil, b.fail(e.Pos, "%s: %v, %s", e.Name, err, b.wanted())
	}
	return constant(v), nil
}

func (b builder) wanted() string {
	return fmt.Sprintf("want a %s like %s, or %s", b.noun, b.literal, laws)
}

func (b builder) mix(e expr.Expr) (law, error) {
	m, sum := mixture{}, 0.0
	for _, a := range e.Args {
		w, err := numbers.read(a.Key)
		if err != nil || w > 1e9 {
			return nil, b.fail(a.Pos, "mix takes weights from 0 to 1e9 and distributions, such as 0.6=%s", b.literal)
		}
		l, err := b.law(a.Value)
		if err != nil {
			return nil, err
		}
		sum += w
		m.weights, m.parts = append(m.weights, sum), append(m.parts, l)
	}
	if sum == 0 {
		return nil, b.fail(e.Pos, "mix needs a weight above 0")
	}
	return m, nil
}

// call reads the arguments of one distribution. What is returned after a mistake is never drawn from.
type call struct {
	*expr.Reader
	builder
	err error // of a distribution inside
}

func (c *call) value(key string) float64 {
	if !c.Has(key) {
		c.Fail("", "%s is missing", key)
		return 1
	}
	text := c.Text(key, "")
	v, err := c.bounded(text)
	if err != nil {
		c.Fail(key, "%s: %v", text, err)
	}
	return v
}

func (c *call) positive(key string) float64 {
	v := c.value(key)
	if v <= 0 {
		c.Fail(key, "%s: want more than 0", key)
	}
	return v
}

// lognormal takes one of the centres, which says where it is, and one of p99 and sigma: how wide.
func (c *call) lognormal(centres ...string) law {
	centres = slices.DeleteFunc(centres, func(key string) bool { return !c.Has(key) })
	if len(centres) != 1 || c.Has("p99") == c.Has("sigma") {
		c.Fail("", "want one of p50 and mean, and one of p99 and sigma: write %s", lognormalForm)
		return constant(1)
	}
	centre := centres[0]
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
			c.Fail("p99", "p99 is more than %.0f times p50; use mix or slow for such a tail", math.Exp(z99*maxSigma))
		}
	} else if !(sigma >= 0 && sigma <= maxSigma) {
		c.Fail("sigma", "sigma=%g: want 0 to %d", sigma, maxSigma)
	}
	if centre == "mean" {
		middle *= math.Exp(-sigma * sigma / 2)
	}
	l := lognormal{middle, sigma}
	if c.most > 0 && l.mean() > c.most {
		c.Fail("", "its mean would be %.0f h, more than %s", l.mean()/3600, MaxLatency)
	}
	return l
}

// sigmaFromMean returns the sigma of a distribution, given the logarithm of p99/mean: mean = exp(mu+sigma²/2) and p99 =
// exp(mu+z·sigma) give sigma² − 2·z·sigma + 2·ln(p99/mean) = 0; the smaller root is the sensible one.
func (c *call) sigmaFromMean(ratio float64) float64 {
	discriminant := z99*z99 - 2*ratio
	if discriminant < 0 {
		c.Fail("p99", "no lognormal has a p99 of more than %.1f times its mean; use mix or slow for such a tail",
			math.Exp(z99*z99/2))
	}
	return z99 - math.Sqrt(max(0, discriminant))
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

func (c *call) zipf() law {
	s, n := c.Float("s", -1), c.Float("n", -1)
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

func (c *call) slow() law {
	if c.most == 0 {
		c.Fail("", "slow is for latencies only")
		return constant(1)
	}
	base, x := law(constant(1)), c.Float("x", 10)
	if e, ok := c.Expr("base"); !ok {
		c.Fail("", "base is missing")
	} else if base, c.err = c.law(e); c.err != nil {
		return nil
	}
	p := &periods{base: base, x: x, every: nanoseconds(c.positive("every")), slow: nanoseconds(c.positive("for"))}
	if x < 1 {
		c.Fail("x", "x=%g: a slow period takes at least 1 times as long", x)
	}
	if p.slow >= p.every {
		c.Fail("for", "for=%s must be shorter than every=%s", p.slow, p.every)
	}
	return p
}
