package latency

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// Distribution draws service times. Sample may keep state and is called by one
// goroutine at a time; now lets slow periods come and go.
type Distribution interface {
	Sample(r *rand.Rand, now time.Time) time.Duration
	// Mean is the expected value of Sample over a long time.
	Mean() time.Duration
	// String is the distribution in the grammar, so that parsing it again gives an
	// equal one.
	String() string
}

var (
	_ Distribution = Constant(0)
	_ Distribution = (*Uniform)(nil)
	_ Distribution = (*Normal)(nil)
	_ Distribution = (*Lognormal)(nil)
	_ Distribution = (*Exponential)(nil)
	_ Distribution = (*Bimodal)(nil)
	_ Distribution = (*Empirical)(nil)
	_ Distribution = (*Slow)(nil)
)

// Constant is always the same.
type Constant time.Duration

// Sample returns the constant.
func (c Constant) Sample(*rand.Rand, time.Time) time.Duration { return time.Duration(c) }

// Mean returns the constant.
func (c Constant) Mean() time.Duration { return time.Duration(c) }

func (c Constant) String() string { return time.Duration(c).String() }

// Uniform draws from [Min, Max].
type Uniform struct{ Min, Max time.Duration }

// Sample draws one.
func (u *Uniform) Sample(r *rand.Rand, _ time.Time) time.Duration {
	return u.Min + time.Duration(r.Int64N(int64(u.Max-u.Min)+1))
}

// Mean is the middle.
func (u *Uniform) Mean() time.Duration { return u.Min + (u.Max-u.Min)/2 }

func (u *Uniform) String() string { return fmt.Sprintf("uniform(min=%s,max=%s)", u.Min, u.Max) }

// Normal is the bell curve, cut at 0. MeanTime is at least 3 StdDev, so that the
// cut moves the mean by less than 0.2 %.
type Normal struct{ MeanTime, StdDev time.Duration }

// Sample draws one.
func (n *Normal) Sample(r *rand.Rand, _ time.Time) time.Duration {
	for {
		if d := float64(n.MeanTime) + r.NormFloat64()*float64(n.StdDev); d >= 0 {
			return time.Duration(d)
		}
	}
}

// Mean is the mean of the curve before the cut.
func (n *Normal) Mean() time.Duration { return n.MeanTime }

func (n *Normal) String() string {
	return fmt.Sprintf("normal(mean=%s,stddev=%s)", n.MeanTime, n.StdDev)
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// Lognormal is exp of a normal distribution: the usual shape of service times.
type Lognormal struct {
	mu, sigma float64 // of the logarithm of nanoseconds
	text      string
}

// lognormalFromMean finds the distribution with that mean and 99th percentile.
// mean = exp(mu+sigma²/2) and p99 = exp(mu+z·sigma) give
// sigma² − 2·z·sigma + 2·ln(p99/mean) = 0; the smaller root is the sensible one.
func lognormalFromMean(mean, p99 float64) (mu, sigma float64, err error) {
	ratio := math.Log(p99 / mean)
	if ratio < 0 {
		return 0, 0, fmt.Errorf("p99 is below the mean")
	}
	disc := z99*z99 - 2*ratio
	if disc < 0 {
		return 0, 0, fmt.Errorf("no lognormal has a p99 of more than %.1f times its mean; use bimodal or slow for such a tail", math.Exp(z99*z99/2))
	}
	sigma = z99 - math.Sqrt(disc)
	return math.Log(mean) - sigma*sigma/2, sigma, nil
}

// Sample draws one.
func (l *Lognormal) Sample(r *rand.Rand, _ time.Time) time.Duration {
	return toDuration(math.Exp(l.mu + l.sigma*r.NormFloat64()))
}

// Mean is exp(mu + sigma²/2).
func (l *Lognormal) Mean() time.Duration { return toDuration(math.Exp(l.mu + l.sigma*l.sigma/2)) }

func (l *Lognormal) String() string { return l.text }

// Exponential is the memoryless distribution.
type Exponential struct{ MeanTime time.Duration }

// Sample draws one.
func (e *Exponential) Sample(r *rand.Rand, _ time.Time) time.Duration {
	return toDuration(r.ExpFloat64() * float64(e.MeanTime))
}

// Mean is the mean.
func (e *Exponential) Mean() time.Duration { return e.MeanTime }

func (e *Exponential) String() string { return fmt.Sprintf("exponential(mean=%s)", e.MeanTime) }

// Bimodal is Fast or, with probability P, Slow: a cache and its misses.
type Bimodal struct {
	Fast, Slow Distribution
	P          float64
}

// Sample draws one.
func (b *Bimodal) Sample(r *rand.Rand, now time.Time) time.Duration {
	if r.Float64() < b.P {
		return b.Slow.Sample(r, now)
	}
	return b.Fast.Sample(r, now)
}

// Mean weighs the two means.
func (b *Bimodal) Mean() time.Duration {
	return toDuration((1-b.P)*float64(b.Fast.Mean()) + b.P*float64(b.Slow.Mean()))
}

func (b *Bimodal) String() string {
	return fmt.Sprintf("bimodal(fast=%s,slow=%s,p=%s)", b.Fast, b.Slow, percent(b.P))
}

// Empirical draws from measured values.
type Empirical struct {
	file   string
	values []time.Duration // sorted, not empty
}

// Sample draws one with replacement.
func (e *Empirical) Sample(r *rand.Rand, _ time.Time) time.Duration {
	return e.values[r.IntN(len(e.values))]
}

// Mean is the mean of the values.
func (e *Empirical) Mean() time.Duration {
	var sum float64
	for _, v := range e.values {
		sum += float64(v)
	}
	return toDuration(sum / float64(len(e.values)))
}

func (e *Empirical) String() string { return fmt.Sprintf("empirical(file=%q)", e.file) }

// Slow multiplies Base by X during slow periods. Periods are common to all
// requests, which is what makes slowness correlated.
type Slow struct {
	Base  Distribution
	X     float64
	Every time.Duration // mean time from one beginning to the next
	For   time.Duration // mean length, less than Every
	Fixed bool          // regular instead of exponentially distributed

	isSlow bool
	until  time.Time // end of the present period; zero before the first sample
}

// Sample draws one of Base and stretches it in a slow period.
func (s *Slow) Sample(r *rand.Rand, now time.Time) time.Duration {
	if s.until.IsZero() {
		s.until = now.Add(s.length(r, s.Every-s.For))
	}
	for !now.Before(s.until) {
		s.isSlow = !s.isSlow
		mean := s.Every - s.For
		if s.isSlow {
			mean = s.For
		}
		s.until = s.until.Add(s.length(r, mean))
	}
	d := s.Base.Sample(r, now)
	if s.isSlow {
		d = toDuration(float64(d) * s.X)
	}
	return d
}

// length draws the length of a period; never 0, so that the walk above ends.
func (s *Slow) length(r *rand.Rand, mean time.Duration) time.Duration {
	if s.Fixed {
		return mean
	}
	return max(toDuration(r.ExpFloat64()*float64(mean)), time.Microsecond)
}

// Mean weighs slow and normal time.
func (s *Slow) Mean() time.Duration {
	share := float64(s.For) / float64(s.Every)
	return toDuration(float64(s.Base.Mean()) * (1 + share*(s.X-1)))
}

func (s *Slow) String() string {
	fixed := ""
	if s.Fixed {
		fixed = ",fixed=true"
	}
	return fmt.Sprintf("slow(base=%s,x=%s,every=%s,for=%s%s)", s.Base, num(s.X), s.Every, s.For, fixed)
}

// toDuration rounds, and keeps absurd values within the type.
func toDuration(ns float64) time.Duration {
	return time.Duration(min(math.Round(ns), float64(maxDuration)))
}

// maxDuration bounds every duration of the grammar: an hour is past any timeout.
const maxDuration = time.Hour

func num(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func percent(p float64) string { return num(math.Round(p*1e12)/1e10) + "%" }

func newEmpirical(file string, values []time.Duration) *Empirical {
	slices.Sort(values)
	return &Empirical{file: file, values: values}
}
