package check

import (
	"iter"

	"github.com/watchbench/watchbench/scenarios/history"
)

// restore is the return of the cluster to an earlier state, by the marks. What happened since that state is undone, and
// versions are assigned again. All are Unix nanoseconds, 0 without a restore.
type restore struct {
	saved    int64 // when the state was copied
	from, to int64 // the restore itself
}

func (r *restore) mark(m history.Mark) {
	switch m.What {
	case history.MarkBackedUp:
		r.saved = m.Time
	case history.MarkRestoring:
		r.from, r.to = m.Time, endOfTime
	case history.MarkRestored:
		r.to = m.Time
	}
}

func (r *restore) happened() bool { return r.from != 0 }

func (r *restore) before(t int64) bool { return r.from == 0 || t < r.from }

// open reports whether the record has no final order of requests: the cell was cut, or the cluster restored.
func (j *judge) open() bool { return j.h.Cut || j.back.happened() }

func (j *judge) noteRestore() {
	if !j.back.happened() {
		return
	}
	for _, g := range []string{"G2", "G3", "G4", "G5", "G10", "G11"} {
		j.tally[g].note("judged up to the restore at %s: versions and uids went back then", clock(j.back.from))
	}
	j.tally["G6"].note("the cluster was restored: versions are not counted one by one")
}

// changes yields the load's changes, except those that a restore may have undone before they reached storage. Later
// ones are matched with the requests received after the restore; one that a leftover of the time before seems to cover
// is unconfirmed.
func (j *judge) changes() iter.Seq[history.Change] {
	if !j.back.happened() {
		return j.book.changes()
	}
	return func(yield func(history.Change) bool) {
		for c := range j.book.changes() {
			if (c.Stored != 0 || c.Finished < j.back.saved) && !yield(c) {
				return
			}
		}
		for c := range j.after.changes() {
			if c.Object += len(j.book.keys); c.Stored != 0 && c.Stored < c.Started {
				c.Stored, c.Arrived, c.Unconfirmed = 0, 0, true
			}
			if !yield(c) {
				return
			}
		}
	}
}
