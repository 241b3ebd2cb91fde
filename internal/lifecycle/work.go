package lifecycle

import "time"

// Work is done in slices with a pause after each, so that it shares one processor with what must
// not wait. Gosched is not enough: the network is polled only when nothing else is runnable, up to
// 10 ms later.
type Work struct {
	spent time.Duration // of this slice, up to since
	since time.Time
}

const (
	// slice is the time between pauses, unless one step takes longer.
	slice = 500 * time.Microsecond
	// leastRest is the shortest sleep the runtime can do.
	leastRest = time.Millisecond
	// mostRest bounds the pause after a long step, during which others most likely ran.
	mostRest = 20 * time.Millisecond
)

// BeginWork begins the first slice.
func BeginWork() Work { return Work{since: time.Now()} }

// Step must be called between steps of a few microseconds. It pauses once the slice is over, and
// reports whether it did.
func (w *Work) Step() bool {
	if w.spent+time.Since(w.since) < slice {
		return false
	}
	w.Rest()
	return true
}

// Rest ends the slice and pauses for as long as it took, so that the work takes at most half of a
// processor.
func (w *Work) Rest() {
	time.Sleep(min(max(w.spent+time.Since(w.since), leastRest), mostRest))
	*w = BeginWork()
}

// Stop interrupts the slice until Go, such as for waiting.
func (w *Work) Stop() { w.spent = min(w.spent+time.Since(w.since), slice) }

// Go resumes the slice.
func (w *Work) Go() { w.since = time.Now() }
