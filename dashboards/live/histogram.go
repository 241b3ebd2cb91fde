package live

import (
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// buckets are the cumulative counts of a histogram by upper bound, without +Inf, and the
// count of all.
type buckets struct {
	upTo  map[float64]float64
	total float64
}

// histogram adds up the series of a histogram that keep says; nil where it is not exposed.
func (f families) histogram(name string, keep func(*dto.Metric) bool) *buckets {
	var b *buckets
	for _, m := range f[name].GetMetric() {
		h := m.GetHistogram()
		if h == nil || !keep(m) {
			continue
		}
		if b == nil {
			b = &buckets{upTo: map[float64]float64{}}
		}
		b.total += float64(h.GetSampleCount())
		for _, x := range h.GetBucket() {
			if u := x.GetUpperBound(); !math.IsInf(u, 0) && !math.IsNaN(u) {
				b.upTo[u] += float64(x.GetCumulativeCount())
			}
		}
	}
	return b
}

// since returns the difference from an earlier reading of the same process; nil if nothing was added.
func (b *buckets) since(before *buckets) *Percentiles {
	if b == nil || before == nil || b.total <= before.total || len(b.upTo) == 0 {
		return nil
	}
	bounds := slices.Sorted(maps.Keys(b.upTo))
	counts := make([]float64, len(bounds))
	for i, u := range bounds {
		counts[i] = b.upTo[u] - before.upTo[u]
		if counts[i] < 0 || i > 0 && counts[i] < counts[i-1] {
			return nil // no histogram
		}
	}
	total := b.total - before.total
	p := Percentiles{quantile(0.5, bounds, counts, total), quantile(0.9, bounds, counts, total),
		quantile(0.99, bounds, counts, total)}
	for _, v := range []float64{p.P50, p.P90, p.P99} {
		if finite(&v) == nil {
			return nil // a bucket wider than a number
		}
	}
	return &p
}

// quantile interpolates within the bucket as Prometheus' histogram_quantile does.
func quantile(q float64, bounds, counts []float64, total float64) float64 {
	rank := q * total
	i, _ := slices.BinarySearch(counts, rank)
	if i == len(bounds) {
		return bounds[len(bounds)-1]
	}
	low, below := 0.0, 0.0
	if i > 0 {
		low, below = bounds[i-1], counts[i-1]
	} else if bounds[0] <= 0 {
		return bounds[0]
	}
	if counts[i] == below {
		return bounds[i]
	}
	return low + (bounds[i]-low)*(rank-below)/(counts[i]-below)
}
