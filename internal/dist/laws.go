package dist

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"
)

// law is one distribution over numbers from 0: seconds, bytes, or plain.
type law interface {
	draw(Source) float64
	mean() float64
	share(v float64) float64 // of draws of at most v; outside of 0 to 1 where v is out of range
}

// Source is the randomness that a law draws from; Now lets slow periods come and go.
type Source struct {
	*rand.Rand
	Now time.Time
}

type constant float64

func (c constant) draw(Source) float64 { return float64(c) }
func (c constant) mean() float64       { return float64(c) }
func (c constant) share(v float64) float64 {
	if v < float64(c)*(1-1e-12) { // both may be rounded
		return 0
	}
	return 1
}

type lognormal struct{ median, sigma float64 }

func (l lognormal) draw(s Source) float64 { return l.median * math.Exp(l.sigma*s.NormFloat64()) }
func (l lognormal) mean() float64         { return l.median * math.Exp(l.sigma*l.sigma/2) }
func (l lognormal) share(v float64) float64 {
	if l.sigma == 0 {
		return constant(l.median).share(v)
	}
	return math.Erfc(-math.Log(v/l.median)/l.sigma/math.Sqrt2) / 2
}

type uniform struct{ least, most float64 }

func (d uniform) draw(s Source) float64 { return d.least + s.Float64()*(d.most-d.least) }
func (d uniform) mean() float64         { return (d.least + d.most) / 2 }
func (d uniform) share(v float64) float64 {
	if d.least == d.most {
		return constant(d.least).share(v)
	}
	return (v - d.least) / (d.most - d.least)
}

type exponential float64

func (m exponential) draw(s Source) float64 { return float64(m) * s.ExpFloat64() }
func (m exponential) mean() float64         { return float64(m) }
func (m exponential) share(v float64) float64 {
	if m == 0 {
		return 1
	}
	return -math.Expm1(-v / float64(m))
}

// between is log-uniform; low is less than high.
type between struct{ low, high float64 }

func (b between) draw(s Source) float64   { return b.low * math.Pow(b.high/b.low, s.Float64()) }
func (b between) mean() float64           { return (b.high - b.low) / math.Log(b.high/b.low) }
func (b between) share(v float64) float64 { return math.Log(v/b.low) / math.Log(b.high/b.low) }

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

func (z zipf) draw(s Source) float64 {
	return float64(min(sort.SearchFloat64s(z, s.Float64()*z[len(z)-1]), len(z)-1) + 1)
}
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

type clipped struct {
	of        law
	low, high float64
}

func (c clipped) draw(s Source) float64 { return min(max(c.of.draw(s), c.low), c.high) }

// mean adds up the share of draws above each value, at points that lie the closer the smaller the value is.
func (c clipped) mean() float64 {
	const points = 1000
	m, before := c.low, c.low
	for i := 1; i <= points; i++ {
		at := c.low + (c.high-c.low)*math.Pow(float64(i)/points, 4)
		m += (at - before) * (1 - min(max(0, c.of.share((at+before)/2)), 1))
		before = at
	}
	return m
}

func (c clipped) share(v float64) float64 {
	switch {
	case v < c.low:
		return 0
	case v >= c.high:
		return 1
	}
	return c.of.share(v)
}

// periods are normal, then slow. They are common to all draws, so that slowness is correlated.
type periods struct {
	base        law
	x           float64 // how many times longer a slow one takes
	every, slow time.Duration
	since       time.Time // the first draw
}

func (p *periods) part() float64 { return float64(p.slow) / float64(p.every) }
func (p *periods) mean() float64 { return p.base.mean() * (1 + p.part()*(p.x-1)) }

func (p *periods) share(v float64) float64 {
	return (1-p.part())*p.base.share(v) + p.part()*p.base.share(v/p.x)
}

func (p *periods) draw(s Source) float64 {
	if p.since.IsZero() {
		p.since = s.Now
	}
	v := p.base.draw(s)
	if s.Now.Sub(p.since)%p.every >= p.every-p.slow {
		v *= p.x
	}
	return v
}
