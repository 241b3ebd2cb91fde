package check

import (
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

type tampering struct {
	mark     history.Mark
	repaired int64 // when the repair was applied; 0: never
	seq      uint64
}

// readMarks finds the process whose counters were read, the tampering, and since when the watcher must have received
// everything.
func (j *judge) readMarks() (ready int64) {
	ready = j.h.WatcherReady
	starts := int64(0)
	var marked int64
	for _, m := range j.h.Marks {
		switch m.What {
		case history.MarkStarted:
			if starts++; starts > 1 {
				j.lastStart = max(j.lastStart, m.Time)
			}
		case history.MarkReady:
			marked = max(marked, m.Time)
		case history.MarkTamperAdd, history.MarkTamperEdit, history.MarkTamperRemove:
			k := canonicalKey(m)
			j.tamper[k] = append(j.tamper[k], &tampering{mark: m})
		case history.MarkUnserved, history.MarkServed:
			j.notServed.mark(m)
		default:
			j.back.mark(m)
		}
	}
	j.restarted = max(0, starts-1)
	j.down = j.h.withoutWatcher()
	ready = max(ready, marked)
	if j.lastStart > ready {
		return endOfTime // restarted, and nobody saw it become ready
	}
	return ready
}

// window is a time in which a kind was not served.
type window struct{ from, to int64 }

// unserved is when the apiserver did not serve a kind. Its objects live on meanwhile and come back with their uids,
// although a watcher must take them for gone.
type unserved map[string][]window

func (u unserved) mark(m history.Mark) {
	all := u[m.Kind]
	open := len(all) > 0 && all[len(all)-1].to == endOfTime
	switch {
	case m.What == history.MarkUnserved && !open:
		u[m.Kind] = append(all, window{m.Time, endOfTime})
	case m.What == history.MarkServed && open:
		all[len(all)-1].to = m.Time
	}
}

func (u unserved) at(kind string, at int64) bool {
	for _, w := range u[kind] {
		if at >= w.from && at < w.to {
			return true
		}
	}
	return false
}

// canonicalKey is the key that was tampered with, as the book has it.
func canonicalKey(m history.Mark) history.Key {
	return history.Key{Kind: canonicalKind(m.Kind), Namespace: m.Namespace, Name: m.Name}
}

// restarts judges G9: storage converged although the watcher was restarted.
func (j *judge) restarts() {
	t := j.tally["G9"]
	g1 := j.tally["G1"]
	switch {
	case j.restarted == 0:
		t.note("the watcher was not restarted")
	case g1.judged == 0:
		t.note("G1 was not judged")
	default:
		t.judged = j.restarted
		j.eachRestart(t)
		if g1.violations > 0 {
			t.failN(g1.violations, "after %d restarts: %s", j.restarted, g1.examples[0])
		}
	}
}

// eachRestart counts the restarts after which storage did not catch up while the load went on.
func (j *judge) eachRestart(t *tally) {
	converged, diverged, started, since := int64(0), int64(0), int64(0), int64(0)
	for _, m := range j.h.Marks {
		switch m.What {
		case history.MarkStarted:
			if started++; started > 1 {
				since++
			}
		case history.MarkConverged:
			converged, since = converged+1, 0
		case history.MarkDiverged:
			diverged++
			t.fail("at %s storage had not caught up after a restart: %s", clock(m.Time), m.Note)
		}
	}
	if converged+diverged == 0 {
		t.note("all restarts are judged by the final states alone: it is G1 once more")
		return
	}
	t.note("storage caught up after %d of %d restarts while the load went on", converged, j.restarted)
	if sharing := j.restarted - converged - since; sharing > 0 {
		t.note("%d watchers ended before that and are judged with the next", sharing)
	}
	if since > 0 {
		t.note("the last %d restarts are judged by the final states alone", since)
	}
}

type tamperings map[history.Key][]*tampering

func (all tamperings) healedBy(k *keyState, e *ledger.Entry) {
	if len(all) == 0 {
		return
	}
	for _, t := range all[k.Key] {
		if t.repaired != 0 || e.Applied < t.mark.Time {
			continue
		}
		if want := t.mark.What == history.MarkTamperAdd; want == (e.Method == "DELETE") {
			t.repaired, t.seq = e.Applied, e.Seq
		}
	}
}

// healGrace is how much longer than the synchronizer's period a repair may take: a round lists storage and waits in the
// queues.
const healGrace = int64(2e9)

// judge judges G12.
func (all tamperings) judge(t *tally, h *History, b *book) {
	switch {
	case len(all) == 0:
		t.note("storage was not tampered with")
		return
	case h.SyncPeriod == 0:
		t.note("no synchronizer ran")
		return
	}
	for _, m := range h.Marks {
		for _, d := range all[canonicalKey(m)] {
			if d.mark != m || !d.repairOwed(h, b) {
				continue
			}
			t.judged++
			took := d.repaired - m.Time
			if d.repaired != 0 && took <= h.SyncPeriod+healGrace {
				continue
			}
			how := "and nothing repaired it"
			if d.repaired != 0 {
				how = fmt.Sprintf("and seq %d repaired it after %s", d.seq, seconds(took))
			}
			t.fail("%s: %s at %s %s; the synchronizer's period is %s",
				history.Key{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}, m.What, clock(m.Time), how, seconds(h.SyncPeriod))
		}
	}
}

// repairOwed: an object that was deleted soon after needs no repair, and a record that ended before the time was up
// shows nothing.
func (d *tampering) repairOwed(h *History, b *book) bool {
	due := d.mark.Time + h.SyncPeriod + healGrace
	if h.Until != 0 && d.repaired == 0 && h.Until < due {
		return false
	}
	k := b.lookup(canonicalKind(d.mark.Kind), d.mark.Namespace, d.mark.Name)
	if k == nil || d.mark.What == history.MarkTamperAdd {
		return true
	}
	newest, known := k.newest()
	return known == 0 || k.lives[newest].deleted() == 0 || k.lives[newest].deleted() > due
}

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
