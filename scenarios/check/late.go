package check

import (
	"time"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// LeastFence is how long a key's next write waits at least after a request without an
// answer; with a longer storage timeout it waits that long. A request of unknown outcome
// may be applied late, but whoever keeps to the fence has written nothing meanwhile that
// it could overwrite (G10).
const LeastFence = 5 * time.Second

// lateWrite is a violation that storage may be to blame for, held back until it is known
// whether the state was repaired in time.
type lateWrite struct {
	guarantee string
	key       *keyState
	seq       uint64
	applied   int64
	next      int64 // when the key's next request was applied; 0: never
	text      string
}

// storagesDoing reports whether a violation by a request has an explanation other than a
// watcher that sends out of order or within its fence; prev is what came before. Only a
// storage without preconditions lets one happen, and only a request that it applied when
// the client could not know of it.
func (j *judge) storagesDoing(r *request, prev touch) bool {
	if !r.unknown || j.h.Mode == ModeConditional || prev.received <= r.received {
		return false // what was sent later is older
	}
	e := r.e
	answered := e.Responded != 0 && (j.h.StorageTimeout == 0 || e.Responded-e.Received <= j.h.StorageTimeout)
	switch {
	case r.twice, answered && e.Responded < e.Applied:
		return true // the client had its answer, and nothing to wait for
	case j.startedBetween(r.received, prev.received):
		return true // the one that had to wait is gone
	}
	return prev.received-r.received >= max(int64(LeastFence), j.h.StorageTimeout)
}

// startedBetween reports whether another watcher process began in between.
func (j *judge) startedBetween(from, to int64) bool {
	for _, s := range j.starts {
		if s > from && s <= to {
			return true
		}
	}
	return false
}

// violate counts a violation, or holds it back. One without a prev goes with the others
// of its request.
func (j *judge) violate(guarantee string, k *keyState, r *request, prev touch, text func() string) {
	overtaken := r.unknown && !r.fenced && prev.seq != 0 && prev.received > r.received
	r.fenced = r.fenced || overtaken
	if prev.seq != 0 && !j.storagesDoing(r, prev) {
		r.blamed = true
	}
	if r.blamed {
		j.tally[guarantee].fail(text)
		if overtaken {
			j.tally["G10"].fail(text)
		}
		return
	}
	if j.unrepaired == nil {
		j.unrepaired = make(map[*keyState][]int)
	}
	hold := func(guarantee string) {
		j.unrepaired[k] = append(j.unrepaired[k], len(j.late))
		j.late = append(j.late, lateWrite{guarantee: guarantee, key: k, seq: r.seq, applied: r.applied, text: text()})
	}
	hold(guarantee)
	if overtaken {
		hold("G10")
	}
}

// followUp notes the next request of a key after violations that are held back.
func (j *judge) followUp(k *keyState, e *ledger.Entry) {
	for _, i := range j.unrepaired[k] {
		j.late[i].next = e.Applied
	}
	delete(j.unrepaired, k)
}

// settle decides the violations that were held back. Whoever compares storage with the
// cluster repairs them within a period; a cut cell does not show it.
func (j *judge) settle() {
	repaired, broken := make(map[uint64]bool), make(map[uint64]bool)
	notes := make(map[string]int)
	for i := range j.late {
		w := &j.late[i]
		why := "nothing repaired it"
		switch in := w.next - w.applied; {
		case j.h.Cut:
			t := j.tally[w.guarantee]
			t.judged = max(0, t.judged-1)
			notes[w.guarantee]++
			continue
		case !j.settled(w.key):
		case j.h.SyncPeriod != 0 && w.next != 0 && in > j.h.SyncPeriod+healGrace:
			why = "its next request came after " + seconds(in) + ", the synchronizer's period is " + seconds(j.h.SyncPeriod)
		default:
			repaired[w.seq] = true
			notes[w.guarantee]++
			continue
		}
		if w.guarantee == "G2" || w.guarantee == "G3" || w.guarantee == "G4" {
			broken[w.seq] = true
		}
		j.tally[w.guarantee].fail(func() string { return w.text + "; " + why })
	}
	j.repaired = int64(len(repaired))
	j.reordered += int64(len(broken))
	for g, n := range notes {
		if j.h.Cut {
			j.tally[g].note("cut: %d requests that storage applied late, over newer state, are not judged", n)
		} else {
			j.tally[g].note("storage applied %d requests over newer state that no client could keep from it, and they were repaired", n)
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
