package latency

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/expr"
)

// maxEmpirical bounds the values read from one file.
const maxEmpirical = 1 << 20

// Parse reads one distribution.
func Parse(text string) (Distribution, error) {
	e, err := expr.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("latency %w", err)
	}
	d, err := build(text, e)
	if err != nil {
		return nil, fmt.Errorf("latency %w", err)
	}
	return d, nil
}

// builders is filled in init because some of them build their arguments.
var builders map[string]func(in string, e expr.Expr) (Distribution, error)

const known = "constant, uniform, normal, lognormal, exponential, bimodal, empirical or slow"

func init() {
	builders = map[string]func(string, expr.Expr) (Distribution, error){
		"constant":    buildConstant,
		"uniform":     buildUniform,
		"normal":      buildNormal,
		"lognormal":   buildLognormal,
		"exponential": buildExponential,
		"bimodal":     buildBimodal,
		"empirical":   buildEmpirical,
		"slow":        buildSlow,
	}
}

func build(in string, e expr.Expr) (Distribution, error) {
	fail := func(format string, args ...any) error {
		return &expr.Error{Input: in, Pos: e.Pos, Msg: fmt.Sprintf(format, args...)}
	}
	if e.Call {
		f, ok := builders[e.Name]
		if !ok {
			return nil, fail("%s is no distribution; want a duration like 87ms, or %s", e.Name, known)
		}
		return f(in, e)
	}
	if _, ok := builders[e.Name]; ok {
		return nil, fail("%s needs its arguments in parentheses", e.Name)
	}
	d, err := expr.ParseDuration(e.Name)
	if err != nil {
		return nil, fail("%s: %v, or a distribution: %s", e.Name, err, known)
	}
	if d > maxDuration {
		return nil, fail("%s is more than %s", d, maxDuration)
	}
	return Constant(d), nil
}

// positive takes a duration that must be given, above 0 and at most maxDuration.
func positive(r *expr.Reader, key string) time.Duration {
	if !r.Has(key) {
		r.Fail("", "%s is missing", key)
		return 1
	}
	d := r.Duration(key, 0)
	if d <= 0 || d > maxDuration {
		r.Fail(key, "%s=%s: want more than 0 and at most %s", key, d, maxDuration)
	}
	return d
}

func buildConstant(in string, e expr.Expr) (Distribution, error) {
	r := expr.Read(in, e, "d")
	if !r.Has("d") {
		r.Fail("", "the duration is missing")
	}
	d := r.Duration("d", 0)
	if d > maxDuration {
		r.Fail("d", "%s is more than %s", d, maxDuration)
	}
	return Constant(d), r.Err()
}

func buildUniform(in string, e expr.Expr) (Distribution, error) {
	r := expr.Read(in, e, "min", "max")
	u := &Uniform{Min: r.Duration("min", 0), Max: positive(r, "max")}
	if u.Min > u.Max {
		r.Fail("min", "min=%s is above max=%s", u.Min, u.Max)
	}
	return u, r.Err()
}

func buildNormal(in string, e expr.Expr) (Distribution, error) {
	r := expr.Read(in, e, "mean", "stddev")
	n := &Normal{MeanTime: positive(r, "mean"), StdDev: r.Duration("stddev", 0)}
	if !r.Has("stddev") {
		r.Fail("", "stddev is missing")
	}
	if n.MeanTime < 3*n.StdDev {
		r.Fail("stddev", "the mean must be at least 3 times stddev, or cutting at 0 would move it; lognormal has no such limit")
	}
	return n, r.Err()
}

// defaultSigma is a lognormal's spread when none is given: p99 is then 1.26
// times the mean, as measured on a healthy storage.
const defaultSigma = 0.1

func buildLognormal(in string, e expr.Expr) (Distribution, error) {
	r := expr.Read(in, e, "mean", "p99")
	l := &Lognormal{sigma: defaultSigma}
	centre := "mean"
	if r.Has("median") {
		centre = "median"
		if r.Has("mean") {
			r.Fail("median", "mean and median exclude each other")
		}
	}
	c := float64(positive(r, centre))
	if r.Has("sigma") {
		l.sigma = r.Float("sigma", 0)
		if l.sigma < 0 || l.sigma > 5 {
			r.Fail("sigma", "sigma=%g: want 0 to 5", l.sigma)
		}
		if r.Has("p99") {
			r.Fail("p99", "p99 and sigma exclude each other")
		}
	}
	l.mu = math.Log(c) - l.sigma*l.sigma/2
	if centre == "median" {
		l.mu = math.Log(c)
	}
	if r.Has("p99") {
		p99 := float64(positive(r, "p99"))
		var err error
		if centre == "median" {
			if l.sigma = (math.Log(p99) - l.mu) / z99; l.sigma < 0 {
				r.Fail("p99", "p99 is below the median")
			}
		} else if l.mu, l.sigma, err = lognormalFromMean(c, p99); err != nil {
			r.Fail("p99", "%v", err)
		}
	}
	l.text = fmt.Sprintf("lognormal(%s=%s,sigma=%s)", centre, time.Duration(c), num(l.sigma))
	return l, r.Err("median", "sigma")
}

func buildExponential(in string, e expr.Expr) (Distribution, error) {
	r := expr.Read(in, e, "mean")
	return &Exponential{MeanTime: positive(r, "mean")}, r.Err()
}

// nested builds an argument that is a distribution itself.
func nested(in string, r *expr.Reader, key string) (Distribution, error) {
	e, ok := r.Expr(key)
	if !ok {
		r.Fail("", "%s is missing", key)
		return Constant(0), nil
	}
	return build(in, e)
}

func buildBimodal(in string, e expr.Expr) (Distribution, error) {
	r := expr.Read(in, e, "fast", "slow", "p")
	fast, err := nested(in, r, "fast")
	if err != nil {
		return nil, err
	}
	slow, err := nested(in, r, "slow")
	if err != nil {
		return nil, err
	}
	if !r.Has("p") {
		r.Fail("", "p, the probability of slow, is missing")
	}
	return &Bimodal{Fast: fast, Slow: slow, P: r.Probability("p", 0)}, r.Err()
}

func buildSlow(in string, e expr.Expr) (Distribution, error) {
	r := expr.Read(in, e, "base", "x", "every", "for")
	base, err := nested(in, r, "base")
	if err != nil {
		return nil, err
	}
	s := &Slow{Base: base, X: r.Float("x", 10), Every: positive(r, "every"), For: positive(r, "for")}
	switch fixed := r.Text("fixed", "false"); fixed {
	case "true", "false":
		s.Fixed = fixed == "true"
	default:
		r.Fail("fixed", "fixed=%s: want true or false", fixed)
	}
	if s.X < 1 {
		r.Fail("x", "x=%g: a slow period takes at least 1 times as long", s.X)
	}
	if s.For >= s.Every {
		r.Fail("for", "for=%s must be shorter than every=%s", s.For, s.Every)
	}
	return s, r.Err("fixed")
}

func buildEmpirical(in string, e expr.Expr) (Distribution, error) {
	r := expr.Read(in, e, "file")
	file := r.Text("file", "")
	if file == "" {
		r.Fail("", "file is missing")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%q: reading the measured values: %w", in, err)
	}
	values, err := ParseEmpirical(b)
	if err != nil {
		return nil, fmt.Errorf("%q: %s: %w", in, file, err)
	}
	return newEmpirical(file, values), nil
}

// ParseEmpirical reads one duration per line; a bare number is in milliseconds.
// Blank lines and what follows a # do not count.
func ParseEmpirical(b []byte) ([]time.Duration, error) {
	var values []time.Duration
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if ms, ferr := strconv.ParseFloat(text, 64); ferr == nil {
			d, err = time.Duration(ms*float64(time.Millisecond)), nil
			if !(ms >= 0 && ms <= float64(maxDuration/time.Millisecond)) {
				d = -1
			}
		}
		if err != nil || d < 0 || d > maxDuration {
			return nil, fmt.Errorf("line %d: %q is no duration between 0 and %s; write 87ms, or 87 for milliseconds", n, text, maxDuration)
		}
		if values = append(values, d); len(values) > maxEmpirical {
			return nil, fmt.Errorf("line %d: more than %d values; draw a sample first", n, maxEmpirical)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no values; want one duration per line")
	}
	return values, nil
}
