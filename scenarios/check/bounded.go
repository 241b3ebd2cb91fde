package check

import (
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

func seconds(ns int64) string { return time.Duration(ns).Round(time.Millisecond).String() }

type reading struct {
	name  string
	unit  string
	of    func(*history.Sample) *float64
	max   *float64
	after *float64 // how far above the baseline the last sample may be
}

type point struct {
	time  int64
	value float64
}

type bounded struct {
	h        *History
	ceilings *Ceilings // nil: none were set
}

func (b bounded) points(of func(*history.Sample) *float64) (all []point) {
	for i := range b.h.Samples {
		s := &b.h.Samples[i]
		if v := of(s); v != nil {
			all = append(all, point{s.Time, *v})
		}
	}
	return all
}

// judge judges G7.
func (b bounded) judge(t *tally) {
	c := b.ceilings
	switch {
	case len(b.h.Samples) == 0:
		t.note("the process was not sampled")
		return
	case c == nil:
		t.note("no ceilings were set")
		return
	}
	for _, r := range []reading{
		{name: "resident memory", unit: " bytes", of: (*history.Sample).Memory, max: c.RSSBytes},
		{name: "goroutines", of: func(s *history.Sample) *float64 { return s.Goroutines }, max: c.Goroutines,
			after: c.GoroutinesReturn},
		{name: "sockets", of: func(s *history.Sample) *float64 { return s.Sockets }, max: c.Sockets, after: c.SocketsReturn},
	} {
		points := b.points(r.of)
		if r.max != nil {
			t.ceiling(&r, points)
		}
		if r.after != nil {
			b.returned(t, &r, points)
		}
	}
	if c.SlopePercentPerMinute != nil {
		b.slope(t)
	}
	t.needAll()
}

func (t *tally) ceiling(r *reading, points []point) {
	for _, p := range points {
		t.judged++
		if p.value > *r.max {
			t.fail("%s of %.0f%s at %s, the ceiling is %.0f", r.name, p.value, r.unit, clock(p.time), *r.max)
		}
	}
	if len(points) == 0 {
		t.lack("%s: never read", r.name)
	}
}

// returned compares the last sample to the baseline, the last one before the load.
func (b bounded) returned(t *tally, r *reading, points []point) {
	var before, last point
	for _, p := range points {
		if p.time < b.h.LoadStarted {
			before = p
		}
		if p.time > b.h.LoadFinished {
			last = p
		}
	}
	switch {
	case b.h.Cut:
		t.note("%s: cut before the end, the return to the baseline is not judged", r.name)
	case before.time == 0 || last.time == 0:
		t.lack("%s: no sample before or after the load", r.name)
	default:
		t.judged++
		if last.value > before.value+*r.after {
			t.fail("%s did not return: %.0f before the load, %.0f at %s, allowed are %.0f more", r.name,
				before.value, last.value, clock(last.time), *r.after)
		}
	}
}

const minSlopeSamples = 10

func (b bounded) slope(t *tally) {
	c := b.ceilings
	end := b.h.LoadFinished
	start := max(b.h.LoadStarted, end-c.SlopeWindow)
	var n, sx, sy, sxx, sxy float64
	for _, p := range b.points((*history.Sample).Memory) {
		if p.time < start || p.time > end {
			continue
		}
		x, y := float64(p.time-start)/float64(time.Minute), p.value
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	d := n*sxx - sx*sx
	if n < minSlopeSamples || d <= 0 || sy <= 0 {
		t.lack("too few samples of resident memory for its slope")
		return
	}
	t.judged++
	percent := (n*sxy - sx*sy) / d / (sy / n) * 100
	if percent > *c.SlopePercentPerMinute {
		t.fail("resident memory grew by %.2f %%/min over the last %s of the load, allowed are %.2f", percent,
			seconds(end-start), *c.SlopePercentPerMinute)
	}
}

// judge judges G8; a nil s judges nothing.
func (s *Isolation) judge(t *tally) {
	if s == nil {
		t.note("no undisturbed cell to compare with")
		return
	}
	pair := func(name string, have, base *result.Quantiles) {
		if have == nil || base == nil {
			return
		}
		if have.Count == 0 || base.P99 <= 0 {
			t.lack("%s: no freshness on both sides", name)
			return
		}
		t.judged += have.Count
		if have.P99 > isolationFactor*base.P99 {
			t.fail("freshness p99 of %s is %.3f s, %.1f times the %.3f s of the undisturbed cell; allowed are %.1f times",
				name, have.P99, have.P99/base.P99, base.P99, isolationFactor)
		}
	}
	pair("the bystander kind", s.Bystander, s.BystanderBaseline)
	pair("the other keys", s.Others, s.OthersBaseline)
	t.needAll()
}
