package lifecycle

import "time"

// Work shares one processor with what must not wait for it: it is done in slices, with a real
// pause behind each. To yield to the scheduler is not enough. What becomes ready by the network
// would be looked for only once nothing else is ready, up to 10 ms later.
type Work struct {
	spent time.Duration // of this slice, before since
	since time.Time
}

const (
	// slice is the longest that Work goes on without a pause, unless one step takes longer.
	slice = 500 * time.Microsecond
	// leastRest is the shortest pause that the runtime can make.
	leastRest = time.Millisecond
	// mostRest bounds the pause behind a step that took long, most likely because others worked.
	mostRest = 20 * time.Millisecond
)

// BeginWork begins the first slice.
func BeginWork() Work { return Work{since: time.Now()} }

// Step is to be called between two steps, each of which takes microseconds. It pauses once the
// slice is over, and reports whether it did.
func (w *Work) Step() bool {
	if w.spent+time.Since(w.since) < slice {
		return false
	}
	w.Rest()
	return true
}

// Rest ends the slice and pauses for as long as it took, or as the runtime can: at most half of
// a processor's time is taken.
func (w *Work) Rest() {
	time.Sleep(min(max(w.spent+time.Since(w.since), leastRest), mostRest))
	*w = BeginWork()
}

// Stop says that something else is done until Go, such as waiting.
func (w *Work) Stop() { w.spent = min(w.spent+time.Since(w.since), slice) }

// Go goes on with the slice.
func (w *Work) Go() { w.since = time.Now() }
