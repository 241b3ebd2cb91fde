package result

import (
	"cmp"
	"math"
	"slices"
)

// Growth is how what a watcher needs grows with the objects that it caches: one run of a
// ladder.
type Growth struct {
	Rungs []Rung `json:"rungs"` // by objects, then by rate
	// Memory, Peak and SyncCPU are the exponents of what the rungs of the lowest rate have
	// above the smallest of them; nil with fewer than three.
	Memory  *Slope `json:"memory,omitempty"`
	Peak    *Slope `json:"peak,omitempty"`
	SyncCPU *Slope `json:"syncCPU,omitempty"`
}

// Slope is an exponent by least squares of the logarithms: 1 is as many times more as there
// are objects.
type Slope struct {
	Exponent float64 `json:"exponent"`
	// Last is that of the two largest rungs alone.
	Last  float64 `json:"last"`
	Rungs int     `json:"rungs"` // that it is of, the smallest apart
}

// Rung is one point of a ladder: medians over its valid repetitions.
type Rung struct {
	Point    string   `json:"point"` // the id of its cells, without their repetition
	Objects  int64    `json:"objects,omitempty"`
	Valid    int      `json:"valid"`                   // repetitions
	Rate     *float64 `json:"offeredQPS,omitempty"`    // nil: as fast as the watcher reads
	QPS      *float64 `json:"qps,omitempty"`           // achieved
	Stored   *float64 `json:"storedSeconds,omitempty"` // first sync, until storage had it
	SyncCPU  *float64 `json:"storedCPUSeconds,omitempty"`
	HeldMiB  *float64 `json:"rssEndMiB,omitempty"`     // what the first list took beside is given back
	PeakMiB  *float64 `json:"rssHighestMiB,omitempty"` // since the start of the process
	FreshP50 *float64 `json:"freshnessP50Seconds,omitempty"`
	FreshP99 *float64 `json:"freshnessP99Seconds,omitempty"`
	// BytesPerObject is the memory held above the smallest rung of this rate, per object
	// more than that has.
	BytesPerObject *float64 `json:"bytesPerObject,omitempty"`
}

// MeasureGrowth sets Growth from the cells, if the scenario is a ladder.
func (r *Results) MeasureGrowth() {
	r.Growth = nil
	if ladder, _ := r.Scenario["ladder"].(bool); !ladder {
		return
	}
	g := &Growth{}
	for _, p := range r.Groups() {
		x := Rung{Point: p.Name, Objects: p.Cells[0].Load.Prefill, Valid: len(p.Valid())}
		x.measure(p)
		g.Rungs = append(g.Rungs, x)
	}
	slices.SortStableFunc(g.Rungs, func(a, b Rung) int {
		return cmp.Or(cmp.Compare(a.Objects, b.Objects), compareRates(a.Rate, b.Rate))
	})
	steady := g.steady()
	for _, rung := range steady[min(1, len(steady)):] {
		if more := steady[0].above(rung, func(x *Rung) *float64 { return x.HeldMiB }); more != nil {
			rung.BytesPerObject = new(*more * (1 << 20) / float64(rung.Objects-steady[0].Objects))
		}
	}
	g.Memory = slope(steady, func(x *Rung) *float64 { return x.HeldMiB })
	g.Peak = slope(steady, func(x *Rung) *float64 { return x.PeakMiB })
	g.SyncCPU = slope(steady, func(x *Rung) *float64 { return x.SyncCPU })
	r.Growth = g
}

// compareRates puts the unlimited rate last.
func compareRates(a, b *float64) int {
	of := func(v *float64) float64 {
		if v == nil {
			return math.Inf(1)
		}
		return *v
	}
	return cmp.Compare(of(a), of(b))
}

func (x *Rung) measure(p *Group) {
	of := p.Median
	fresh := func(at func(*Quantiles) float64) *float64 {
		return of(func(c *Cell) *float64 {
			if c.Freshness == nil || c.Cut {
				return nil
			}
			return new(at(c.Freshness))
		})
	}
	x.Rate = of(func(c *Cell) *float64 { return c.Load.OfferedQPS })
	x.QPS = of(func(c *Cell) *float64 { return &c.Load.QPS })
	x.Stored = of(func(c *Cell) *float64 { return c.Watcher.Stored })
	x.SyncCPU = of(func(c *Cell) *float64 { return c.Watcher.StoredCPU })
	x.HeldMiB = of(func(c *Cell) *float64 { return c.Watcher.RSSEndMiB })
	x.PeakMiB = of(func(c *Cell) *float64 { return c.Watcher.RSSHighestMiB })
	x.FreshP50 = fresh(func(q *Quantiles) float64 { return q.P50 })
	x.FreshP99 = fresh(func(q *Quantiles) float64 { return q.P99 })
}

// steady are the valid rungs of the lowest rate, by objects.
func (g *Growth) steady() (all []*Rung) {
	for i := range g.Rungs {
		x := &g.Rungs[i]
		if x.Valid == 0 || x.Rate == nil {
			continue
		}
		switch lowest := len(all) > 0; {
		case lowest && *x.Rate > *all[0].Rate:
			continue
		case lowest && *x.Rate < *all[0].Rate:
			all = nil
		}
		all = append(all, x)
	}
	return all
}

// above is what a rung has of something beyond this one, nil if that is not more than 0.
func (x *Rung) above(other *Rung, of func(*Rung) *float64) *float64 {
	a, b := of(x), of(other)
	if a == nil || b == nil || *b <= *a || other.Objects <= x.Objects {
		return nil
	}
	return new(*b - *a)
}

// slope is nil where fewer than two rungs have more of something than the smallest.
func slope(rungs []*Rung, of func(*Rung) *float64) *Slope {
	var xs, ys []float64
	for _, rung := range rungs {
		if more := rungs[0].above(rung, of); more != nil {
			xs = append(xs, math.Log(float64(rung.Objects-rungs[0].Objects)))
			ys = append(ys, math.Log(*more))
		}
	}
	n := len(xs)
	if n < 2 {
		return nil
	}
	var mx, my, sxx, sxy float64
	for i := range xs {
		mx, my = mx+xs[i]/float64(n), my+ys[i]/float64(n)
	}
	for i := range xs {
		sxx, sxy = sxx+(xs[i]-mx)*(xs[i]-mx), sxy+(xs[i]-mx)*(ys[i]-my)
	}
	return &Slope{Exponent: sxy / sxx, Last: (ys[n-1] - ys[n-2]) / (xs[n-1] - xs[n-2]), Rungs: n}
}
