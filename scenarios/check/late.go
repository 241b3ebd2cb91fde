package check

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// leastFence is how long a key's next write waits at least after its client gave up a request; with a longer storage
// timeout it waits that long. So nothing is there meanwhile that the request could overwrite (G10).
const leastFence = 5 * time.Second

// fenceSlack is how much later than its client storage may learn that it gave up.
const fenceSlack = 250 * time.Millisecond

// FenceEnd is from when on a key may be written again after a request of unknown outcome (Unix nanoseconds). Its client
// gave up when the ledger says, which a busy storage learns late, and at the latest when the storage timeout was over;
// 0 is an unknown one.
func FenceEnd(e *ledger.Entry, timeout time.Duration) int64 {
	gone := e.Received + int64(timeout)
	if e.Gone != 0 && (timeout == 0 || e.Gone < gone) {
		gone = e.Gone
	}
	return gone + int64(max(leastFence, timeout)-fenceSlack)
}

// lateWrite is a violation that storage may be to blame for, held back until it is known whether the state was repaired
// in time.
type lateWrite struct {
	guarantee string
	key       *keyState
	seq       uint64
	applied   int64
	text      string
	// life and rv identify the state before; if storage held nothing, the newest of the request's own object.
	life     int32
	rv       uint64
	nothing  bool
	repaired int64 // when a request brought that back, or something newer; 0: never
}

// storagesDoing reports whether storage rather than the watcher caused a violation; prev is the request before. Only a
// storage without preconditions can, by applying a request when the client could not know of it.
func (j *judge) storagesDoing(r *request, prev touch) bool {
	if !r.unknown || j.h.Mode == ModeConditional || prev.received <= r.received {
		return false // what was sent later is older
	}
	e := r.e
	answered := e.Responded != 0 && (j.h.StorageTimeout == 0 || e.Responded-e.Received <= j.h.StorageTimeout)
	switch {
	case r.twice, answered && e.Responded < e.Applied:
		return true // the client had its answer, and nothing to wait for
	case j.replacedBetween(r.received, prev.received):
		return true // the one that had to wait is gone
	}
	return prev.received >= FenceEnd(e, time.Duration(j.h.StorageTimeout))
}

// replacedBetween reports whether a watcher process had ended when another began in between.
func (j *judge) replacedBetween(from, to int64) bool {
	return slices.ContainsFunc(j.down, func(w window) bool { return w.to > from && w.to <= to })
}

// violate counts a violation, or holds it back. One without a prev goes with the others of its request.
func (j *judge) violate(guarantee string, k *keyState, r *request, prev touch, format string, args ...any) {
	overtaken := r.unknown && !r.fenced && prev.seq != 0 && prev.received > r.received
	r.fenced = r.fenced || overtaken
	if prev.seq != 0 && !j.storagesDoing(r, prev) {
		r.blamed = true
	}
	if r.blamed {
		j.tally[guarantee].fail(format, args...)
		if overtaken {
			j.tally["G10"].fail(format, args...)
		}
		return
	}
	if j.unrepaired == nil {
		j.unrepaired = make(map[*keyState][]int)
	}
	hold := func(guarantee string) {
		j.unrepaired[k] = append(j.unrepaired[k], len(j.late))
		w := lateWrite{guarantee: guarantee, key: k, seq: r.seq, applied: r.applied, life: k.heldLife, rv: k.held.rv,
			text: fmt.Sprintf(format, args...)}
		if w.life < 0 {
			w.life, w.nothing = k.life(r.e.UID), true
			w.rv = max(r.rv, k.lives[w.life].top.rv)
		}
		j.late = append(j.late, w)
	}
	hold(guarantee)
	if overtaken {
		hold("G10")
	}
}

func (j *judge) followUp(k *keyState, e *ledger.Entry) {
	open := j.unrepaired[k]
	if open == nil {
		return
	}
	open = slices.DeleteFunc(open, func(i int) bool {
		if !j.late[i].repairedBy(k, e) {
			return false
		}
		j.late[i].repaired = e.Applied
		return true
	})
	if j.unrepaired[k] = open; len(open) == 0 {
		delete(j.unrepaired, k)
	}
}

// repairedBy reports whether a request restores the overwritten state or writes a newer one. Where storage held
// nothing, that was right unless the object lived on.
func (w *lateWrite) repairedBy(k *keyState, e *ledger.Entry) bool {
	if e.Method == http.MethodDelete {
		return k.lives[w.life].alive <= e.Received
	}
	i := k.life(e.UID)
	ended := k.lives[w.life].known && k.lives[w.life].alive <= e.Received
	return !k.older(i, e.ResourceVersion, w.life, w.rv) && (!w.nothing || i != w.life || !ended)
}

// settle decides the violations that were held back. Whoever compares storage with the cluster repairs them within a
// period; a cut cell does not show it.
func (j *judge) settle() {
	broken := make(map[uint64]bool)
	notes := make(map[string]int)
	for i := range j.late {
		w := &j.late[i]
		why := "nothing repaired it"
		switch in := w.repaired - w.applied; {
		case j.open():
			t := j.tally[w.guarantee]
			t.judged = max(0, t.judged-1)
			notes[w.guarantee]++
			continue
		case !j.settled(w.key) || w.repaired == 0:
		case j.h.SyncPeriod == 0:
			why = "no synchronizer ran to repair it"
		case in > j.h.SyncPeriod+healGrace:
			why = "it was repaired after " + seconds(in) + ", the synchronizer's period is " + seconds(j.h.SyncPeriod)
		default:
			notes[w.guarantee]++
			continue
		}
		if w.guarantee == "G2" || w.guarantee == "G3" || w.guarantee == "G4" {
			broken[w.seq] = true
		}
		j.tally[w.guarantee].fail("%s; %s", w.text, why)
	}
	j.reordered += int64(len(broken))
	for g, n := range notes {
		if j.open() {
			j.tally[g].note("cut: %d requests that storage applied late, over newer state, are not judged", n)
		} else {
			j.tally[g].note("storage applied %d requests over newer state that no client could keep from it, and they were "+
				"repaired", n)
		}
	}
	j.settleNone()
}

// settled reports whether storage ends with what it should for the key.
func (j *judge) settled(k *keyState) bool {
	switch {
	case j.book.haveState:
		return !k.differs
	case j.book.haveOps:
		return j.holdsFinal(k)
	default:
		// Only the ledger: right is the youngest state it ever saw.
		return k.heldLife < 0 || k.held.rv >= k.lives[k.heldLife].top.rv
	}
}
