package pipeline

// meter measures one queue so that Little's law can be checked on it: the integral of
// the depth over time must equal the summed time its events spent in it.
type meter struct {
	changed int64   // when depth last changed, nanoseconds since the pipeline's start
	area    float64 // depth × nanoseconds; a float because 10⁵ events × a month exceed an int64
	wait    float64 // nanoseconds spent in the queue by the events that left
	handled uint64  // events that left towards storage
}

// account must run before depth changes, and before a reading.
func (m *meter) account(depth int, now int64) {
	m.area += float64(depth) * float64(now-m.changed)
	m.changed = now
}

// left records that one event left after so many nanoseconds, not necessarily towards
// storage; those count as handled besides.
func (m *meter) left(wait int64) { m.wait += float64(wait) }

// counts is one fixed-bucket histogram; bounds are kept apart, once for all.
type counts struct {
	buckets []uint64 // one per bound, and the rest
	sum     float64  // seconds
}

func newCounts(bounds []int64) counts { return counts{buckets: make([]uint64, len(bounds)+1)} }

func (c *counts) observe(bounds []int64, nanos int64) {
	i := 0
	for i < len(bounds) && nanos > bounds[i] {
		i++
	}
	c.buckets[i]++
	c.sum += float64(nanos) / 1e9
}

// latencyBounds are the original's buckets of both its histograms (contract §9).
var latencyBounds = []int64{5e5, 1e6, 25e5, 5e6, 1e7, 25e6, 5e7, 1e8, 25e7, 5e8, 1e9, 2e9, 3e9}

// freshnessBounds reach from a fast storage to a long outage.
var freshnessBounds = []int64{1e6, 25e5, 5e6, 1e7, 25e6, 5e7, 1e8, 25e7, 5e8, 1e9, 25e8, 5e9, 1e10, 3e10, 6e10, 12e10, 3e11, 6e11}
