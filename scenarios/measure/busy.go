package measure

import (
	"sort"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// binNanos is the width of the windows in which "all senders were busy" is
// judged: long against the microseconds a sender needs between two requests,
// short against a backlog.
const binNanos = int64(100e6)

// Busy is what storage saw of one kind.
type Busy struct {
	Requests    int64 // acknowledged
	First, Last int64 // acknowledgements, Unix nanoseconds
	// QPS is the rate between the first and the last acknowledgement.
	QPS *float64
	// BacklogQPS is the rate while all senders were busy, BacklogSeconds how long
	// that was; nil and 0 when they never were for at least two windows.
	BacklogQPS     *float64
	BacklogSeconds float64
	MaxInFlight    int
}

// BusyOf looks at the requests received at or after since. Senders is the
// number of requests the watcher can have in flight for this kind. A window of
// 100 ms counts as busy when all of them were seen in flight at once in it; a
// sender's pause between two requests is then part of the rate, as it should be.
func BusyOf(entries []ledger.Entry, senders int, since int64) Busy {
	var (
		b     Busy
		edges []edge
		acks  []int64
	)
	for _, e := range entries {
		if e.Received < since || e.Responded == 0 {
			continue
		}
		edges = append(edges, edge{e.Received, 1}, edge{e.Responded, -1})
		if e.Acked() {
			acks = append(acks, e.Responded)
		}
	}
	b.Requests = int64(len(acks))
	if len(acks) == 0 {
		return b
	}
	sort.Slice(acks, func(i, j int) bool { return acks[i] < acks[j] })
	// At equal times the end comes first: the sender could not have overlapped.
	sort.Slice(edges, func(i, j int) bool {
		return edges[i].at < edges[j].at || (edges[i].at == edges[j].at && edges[i].step < edges[j].step)
	})
	b.First, b.Last = acks[0], acks[len(acks)-1]
	if n := len(acks) - 1; n > 0 && b.Last > b.First {
		b.QPS = ptr(float64(n) / (float64(b.Last-b.First) / 1e9))
	}
	peak := peaks(edges, &b.MaxInFlight)
	b.backlog(peak, edges[0].at, acks, senders)
	return b
}

type edge struct {
	at   int64
	step int
}

// peaks returns the most requests in flight at once, per window from the first
// edge on.
func peaks(edges []edge, overall *int) []int {
	start := edges[0].at
	out := make([]int, (edges[len(edges)-1].at-start)/binNanos+1)
	level, bin := 0, 0
	for _, e := range edges {
		for at := int((e.at - start) / binNanos); bin < at; {
			bin++
			out[bin] = level // carried over from the window before
		}
		level += e.step
		out[bin] = max(out[bin], level)
		*overall = max(*overall, level)
	}
	return out
}

// backlog adds up runs of busy windows. The first and the last window of a run
// are left out: the senders were filling up or running dry in them.
func (b *Busy) backlog(peak []int, start int64, acks []int64, senders int) {
	var done, windows int64
	for i := 0; i < len(peak); {
		if peak[i] < senders {
			i++
			continue
		}
		j := i
		for j < len(peak) && peak[j] >= senders {
			j++
		}
		if from, to := i+1, j-1; to > from {
			lo, hi := start+int64(from)*binNanos, start+int64(to)*binNanos
			done += int64(countBetween(acks, lo, hi))
			windows += int64(to - from)
		}
		i = j
	}
	if windows >= 2 {
		b.BacklogSeconds = round(float64(windows*binNanos) / 1e9)
		b.BacklogQPS = ptr(float64(done) / b.BacklogSeconds)
	}
}

// countBetween counts values in [lo, hi) of a sorted list.
func countBetween(sorted []int64, lo, hi int64) int {
	i := sort.Search(len(sorted), func(i int) bool { return sorted[i] >= lo })
	j := sort.Search(len(sorted), func(i int) bool { return sorted[i] >= hi })
	return j - i
}

// Latencies is what storage took to answer, from receipt to answer.
func Latencies(entries []ledger.Entry, since int64) (*Histogram, *float64) {
	h := NewHistogram()
	var sum float64
	var n int64
	for _, e := range entries {
		if e.Received >= since && e.Acked() {
			h.Add(e.Responded - e.Received)
			sum += float64(e.Responded - e.Received)
			n++
		}
	}
	if n == 0 {
		return h, nil
	}
	return h, ptr(sum / float64(n) / 1e6)
}

// Limit is Little's law: the highest rate that so many requests in flight allow at
// a mean latency. Storage that serves fewer at once is the lower bound.
func Limit(concurrency, capacity int, meanMillis float64) *float64 {
	if capacity > 0 {
		concurrency = min(concurrency, capacity)
	}
	if meanMillis <= 0 {
		return nil
	}
	return ptr(float64(concurrency) / (meanMillis / 1000))
}
