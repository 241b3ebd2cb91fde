package dist

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/expr"
	"github.com/watchbench/watchbench/internal/units"
)

// kind is what the values of a distribution are.
type kind struct {
	noun, example string
	read          func(string) (float64, error)
}

var (
	durations = kind{"duration", "LN(1s,0.5)", func(s string) (float64, error) {
		d, err := expr.ParseDuration(s)
		return d.Seconds(), err
	}}
	sizes = kind{"size", "LN(12KB,0.5)", func(s string) (float64, error) {
		n, err := units.ParseSize(s)
		return float64(n), err
	}}
	numbers = kind{"number", "bins(5=80,30=15)", func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= 0 && v <= most) {
			return 0, fmt.Errorf("want a number from 0")
		}
		return v, nil
	}}
)

const (
	forms = "LN, uniform, exponential, pareto, zipf, bins, mix or sum"
	// maxSigma keeps a mean within 270,000 times the median.
	maxSigma = 5
	maxZipf  = 10_000
	maxText  = 1 << 10
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
	e, err := expr.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("%w; write for example %s", err, k.example)
	}
	b := builder{text, k}
	l, err := b.law(e)
	if err != nil {
		return nil, fmt.Errorf("%w; write for example %s", err, k.example)
	}
	if !clip {
		return l, nil
	}
	low, high, err := b.span(strings.TrimSpace(bounds))
	if err != nil {
		return nil, fmt.Errorf("%q: clip %s: %w; write for example %s clip %s", text, bounds, err, k.example, "3..60 with units")
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

// span reads low..high.
func (b builder) span(s string) (low, high float64, err error) {
	from, to, ok := strings.Cut(s, "..")
	if !ok {
		return 0, 0, fmt.Errorf("want a range such as 1..10")
	}
	if low, err = b.read(from); err != nil {
		return 0, 0, err
	}
	if high, err = b.read(to); err != nil {
		return 0, 0, err
	}
	if low > high {
		return 0, 0, fmt.Errorf("%s is above %s", from, to)
	}
	return low, high, nil
}

func (b builder) law(e expr.Expr) (law, error) {
	if !e.Call {
		v, err := b.read(e.Name)
		if err != nil {
			return nil, b.fail(e.Pos, "%s is neither a %s nor a distribution (%s)", e.Name, b.noun, forms)
		}
		return constant(v), nil
	}
	switch e.Name {
	case "LN":
		median, sigma, err := b.two(e, "median", "sigma", b.read, plain)
		if err == nil && (median <= 0 || sigma > maxSigma) {
			err = b.fail(e.Pos, "want a median above 0 and a sigma of 0 to %d", maxSigma)
		}
		return lognormal{median, sigma}, err
	case "uniform":
		least, most, err := b.two(e, "least", "most", b.read, b.read)
		if err == nil && least > most {
			err = b.fail(e.Pos, "the least is above the most")
		}
		return uniform{least, most}, err
	case "exponential":
		if len(e.Args) != 1 || e.Args[0].Key != "" || e.Args[0].Value.Call {
			return nil, b.fail(e.Pos, "exponential takes its mean")
		}
		mean, err := b.read(e.Args[0].Value.Name)
		if err != nil {
			return nil, b.fail(e.Args[0].Pos, "%v", err)
		}
		return exponential(mean), nil
	case "pareto":
		least, alpha, err := b.two(e, "least", "alpha", b.read, plain)
		if err == nil && (least <= 0 || alpha < 0.1 || alpha > 100) {
			err = b.fail(e.Pos, "want a least value above 0 and an alpha of 0.1 to 100")
		}
		return pareto{least, alpha}, err
	case "zipf":
		return b.zipf(e)
	case "bins":
		return b.bins(e)
	case "mix":
		return b.mix(e)
	case "sum":
		return b.sum(e)
	}
	return nil, b.fail(e.Pos, "%s is no distribution; it can be %s", e.Name, forms)
}

func plain(s string) (float64, error) { return numbers.read(s) }

// two reads the two values of a call.
func (b builder) two(e expr.Expr, first, second string, readers ...func(string) (float64, error)) (float64, float64, error) {
	var v [2]float64
	if len(e.Args) != 2 {
		return 0, 0, b.fail(e.Pos, "%s takes two values: %s, %s", e.Name, first, second)
	}
	for i, a := range e.Args {
		if a.Key != "" || a.Value.Call {
			return 0, 0, b.fail(a.Pos, "%s takes two values by position: %s, %s", e.Name, first, second)
		}
		var err error
		if v[i], err = readers[i](a.Value.Name); err != nil {
			return 0, 0, b.fail(a.Pos, "%s: %v", a.Value.Name, err)
		}
	}
	return v[0], v[1], nil
}

func (b builder) zipf(e expr.Expr) (law, error) {
	if b.noun != numbers.noun {
		return nil, b.fail(e.Pos, "zipf draws numbers, not a %s", b.noun)
	}
	s, n, err := b.two(e, "s", "n", plain, plain)
	if err == nil && (s > 10 || n < 1 || n > maxZipf || n != math.Trunc(n)) {
		err = b.fail(e.Pos, "want an s of 0 to 10 and a whole n of 1 to %d", maxZipf)
	}
	if err != nil {
		return nil, err
	}
	return newZipf(s, int(n)), nil
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
			l = between{low, high}
			if low == high {
				l = constant(low)
			}
		} else {
			v, err := b.read(a.Key)
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
			return nil, b.fail(a.Pos, "mix takes weights and distributions, such as 0.6=%s", b.example)
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
	w, err := plain(weight)
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
	var s sum
	for _, a := range e.Args {
		if a.Key != "" {
			return nil, b.fail(a.Pos, "sum takes distributions by position")
		}
		l, err := b.law(a.Value)
		if err != nil {
			return nil, err
		}
		s = append(s, l)
	}
	if len(s) == 0 {
		return nil, b.fail(e.Pos, "sum needs something to add")
	}
	return s, nil
}
