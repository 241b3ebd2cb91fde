package dist

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
)

type constant float64

func (c constant) quantile(float64) float64 { return float64(c) }
func (c constant) draw(Source) float64      { return float64(c) }
func (c constant) mean() float64            { return float64(c) }
func (c constant) share(v float64) float64 {
	if v < float64(c)*(1-1e-12) { // both may be rounded
		return 0
	}
	return 1
}

type lognormal struct{ median, sigma float64 }

func (l lognormal) quantile(u float64) float64 {
	return l.median * math.Exp(l.sigma*math.Sqrt2*math.Erfinv(2*max(u, 1e-12)-1))
}
func (l lognormal) draw(s Source) float64 { return l.quantile(s.Float64()) }
func (l lognormal) mean() float64         { return l.median * math.Exp(l.sigma*l.sigma/2) }
func (l lognormal) share(v float64) float64 {
	if l.sigma == 0 {
		return constant(l.median).share(v)
	}
	return standardNormal(math.Log(v/l.median) / l.sigma)
}

// standardNormal is the share of a standard normal distribution up to z.
func standardNormal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// bell is a lognormal that is drawn from by normal draws, as latencies always were.
type bell struct{ lognormal }

func (b bell) draw(s Source) float64 { return b.median * math.Exp(b.sigma*s.NormFloat64()) }

// normal is cut at 0.
type normal struct{ average, deviation float64 }

func (n normal) draw(s Source) float64 {
	for {
		if v := n.average + s.NormFloat64()*n.deviation; v >= 0 {
			return v
		}
	}
}
func (n normal) mean() float64 { return n.average }
func (n normal) share(v float64) float64 {
	if n.deviation == 0 {
		return constant(n.average).share(v)
	}
	return standardNormal((v - n.average) / n.deviation)
}

type uniform struct{ least, most float64 }

func (d uniform) quantile(u float64) float64 { return d.least + u*(d.most-d.least) }
func (d uniform) draw(s Source) float64      { return d.quantile(s.Float64()) }
func (d uniform) mean() float64              { return (d.least + d.most) / 2 }
func (d uniform) share(v float64) float64 {
	if d.least == d.most {
		return constant(d.least).share(v)
	}
	return (v - d.least) / (d.most - d.least)
}

type exponential float64

func (m exponential) quantile(u float64) float64 { return -float64(m) * math.Log1p(-u) }
func (m exponential) draw(s Source) float64      { return m.quantile(s.Float64()) }
func (m exponential) mean() float64              { return float64(m) }
func (m exponential) share(v float64) float64 {
	if m == 0 {
		return 1
	}
	return -math.Expm1(-v / float64(m))
}

type pareto struct{ least, alpha float64 }

func (p pareto) quantile(u float64) float64 { return p.least * math.Pow(1-u, -1/p.alpha) }
func (p pareto) draw(s Source) float64      { return p.quantile(s.Float64()) }
func (p pareto) mean() float64 {
	if p.alpha <= 1 {
		return math.Inf(1)
	}
	return p.least * p.alpha / (p.alpha - 1)
}
func (p pareto) share(v float64) float64 { return 1 - math.Pow(p.least/v, p.alpha) }

// zipf holds the weights of 1, 2, …, summed up.
type zipf []float64

func newZipf(s float64, n int) zipf {
	z := make(zipf, n)
	sum := 0.0
	for k := range z {
		sum += math.Pow(float64(k+1), -s)
		z[k] = sum
	}
	return z
}

func (z zipf) quantile(u float64) float64 {
	return float64(min(sort.SearchFloat64s(z, u*z[len(z)-1]), len(z)-1) + 1)
}
func (z zipf) draw(s Source) float64 { return z.quantile(s.Float64()) }
func (z zipf) mean() (m float64) {
	before := 0.0
	for k, sum := range z {
		m += float64(k+1) * (sum - before)
		before = sum
	}
	return m / z[len(z)-1]
}
func (z zipf) share(v float64) float64 {
	if v < 1 {
		return 0
	}
	return z[min(int(v), len(z))-1] / z[len(z)-1]
}

// between is log-uniform, or constant where the two are alike.
type between struct{ low, high float64 }

func (b between) quantile(u float64) float64 { return b.low * math.Pow(b.high/b.low, u) }
func (b between) draw(s Source) float64      { return b.quantile(s.Float64()) }
func (b between) mean() float64              { return (b.high - b.low) / math.Log(b.high/b.low) }
func (b between) share(v float64) float64    { return math.Log(v/b.low) / math.Log(b.high/b.low) }

// mixture draws from one of several, by weights that are summed up.
type mixture struct {
	weights []float64
	parts   []law
}

func (m mixture) draw(s Source) float64 {
	at := s.Float64() * m.weights[len(m.weights)-1]
	// The first whose sum is above: one without weight is never drawn from.
	i := sort.Search(len(m.weights)-1, func(i int) bool { return m.weights[i] > at })
	return m.parts[i].draw(s)
}

func (m mixture) mean() float64 { return m.weighted(law.mean) }

func (m mixture) share(v float64) float64 {
	return m.weighted(func(l law) float64 { return min(max(0, l.share(v)), 1) })
}

func (m mixture) weighted(of func(law) float64) (sum float64) {
	before := 0.0
	for i, p := range m.parts {
		if w := m.weights[i] - before; w > 0 {
			sum += w * of(p)
		}
		before = m.weights[i]
	}
	return sum / before
}

// sum adds up one draw of each; its shares are those of many draws.
type sum struct {
	parts []law
	drawn func() []float64
}

func newSum(parts []law) sum {
	s := sum{parts: parts}
	s.drawn = sync.OnceValue(func() []float64 {
		all, from := make([]float64, points), sampled()
		for i := range all {
			all[i] = s.draw(from)
		}
		slices.Sort(all)
		return all
	})
	return s
}

func (s sum) draw(from Source) (total float64) {
	for _, p := range s.parts {
		total += p.draw(from)
	}
	return total
}

func (s sum) mean() (total float64) {
	for _, p := range s.parts {
		total += p.mean()
	}
	return total
}

func (s sum) share(v float64) float64 { return shareOf(s.drawn(), v) }

// shareOf is the part of sorted values of at most v.
func shareOf(sorted []float64, v float64) float64 {
	n, _ := slices.BinarySearch(sorted, v*(1+1e-12)) // both may be rounded
	return float64(n) / float64(len(sorted))
}

// points is how many draws stand for a law without a closed form.
const points = 20_000

// sampled is the source of those.
func sampled() Source {
	r := rand.New(rand.NewPCG(1, 1))
	return Source{Rand: r, Periods: r}
}

type clipped struct {
	of        law
	low, high float64
	average   float64
}

func newClipped(of law, low, high float64) clipped {
	c := clipped{of: of, low: low, high: high}
	from := sampled()
	q, ok := of.(quantiler)
	total := 0.0
	for i := range points {
		if ok {
			total += c.clip(q.quantile((float64(i) + 0.5) / points))
		} else {
			total += c.draw(from)
		}
	}
	c.average = total / points
	return c
}

func (c clipped) clip(v float64) float64 { return min(max(v, c.low), c.high) }
func (c clipped) draw(s Source) float64  { return c.clip(c.of.draw(s)) }
func (c clipped) mean() float64          { return c.average }
func (c clipped) share(v float64) float64 {
	switch {
	case v < c.low:
		return 0
	case v >= c.high:
		return 1
	}
	return c.of.share(v)
}
