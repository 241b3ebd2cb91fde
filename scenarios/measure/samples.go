package measure

import (
	"cmp"
	"slices"
	"sort"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// seriesBin is the width of a point in curves made of op log and ledger.
const seriesBin = int64(500e6)

// cpuUse is a party's CPU seconds between two times: the last samples at or before
// them, or the nearest ones the series has.
func cpuUse(samples []history.Sample, party string, from, to int64) *float64 {
	a, okA := useAt(samples, party, from)
	b, okB := useAt(samples, party, to)
	if !okA || !okB || b.Time <= a.Time {
		return nil
	}
	v := b.Parties[party].CPUSeconds - a.Parties[party].CPUSeconds
	return &v
}

// useAt finds the sample nearest to a time that has the party.
func useAt(samples []history.Sample, party string, at int64) (history.Sample, bool) {
	var best history.Sample
	found := false
	for _, s := range samples {
		if _, ok := s.Parties[party]; !ok {
			continue
		}
		if !found || abs(s.Time-at) < abs(best.Time-at) {
			best, found = s, true
		}
	}
	return best, found
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// parties sums up who used the machine.
func parties(samples []history.Sample, from, to int64) map[string]result.Party {
	peak := map[string]float64{}
	for _, s := range samples {
		for name, u := range s.Parties {
			peak[name] = max(peak[name], u.RSSBytes)
		}
	}
	out := map[string]result.Party{}
	for name, rss := range peak {
		p := result.Party{RSSPeakMiB: round(rss / (1 << 20))}
		if cpu := cpuUse(samples, name, from, to); cpu != nil {
			p.CPUSeconds = round(*cpu)
		}
		out[name] = p
	}
	return out
}

// curves builds the series of a cell, in seconds from the start of the load.
func curves(samples []history.Sample, ops []oplog.Record, entries []ledger.Entry, zero int64) map[string]result.Series {
	b := curveBuilder{zero: zero, out: map[string]result.Series{}}
	// A reading asked for between two ticks may have begun after, and been noted
	// before, that of the tick.
	samples = slices.SortedStableFunc(slices.Values(samples), func(a, b history.Sample) int { return cmp.Compare(a.Time, b.Time) })
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
				b.add(result.SeriesWatcherNet, "KiB/s", s.Time, netRate(prev, s, dt))
			}
		}
		prev = s
	}
	b.rate(result.SeriesStorageQPS, ackTimes(entries))
	b.rate(result.SeriesLoadQPS, writeTimes(ops))
	return b.out
}

// netRate is the watcher's traffic between two samples, by its own account or, for
// a watcher that gives none, by its read and write calls.
func netRate(prev, s *history.Sample, dt float64) *float64 {
	if prev.NetIn != nil && s.NetIn != nil && prev.NetOut != nil && s.NetOut != nil {
		return ptr((*s.NetIn - *prev.NetIn + *s.NetOut - *prev.NetOut) / 1024 / dt)
	}
	a, b := prev.Parties[history.PartyWatcher], s.Parties[history.PartyWatcher]
	if a.Read < 0 || b.Read < 0 {
		return nil
	}
	return ptr((b.Read - a.Read + b.Written - a.Written) / 1024 / dt)
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

// rate turns times into requests per second, one point per bin from the first to
// the last, at the bin's middle.
func (b curveBuilder) rate(name string, times []int64) {
	if len(times) == 0 {
		return
	}
	slices.Sort(times)
	start := b.zero + floorDiv(times[0]-b.zero, seriesBin)*seriesBin
	for at := start; at <= times[len(times)-1]; at += seriesBin {
		n := countBetween(times, at, at+seriesBin)
		b.add(name, "requests/s", at+seriesBin/2, ptr(float64(n)/(float64(seriesBin)/1e9)))
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func ackTimes(entries []ledger.Entry) []int64 {
	var t []int64
	for _, e := range entries {
		if e.Acked() {
			t = append(t, e.Responded)
		}
	}
	return t
}

func writeTimes(ops []oplog.Record) []int64 {
	var t []int64
	for _, op := range ops {
		if op.Phase == oplog.PhaseLoad && !op.Bystander && op.Type != oplog.TypeHeartbeat && op.OK() {
			t = append(t, op.Finished)
		}
	}
	return t
}

// maxOf is the largest value a figure had between two times.
func maxOf(samples []history.Sample, from, to int64, of func(history.Sample) *float64) *float64 {
	i := sort.Search(len(samples), func(i int) bool { return samples[i].Time >= from })
	var most *float64
	for ; i < len(samples) && samples[i].Time <= to; i++ {
		if v := of(samples[i]); v != nil && (most == nil || *v > *most) {
			most = v
		}
	}
	return most
}
