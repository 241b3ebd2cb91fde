package dist

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/userfile"
)

// ofLatencies refuses what only service times have.
func (c *call) ofLatencies(name string) bool {
	if c.most == 0 {
		c.Fail("", "%s is for latencies only", name)
	}
	return c.most > 0
}

// periods are the slow and the normal ones of a distribution. They are common to all draws,
// so that slowness is correlated.
type periods struct {
	base         law
	x            float64 // how many times longer a slow one takes
	normal, slow time.Duration
	fixed        bool // regular instead of exponentially distributed

	isSlow bool
	until  time.Time // end of the current period; zero before the first draw
}

// slow multiplies a distribution by x during slow periods.
func (c *call) slow() law {
	if !c.ofLatencies("slow") {
		return constant(1)
	}
	base, x := c.nested("base"), c.Float("x", 10)
	every, length := nanoseconds(c.positive("every")), nanoseconds(c.positive("for"))
	if x < 1 {
		c.Fail("x", "x=%g: a slow period takes at least 1 times as long", x)
	}
	if length >= every {
		c.Fail("for", "for=%s must be shorter than every=%s", length, every)
	}
	return &periods{base: base, x: x, normal: every - length, slow: length, fixed: c.Bool("fixed", false)}
}

func (p *periods) part() float64 { return float64(p.slow) / float64(p.normal+p.slow) }
func (p *periods) mean() float64 { return p.base.mean() * (1 + p.part()*(p.x-1)) }

func (p *periods) share(v float64) float64 {
	return (1-p.part())*p.base.share(v) + p.part()*p.base.share(v/p.x)
}

func (p *periods) draw(s Source) float64 {
	if p.until.IsZero() {
		p.until = s.Now.Add(p.length(s.Periods))
	}
	for !s.Now.Before(p.until) {
		p.isSlow = !p.isSlow
		p.until = p.until.Add(p.length(s.Periods))
	}
	v := p.base.draw(s)
	if p.isSlow {
		v *= p.x
	}
	return v
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
	return max(time.Duration(min(r.ExpFloat64()*float64(mean), float64(MaxLatency))), time.Microsecond)
}

// maxEmpirical bounds the values read from one file.
const maxEmpirical = 1 << 20

// empirical draws from the measured values of a file, with replacement.
type empirical struct {
	values, sorted []float64
	average        float64
}

func (e *empirical) draw(s Source) float64   { return e.values[s.IntN(len(e.values))] }
func (e *empirical) mean() float64           { return e.average }
func (e *empirical) share(v float64) float64 { return shareOf(e.sorted, v) }

func (c *call) empirical() law {
	file := c.Text("file", "")
	if file == "" {
		c.Fail("", "file is missing")
	}
	if !c.ofLatencies("empirical") || file == "" {
		return constant(1)
	}
	b, err := userfile.ReadFile(file)
	if err != nil {
		c.err = fmt.Errorf("%q: reading the measured values: %w", c.text, err)
		return constant(1)
	}
	e := &empirical{}
	if e.values, err = measured(b); err != nil {
		c.err = fmt.Errorf("%q: %s: %w", c.text, file, err)
		return constant(1)
	}
	for _, v := range e.values {
		e.average += v / float64(len(e.values))
	}
	e.sorted = slices.Sorted(slices.Values(e.values))
	return e
}

// measured reads one duration per line; a bare number is in milliseconds. Blank lines and
// what follows a # do not count.
func measured(b []byte) (values []float64, err error) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if v /= 1000; err != nil {
			var d time.Duration
			d, err = time.ParseDuration(text)
			v = d.Seconds()
		}
		if err != nil || !(v >= 0 && v <= MaxLatency.Seconds()) {
			return nil, fmt.Errorf("line %d: %q is not a duration from 0 to %s; write 87ms, or 87 for milliseconds", n, text,
				MaxLatency)
		}
		if values = append(values, v); len(values) > maxEmpirical {
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
