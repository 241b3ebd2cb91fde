package measure

import (
	"slices"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// binNanos is the width of the windows in which "all senders were busy" is
// judged: long against the microseconds a sender needs between two requests,
// short against a backlog.
const binNanos = int64(100e6)

// served is what storage saw of one kind.
type served struct {
	Requests    int64 // acknowledged
	First, Last int64 // acknowledgements, Unix nanoseconds
	// QPS is the rate between the first and the last acknowledgement.
	QPS *float64
	// BacklogQPS is the rate while all senders were busy, BacklogSeconds how long
	// that was; nil and 0 when they never were for at least two windows.
	BacklogQPS     *float64
	BacklogSeconds float64
}

// flights are requests that were answered. They are logged in the order of
// application, so what was in flight at once is only known once all are there.
type flights struct {
	starts []int64 // when storage received them
	acks   []int64 // when it acknowledged them
	fails  []int64 // when it answered otherwise
}

// add takes a request; expected is about how many there will be.
func (f *flights) add(e *ledger.Entry, expected int64) {
	if e.Responded == 0 {
		return
	}
	if f.starts == nil {
		f.starts, f.acks = make([]int64, 0, expected), make([]int64, 0, expected)
	}
	f.starts = append(f.starts, e.Received)
	if e.Acked() {
		f.acks = append(f.acks, e.Responded)
	} else {
		f.fails = append(f.fails, e.Responded)
	}
}

// served looks at all of them. Senders is the number of requests the watcher can have in
// flight. A window of 100 ms counts as busy when all of them were seen in flight at
// once in it; a sender's pause between two requests is then part of the rate, as it
// should be.
func (f *flights) served(senders int) served {
	b := served{Requests: int64(len(f.acks))}
	if len(f.acks) == 0 {
		return b
	}
	slices.Sort(f.starts)
	slices.Sort(f.acks)
	slices.Sort(f.fails)
	b.First, b.Last = f.acks[0], f.acks[len(f.acks)-1]
	if n := len(f.acks) - 1; n > 0 && b.Last > b.First {
		b.QPS = ptr(float64(n) / (float64(b.Last-b.First) / 1e9))
	}
	b.backlog(f.peaks(), f.starts[0], f.acks, senders)
	return b
}

// peaks returns the most requests in flight at once, per window from the first
// receipt on. At equal times an end comes first: its sender could not have overlapped.
func (f *flights) peaks() []int {
	start, end := f.starts[0], f.acks[len(f.acks)-1]
	if n := len(f.fails); n > 0 {
		end = max(end, f.fails[n-1])
	}
	out := make([]int, (end-start)/binNanos+1)
	level, bin := 0, 0
	step := func(at int64, by int) {
		for to := int((at - start) / binNanos); bin < to; {
			bin++
			out[bin] = level // carried over from the window before
		}
		level += by
		out[bin] = max(out[bin], level)
	}
	starts, acks, fails := f.starts, f.acks, f.fails
	for len(acks) > 0 || len(fails) > 0 {
		ends := &acks
		if len(acks) == 0 || len(fails) > 0 && fails[0] < acks[0] {
			ends = &fails
		}
		if len(starts) > 0 && starts[0] < (*ends)[0] {
			step(starts[0], 1)
			starts = starts[1:]
			continue
		}
		step((*ends)[0], -1)
		*ends = (*ends)[1:]
	}
	return out
}

// backlog adds up runs of busy windows. The first and the last window of a run
// are left out: the senders were filling up or running dry in them.
func (b *served) backlog(peak []int, start int64, acks []int64, senders int) {
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
	i, _ := slices.BinarySearch(sorted, lo)
	j, _ := slices.BinarySearch(sorted, hi)
	return j - i
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
