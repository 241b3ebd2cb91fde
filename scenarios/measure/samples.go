package measure

import (
	"slices"
	"sort"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// seriesBin is the width of a point in curves made of op log and ledger.
const seriesBin = int64(500e6)

// curves builds the series of a cell, in seconds from the start of the load.
func (f *Figures) curves(zero int64, writes *rate) map[string]result.Series {
	b := curveBuilder{zero: zero, out: map[string]result.Series{}}
	b.sampled(f.samples)
	b.rate(result.SeriesStorageQPS, &f.answers)
	b.rate(result.SeriesLoadQPS, writes)
	return b.out
}

// sampled adds what was read while the cell ran.
func (b curveBuilder) sampled(samples []history.Sample) {
	own := accounts(samples)
	var prev *history.Sample
	for i := range samples {
		s := &samples[i]
		b.add(result.SeriesQueueDepth, "events", s.Time, s.QueueDepth)
		b.add(result.SeriesWriterDepth, "events", s.Time, s.WriterDepth)
		b.add(result.SeriesHandlerDepth, "events", s.Time, s.HandlerDepth)
		b.add(result.SeriesStorageInFlight, "requests", s.Time, s.StorageInFlight)
		for name, u := range s.Parties {
			b.add(name+".rssMiB", "MiB", s.Time, ptr(u.RSSBytes/(1<<20)))
			if prev == nil {
				continue
			}
			p, ok := prev.Parties[name]
			dt := float64(s.Time-prev.Time) / 1e9
			if !ok || dt <= 0 {
				continue
			}
			b.add(name+".cpuCores", "cores", s.Time, ptr((u.CPUSeconds-p.CPUSeconds)/dt))
			if name == history.PartyWatcher {
				if in, out, known := traffic(prev, s, own); known && in >= 0 && out >= 0 { // not across a restart
					b.add(result.SeriesWatcherNet, "KiB/s", s.Time, ptr((in+out)/1024/dt))
				}
			}
		}
		prev = s
	}
}

// accounts reports whether the watcher gives an account of its traffic.
func accounts(samples []history.Sample) bool {
	return slices.ContainsFunc(samples, func(s history.Sample) bool { return s.NetIn != nil && s.NetOut != nil })
}

// traffic is how many bytes the watcher received and sent between two samples, by its
// own account or, for a watcher that gives none, by its read and write calls.
func traffic(a, b *history.Sample, own bool) (in, out float64, known bool) {
	if own {
		if a == b || a.NetIn == nil || b.NetIn == nil || a.NetOut == nil || b.NetOut == nil {
			return 0, 0, false
		}
		return *b.NetIn - *a.NetIn, *b.NetOut - *a.NetOut, true
	}
	ua, ub := a.Parties[history.PartyWatcher], b.Parties[history.PartyWatcher]
	return ub.Read - ua.Read, ub.Written - ua.Written, ua.Read >= 0 && ub.Read >= 0
}

type curveBuilder struct {
	zero int64
	out  map[string]result.Series
}

func (b curveBuilder) add(name, unit string, at int64, v *float64) {
	if v == nil {
		return
	}
	s := b.out[name]
	s.Unit = unit
	s.T = append(s.T, round(float64(at-b.zero)/1e9))
	s.V = append(s.V, *v)
	b.out[name] = s
}

// rate adds requests per second, one point per bin from the first to the last that has
// any, at the bin's middle.
func (b curveBuilder) rate(name string, r *rate) {
	first := slices.IndexFunc(r.bins, func(n int64) bool { return n > 0 })
	for i := max(0, first); i < len(r.bins); i++ {
		at := b.zero + int64(i)*seriesBin + seriesBin/2
		b.add(name, "requests/s", at, ptr(float64(r.bins[i])/(float64(seriesBin)/1e9)))
	}
}

// rate counts requests in bins from the start of the load on.
type rate struct{ bins []int64 }

// maxBins bounds a curve to what a cell can last, some six days.
const maxBins = 1 << 20

// add counts one that happened nanos after the start.
func (r *rate) add(nanos int64) {
	if nanos < 0 || nanos >= maxBins*seriesBin {
		return
	}
	i := int(nanos / seriesBin)
	for len(r.bins) <= i {
		r.bins = append(r.bins, 0)
	}
	r.bins[i]++
}

// maxOf is the largest value a figure had between two times.
func maxOf(samples []history.Sample, from, to int64, of func(*history.Sample) *float64) *float64 {
	i := sort.Search(len(samples), func(i int) bool { return samples[i].Time >= from })
	var most *float64
	for ; i < len(samples) && samples[i].Time <= to; i++ {
		if v := of(&samples[i]); v != nil && (most == nil || *v > *most) {
			most = v
		}
	}
	return most
}
