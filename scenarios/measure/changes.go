package measure

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// changes combines op log and ledger into the load's history.
type changes struct {
	load, bystander *Histogram // freshness: from the intended time to storage's acknowledgement
	writes          rate       // when the apiserver answered
	last            int64      // the last acknowledgement that brought storage a change to a Pod
	settled, owed   int64      // events for Pods that storage has, or something newer, and those it has not
	backlog         debts      // objects, of Pods
	events          debts      // the same, each change for itself
	gaps            []int64    // see gapsOf
}

// stretch is a time, from and to in Unix nanoseconds.
type stretch struct{ from, to int64 }

// changesOf goes through the changes of the load, which ran from one time, up to the end of the drain, and shows them
// to the clock. What arrived later did not arrive.
func changesOf(all iter.Seq[history.Change], from, to int64, clock *history.Clock) changes {
	c := changes{load: NewHistogram(), bystander: NewHistogram(), backlog: debts{newBins(from, to)},
		events: debts{newBins(from, to)}}
	var ends endings
	var owed []stretch        // of one object
	var came []history.Change // the same, of what arrived
	object := -1
	next := func() {
		union(owed, c.backlog.owed)
		c.gaps = gapsOf(c.gaps, came)
		owed, came = owed[:0], came[:0]
	}
	for x := range all {
		clock.Change(&x)
		arrived := x.Stored != 0 && x.Arrived <= to
		h := c.load
		if x.Bystander {
			h = c.bystander
		}
		if arrived {
			h.Add(x.Stored - x.Intended)
		}
		if !x.Bystander {
			c.writes.count(x.Finished - from)
		}
		if x.Kind != podKind {
			continue
		}
		if x.Object != object {
			next()
			object = x.Object
		}
		stored := to
		if arrived {
			c.settled++
			c.last = max(c.last, x.Stored)
			stored, came = min(x.Stored, to), append(came, x)
		} else {
			c.owed++
		}
		if x.Deletion {
			ends.add(&x, arrived)
		}
		owed = append(owed, stretch{x.Finished, stored})
		c.events.owed(x.Finished, stored)
	}
	next()
	c.settled += ends.seen
	c.owed += ends.owed()
	return c
}

// gapsOf adds the times between an answer of storage and the next request for the same object, for states that the
// apiserver had before that answer: nothing but the watcher delays those. Deletions are left out, as a terminating
// state, not logged as an operation, may have been sent before them.
func gapsOf(gaps []int64, came []history.Change) []int64 {
	answers := make([]int64, len(came))
	for i, x := range came {
		answers[i] = x.Stored
	}
	slices.Sort(answers)
	for _, x := range came {
		before := sort.Search(len(answers), func(i int) bool { return answers[i] > x.Arrived })
		if before > 0 && !x.Deletion && x.Finished <= answers[before-1] {
			gaps = append(gaps, x.Arrived-answers[before-1])
		}
	}
	return gaps
}

// leastGaps is how many there must be for a 5th percentile.
const leastGaps = 20

// own is the 5th percentile of the gaps: what the watcher takes where its request waits neither for a core nor behind
// another object's. The median is ten times that on a busy machine.
func (c *changes) own() *float64 {
	if len(c.gaps) < leastGaps {
		return nil
	}
	slices.Sort(c.gaps)
	return ptr(float64(c.gaps[len(c.gaps)/20]) / 1e9)
}

// endings count the terminating states: a Pod that is deleted may be seen so before it is gone, an event that the log
// has no operation for.
type endings struct{ known, seen, unknown int64 }

func (e *endings) add(x *history.Change, arrived bool) {
	switch {
	case x.Terminating:
		e.known++
		e.seen++
	case arrived:
		e.known++ // merged into the deletion, or there was none
	default:
		e.unknown++
	}
}

// owed are the terminating states still to come, if deletions to come have as many of them as those that came. If none
// came yet, each has one, as the apiserver makes it.
func (e *endings) owed() int64 {
	if e.known == 0 {
		return e.unknown
	}
	return int64(math.Round(float64(e.unknown) * float64(e.seen) / float64(e.known)))
}

// union calls yield for the stretches in order, those that overlap as one.
func union(all []stretch, yield func(from, to int64)) {
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	for i := 0; i < len(all); {
		from, to := all[i].from, all[i].to
		for i++; i < len(all) && all[i].from <= to; i++ {
			to = max(to, all[i].to)
		}
		if to > from {
			yield(from, to)
		}
	}
}

// leastBin is the width of a bin in nanoseconds, unless a cell is so long that it would have more than mostBins of
// them: some 70 minutes.
const (
	leastBin = int64(1e6)
	mostBins = 1 << 22
)

// bins count something per stretch of a cell's time.
type bins struct {
	from, width int64 // Unix nanoseconds, nanoseconds
	n           []int32
}

func newBins(from, to int64) bins {
	return bins{from: from, width: max(leastBin, (to-from)/mostBins+1)}
}

// index is the bin of a time; times before the first are in the first.
func (b *bins) index(at int64) int { return int(max(0, at-b.from) / b.width) }

// next is the first bin that begins at or after a time.
func (b *bins) next(at int64) int { return int((max(0, at-b.from) + b.width - 1) / b.width) }

func (b *bins) add(i int, by int32) {
	if i >= len(b.n) {
		b.n = append(b.n, make([]int32, i+1-len(b.n))...)
	}
	b.n[i] += by
}

// debts are how many objects were owed to storage: their changes were acknowledged by the apiserver, and storage had
// not yet acknowledged a state at least as new. Kept is the difference to the bin before, at the beginning of each bin.
type debts struct{ bins }

// owed adds an object that was owed for a time.
func (b *debts) owed(from, to int64) {
	if i, j := b.next(from), b.next(to); i < j {
		b.add(i, 1)
		b.add(j, -1)
	}
}

// over is how long at least n objects were owed, in seconds, and how many of the acknowledgements came in that time. It
// is decided at the beginning of each bin: a bin is not left out because an acknowledgement in it ends the backlog.
func (b *debts) over(n int, acks *bins) (seconds float64, acked int64) {
	level, windows := 0, 0
	for i, d := range b.n {
		if level += int(d); level < n {
			continue
		}
		windows++
		if i < len(acks.n) {
			acked += int64(acks.n[i])
		}
	}
	return float64(int64(windows)*b.width) / 1e9, acked
}

// served holds the Pod requests that storage acknowledged. Times are Unix nanoseconds.
type served struct {
	requests    int64 // received
	bytes       int64 // in their bodies
	acked       int64
	first, last int64 // acknowledgements
	acks        bins
	took        *Histogram
	tookSum     float64 // nanoseconds
}

func (s *served) add(e *ledger.Entry) {
	s.requests++
	s.bytes += int64(e.Bytes)
	if !e.Acked() {
		return
	}
	s.acked++
	if s.first == 0 || e.Responded < s.first {
		s.first = e.Responded
	}
	s.last = max(s.last, e.Responded)
	s.acks.add(s.acks.index(e.Responded), 1)
	s.took.Add(e.Responded - e.Received)
	s.tookSum += float64(e.Responded - e.Received)
}

func (s *served) qps() *float64 {
	if s.acked < 2 || s.last == s.first {
		return nil
	}
	return ptr(float64(s.acked-1) / (float64(s.last-s.first) / 1e9))
}

// limit is Little's law: the highest rate that so many requests in flight allow at a mean latency.
func limit(inFlight int, meanMillis float64) *float64 {
	if inFlight <= 0 || meanMillis <= 0 {
		return nil
	}
	return ptr(float64(inFlight) / (meanMillis / 1000))
}
