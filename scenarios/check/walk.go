package check

import (
	"fmt"
	"net/http"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// entry judges one request, in order of application: G2, G3, G4, G10 and the walking part of G5.
func (j *judge) entry(e *ledger.Entry) {
	if Unwatched(e.Kind) {
		if e.Kind == kindState && e.Acked() {
			j.named = max(j.named, e.Responded)
		}
		return
	}
	k := j.book.lookup(e.Kind, e.Namespace, e.Name)
	harness := e.Fault == history.FaultTamper
	unknown := !harness && j.unknownOutcome(e)
	twice, answered := j.secondEffect(e, unknown)
	if !harness && !twice {
		j.acc.request(e, unknown, e.Took() || alreadySo(k, e)) // of any kind: the watcher counts them too
	}
	if !j.h.Rules.Watches(e.Kind) {
		return
	}
	if !harness && !twice {
		j.tenures.judge(j.tally["G10"], e, k)
	}
	if !j.back.before(e.Received) {
		if k := j.after.lookup(e.Kind, e.Namespace, e.Name); k != nil {
			j.after.deliver(k, e, k.upTo(e.ResourceVersion))
		}
		return
	}
	if unknown && !j.endedWith(e) {
		j.tally["G10"].judged++
	}
	n := 0
	if k != nil {
		n = k.upTo(e.ResourceVersion)
		j.book.deliver(k, e, n)
	}
	if !e.Took() {
		return
	}
	if k == nil {
		k = j.book.key(e.Kind, e.Namespace, e.Name)
	}
	r := &j.request // one at a time: a million allocations less
	*r = request{
		e: e, touch: touch{seq: e.Seq, rv: e.ResourceVersion, received: e.Received, applied: e.Applied}, upTo: n,
		unknown: unknown, harness: harness, twice: twice && answered,
	}
	if !harness {
		j.tamper.healedBy(k, e)
		j.followUp(k, e)
	}
	if e.Method == http.MethodPut {
		j.put(k, r)
	} else {
		j.del(k, r)
	}
}

// alreadySo reports whether a request that was not taken asked for what storage held: nothing, or that very version. k
// is nil where no request for its key was ever taken.
func alreadySo(k *keyState, e *ledger.Entry) bool {
	if e.Method != http.MethodDelete {
		return k != nil && k.heldLife >= 0 && k.held.rv == e.ResourceVersion && k.uid(k.heldLife) == e.UID
	}
	if k == nil || k.heldLife >= 0 {
		return k == nil
	}
	k.looked++
	return true
}

// secondEffect reports whether an entry is the second effect of a request that storage applied twice, though the client
// sent it once, and whether that was answered.
func (j *judge) secondEffect(e *ledger.Entry, unknown bool) (twice, answered bool) {
	if e.Fault == "" || e.Fault == history.FaultTamper {
		return false, false
	}
	id := arrival{history.Key{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}, e.Received}
	if answered, twice = j.arrived[id]; twice && e.Responded == 0 {
		return true, answered
	}
	if j.arrived == nil {
		j.arrived = make(map[arrival]bool)
	}
	j.arrived[id] = !unknown
	return false, false
}

// arrival is one request as it came in.
type arrival struct {
	key      history.Key
	received int64
}

// request is one entry while it is judged.
type request struct {
	e *ledger.Entry
	touch
	upTo    int // of the key's versions, those that are not above its own
	unknown bool
	harness bool
	again   bool // the same state had been applied before
	fenced  bool // already counted against G10
	twice   bool // the second effect of a request that was answered
	blamed  bool // a violation of it has no lawful explanation
}

// unknownOutcome reports whether the client could not know that the request was applied: no answer, an answer before
// the effect, or one after it gave up.
func (j *judge) unknownOutcome(e *ledger.Entry) bool {
	return e.Responded == 0 || e.Responded < e.Applied ||
		j.h.StorageTimeout > 0 && e.Responded-e.Received > j.h.StorageTimeout
}

// endedWith reports whether a request was under way when the watcher of a cut cell was killed: nobody could write after
// it.
func (j *judge) endedWith(e *ledger.Entry) bool {
	if !j.h.Cut || len(j.h.Marks) == 0 {
		return false
	}
	last := j.h.Marks[len(j.h.Marks)-1]
	under := last.Time - e.Received
	return last.What == history.MarkKilled && under >= 0 && (j.h.StorageTimeout == 0 || under < j.h.StorageTimeout)
}

func (j *judge) put(k *keyState, r *request) {
	i := k.life(r.e.UID)
	if r.rv != 0 {
		top := &k.lives[i].top
		r.again = k.see(i, r.rv, r.upTo) || top.seq != 0 && top.rv == r.rv
	}
	if r.e.Effect == ledger.EffectNone {
		return // a duplicate Event: accepted, nothing changed
	}
	if r.e.Effect == ledger.EffectCreated {
		k.heldLife = -1 // whatever was there had gone, by retention or a cluster-wide DELETE
	}
	if !r.harness && r.rv != 0 {
		j.judgePut(k, i, r)
	}
	k.held, k.heldLife, k.replaced = r.touch, i, true
	l := &k.lives[i]
	if r.rv >= l.top.rv {
		l.top = r.touch
	}
}

// judgePut compares a PUT with what came before. One request can break several guarantees and is counted once as
// reordered.
func (j *judge) judgePut(k *keyState, i int32, r *request) {
	l := &k.lives[i]
	broken := false
	if l.top.seq != 0 {
		j.tally["G2"].judged++
		if r.rv < l.top.rv {
			broken = true
			j.violate("G2", k, r, l.top, "%s uid %s: version went down from %d to %d: %s was applied after %s",
				k, k.uid(i), l.top.rv, r.rv, r.text(), putText(l.top))
		}
	}
	if k.heldLife >= 0 {
		j.tally["G3"].judged++
		if k.older(i, r.rv, k.heldLife, k.held.rv) {
			broken = true
			with := fmt.Sprintf("version %d", r.rv)
			if i != k.heldLife {
				with += " of the older uid " + k.uid(i)
			}
			j.violate("G3", k, r, k.held, "%s: storage held uid %s version %d (%s) and %s replaced it with %s",
				k, k.uid(k.heldLife), k.held.rv, putText(k.held), r.text(), with)
		}
	}
	if prev, text := j.resurrects(k, i, r); text != "" {
		broken = true
		j.violate("G4", k, r, prev, "%s", text)
	}
	if r.again {
		j.tally["G11"].judged++
		if broken {
			j.violate("G11", k, r, touch{},
				"%s: uid %s version %d had been applied before; %s applied it again over newer state", k, k.uid(i), r.rv, r.text())
		}
	}
	if broken && r.blamed {
		j.reordered++
	}
}

// resurrects finds the DELETE that a PUT goes against, if any.
func (j *judge) resurrects(k *keyState, i int32, r *request) (touch, string) {
	l := &k.lives[i]
	if removed := l.removed(); removed.seq != 0 {
		returned := l.withdrawn && !j.notServed.at(k.Kind, r.received)
		if l.wrong || l.byHarness || returned {
			return touch{}, ""
		}
		return removed, fmt.Sprintf("%s: uid %s was removed by %s and written again by %s with version %d",
			k, k.uid(i), deleteText(removed), r.text(), r.rv)
	}
	if n := k.newestRemoved; n >= 0 && n != i && k.older(i, r.rv, n, k.lives[n].removed().rv) {
		removed := k.lives[n].removed()
		return removed, fmt.Sprintf("%s: %s wrote uid %s version %d, older than uid %s, which %s had removed",
			k, r.text(), k.uid(i), r.rv, k.uid(n), deleteText(removed))
	}
	return touch{}, ""
}

func (j *judge) del(k *keyState, r *request) {
	if !r.harness {
		k.deletes++
	}
	if r.e.Effect != ledger.EffectDeleted {
		if !r.harness {
			k.none = new(touch)
			*k.none = r.touch
			if k.newestRemoved >= 0 {
				j.tally["G11"].judged++ // a repeated DELETE that changed nothing
			}
		}
		return
	}
	i := k.heldLife
	if r.e.UID != "" || i < 0 {
		i = k.life(r.e.UID)
	}
	l := &k.lives[i]
	if r.rv == 0 {
		r.rv = k.held.rv
	}
	l.end().removed, l.byHarness = r.touch, r.harness
	l.withdrawn = !r.harness && j.notServed.at(k.Kind, r.received)
	if !r.harness {
		j.judgeDelete(k, i, r)
		if !l.wrong && (k.newestRemoved < 0 || k.older(k.newestRemoved, k.lives[k.newestRemoved].removed().rv, i, r.rv)) {
			k.newestRemoved = i
		}
	}
	k.heldLife, k.replaced = -1, true
}

// judgeDelete convicts a DELETE of an object that provably lived on: the op log wrote to it after the DELETE had been
// received, or the apiserver still has it.
func (j *judge) judgeDelete(k *keyState, i int32, r *request) {
	l := &k.lives[i]
	_, known := k.newest()
	g, what := "G3", "which had not been deleted"
	if known > 1 { // created again
		g, what = "G5", "the new object of this name, which had not been deleted"
	}
	if l.known || l.alive != 0 {
		j.tally[g].judged++
	}
	l.wrong = l.alive > r.received && !l.withdrawn
	if !l.wrong {
		j.tally["G4"].judged++
		return
	}
	alive := "the apiserver still has it"
	if until := l.alive; until != endOfTime {
		alive = "the op log wrote to it at " + clock(until)
	}
	j.violate(g, k, r, k.held, "%s: %s removed uid %s version %d, %s: %s", k, r.text(), k.uid(i), r.rv, what, alive)
}

// settleNone convicts a PUT that came after the DELETE of its uid where that DELETE found nothing and so names no uid.
// Only at the end is it certain: before, the DELETE may have belonged to an earlier uid.
func (j *judge) settleNone() {
	if j.open() {
		return
	}
	for _, k := range j.book.keys {
		if k.none == nil || k.heldLife < 0 || k.none.seq > k.held.seq {
			continue
		}
		l := &k.lives[k.heldLife]
		if l.deleted() == 0 || l.alive == endOfTime || k.none.received < l.deleted() || l.removed().seq != 0 {
			continue
		}
		j.tally["G4"].judged++
		j.reordered++
		j.tally["G4"].fail("%s: uid %s was deleted at %s; %s found nothing, then %s wrote version %d, and nothing removed it",
			k, k.uid(k.heldLife), clock(l.deleted()), deleteText(*k.none), putText(k.held), k.held.rv)
	}
}
