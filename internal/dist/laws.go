package dist

import (
	"math"
	"math/rand/v2"
	"sort"
)

type constant float64

func (c constant) quantile(float64) float64  { return float64(c) }
func (c constant) draw(r *rand.Rand) float64 { return float64(c) }
func (c constant) mean() float64             { return float64(c) }

type lognormal struct{ median, sigma float64 }

func (l lognormal) quantile(u float64) float64 {
	return l.median * math.Exp(l.sigma*math.Sqrt2*math.Erfinv(2*max(u, 1e-12)-1))
}
func (l lognormal) draw(r *rand.Rand) float64 { return l.quantile(r.Float64()) }
func (l lognormal) mean() float64             { return l.median * math.Exp(l.sigma*l.sigma/2) }

type uniform struct{ least, most float64 }

func (d uniform) quantile(u float64) float64 { return d.least + u*(d.most-d.least) }
func (d uniform) draw(r *rand.Rand) float64  { return d.quantile(r.Float64()) }
func (d uniform) mean() float64              { return (d.least + d.most) / 2 }

type exponential float64

func (m exponential) quantile(u float64) float64 { return -float64(m) * math.Log1p(-u) }
func (m exponential) draw(r *rand.Rand) float64  { return m.quantile(r.Float64()) }
func (m exponential) mean() float64              { return float64(m) }

type pareto struct{ least, alpha float64 }

func (p pareto) quantile(u float64) float64 { return p.least * math.Pow(1-u, -1/p.alpha) }
func (p pareto) draw(r *rand.Rand) float64  { return p.quantile(r.Float64()) }
func (p pareto) mean() float64 {
	if p.alpha <= 1 {
		return math.Inf(1)
	}
	return p.least * p.alpha / (p.alpha - 1)
}

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
func (z zipf) draw(r *rand.Rand) float64 { return z.quantile(r.Float64()) }
func (z zipf) mean() (m float64) {
	before := 0.0
	for k, sum := range z {
		m += float64(k+1) * (sum - before)
		before = sum
	}
	return m / z[len(z)-1]
}

// between is log-uniform, or constant where the two are alike.
type between struct{ low, high float64 }

func (b between) quantile(u float64) float64 { return b.low * math.Pow(b.high/b.low, u) }
func (b between) draw(r *rand.Rand) float64  { return b.quantile(r.Float64()) }
func (b between) mean() float64              { return (b.high - b.low) / math.Log(b.high/b.low) }

// mixture draws from one of several, by weights that are summed up.
type mixture struct {
	weights []float64
	parts   []law
}

func (m mixture) draw(r *rand.Rand) float64 {
	at := r.Float64() * m.weights[len(m.weights)-1]
	// The first whose sum is above: one without weight is never drawn from.
	i := sort.Search(len(m.weights)-1, func(i int) bool { return m.weights[i] > at })
	return m.parts[i].draw(r)
}

func (m mixture) mean() (sum float64) {
	before := 0.0
	for i, p := range m.parts {
		if w := m.weights[i] - before; w > 0 {
			sum += w * p.mean()
		}
		before = m.weights[i]
	}
	return sum / before
}

type sum []law

func (s sum) draw(r *rand.Rand) (total float64) {
	for _, p := range s {
		total += p.draw(r)
	}
	return total
}

func (s sum) mean() (total float64) {
	for _, p := range s {
		total += p.mean()
	}
	return total
}

type clipped struct {
	of        law
	low, high float64
	average   float64
}

func newClipped(of law, low, high float64) clipped {
	c := clipped{of: of, low: low, high: high}
	const points = 20_000
	r := rand.New(rand.NewPCG(1, 1))
	q, ok := of.(quantiler)
	total := 0.0
	for i := range points {
		if ok {
			total += c.clip(q.quantile((float64(i) + 0.5) / points))
		} else {
			total += c.draw(r)
		}
	}
	c.average = total / points
	return c
}

func (c clipped) clip(v float64) float64    { return min(max(v, c.low), c.high) }
func (c clipped) draw(r *rand.Rand) float64 { return c.clip(c.of.draw(r)) }
func (c clipped) mean() float64             { return c.average }
