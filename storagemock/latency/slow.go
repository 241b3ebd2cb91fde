package latency

import (
	"math/rand/v2"
	"time"
)

// periods are the slow and the normal ones of a distribution. They are common to all
// requests, which is what makes slowness correlated.
type periods struct {
	normal, slow time.Duration // mean lengths
	fixed        bool          // regular instead of exponentially distributed

	isSlow bool
	until  time.Time // end of the current period; zero before the first sample
}

// slow multiplies a distribution by x during slow periods.
func slow(a *arguments) distribution {
	base, x := a.nested("base"), a.Float("x", 10)
	every, length := a.positive("every"), a.positive("for")
	p := &periods{normal: every - length, slow: length, fixed: a.Bool("fixed", false)}
	if x < 1 {
		a.Fail("x", "x=%g: a slow period takes at least 1 times as long", x)
	}
	if length >= every {
		a.Fail("for", "for=%s must be shorter than every=%s", length, every)
	}
	share := float64(length) / float64(every)
	mean := toDuration(float64(base.mean) * (1 + share*(x-1)))
	return distribution{mean, func(r random, now time.Time) time.Duration {
		isSlow := p.at(r.periods, now)
		d := base.sample(r, now)
		if isSlow {
			d = toDuration(float64(d) * x)
		}
		return d
	}, func(ns float64) float64 { return (1-share)*base.share(ns) + share*base.share(ns/x) }}
}

// at reports whether now is in a slow period.
func (p *periods) at(r *rand.Rand, now time.Time) bool {
	if p.until.IsZero() {
		p.until = now.Add(p.length(r))
	}
	for !now.Before(p.until) {
		p.isSlow = !p.isSlow
		p.until = p.until.Add(p.length(r))
	}
	return p.isSlow
}

// length draws the length of the current period; never 0, so that the walk above ends.
func (p *periods) length(r *rand.Rand) time.Duration {
	mean := p.normal
	if p.isSlow {
		mean = p.slow
	}
	if p.fixed {
		return mean
	}
	return max(toDuration(r.ExpFloat64()*float64(mean)), time.Microsecond)
}
