package check

import (
	"iter"
	"math"
	"net/http"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Changes matches operations with the requests that brought them to storage, for records in memory. See history.Change.
func Changes(m *Meta, ops []oplog.Record, entries []ledger.Entry) iter.Seq[history.Change] {
	b := newBook(m, 0)
	for i := range ops {
		b.addOp(&ops[i])
	}
	b.sort()
	for i := range entries {
		e := entries[i]
		e.Kind = canonicalKind(e.Kind)
		if k := b.lookup(e.Kind, e.Namespace, e.Name); k != nil {
			b.deliver(k, &e, k.upTo(e.ResourceVersion))
		}
	}
	b.settle()
	return b.changes()
}

// cover is when storage had a state, or a newer one: its earliest acknowledgement, and the earliest receipt of a
// request that it acknowledged. 0 is never.
type cover struct{ stored, arrived int64 }

func (c *cover) add(d cover) {
	if d.stored == 0 {
		return
	}
	if c.stored == 0 {
		*c = d
		return
	}
	c.stored, c.arrived = min(c.stored, d.stored), min(c.arrived, d.arrived)
}

type deletion struct {
	intended, started, finished int64
	op                          uint32
	next                        int32 // of the same key, as keyState.deletion
	life                        uint16
	bystander                   bool
}

func isChange(r *oplog.Record) bool {
	return r.Phase == oplog.PhaseLoad && r.Type != oplog.TypeHeartbeat
}

func operation(r *oplog.Record) uint32 {
	if r.ID < 0 || r.ID > math.MaxUint32 {
		return 0
	}
	return uint32(r.ID)
}

func newVersion(r *oplog.Record) version {
	v := version{rv: r.ResourceVersion, op: operation(r)}
	if !isChange(r) {
		return v
	}
	v.flags, v.intended, v.started, v.finished = versionChange, r.Intended, r.Started, r.Finished
	if r.Bystander {
		v.flags |= versionBystander
	}
	return v
}

func (b *book) addDeletion(k *keyState, life int32, r *oplog.Record) {
	if isChange(r) {
		b.deletions = append(b.deletions,
			deletion{r.Intended, r.Started, r.Finished, operation(r), k.deletion, uint16(life), r.Bystander})
		k.deletion = int32(len(b.deletions))
	}
}

// deliver notes which changes a request of the watcher brought to storage. Of the key's versions n are not above the
// request's.
//
// Versions are taken from one counter, and two objects of one name never live at once. So a state of version v is at
// least as new as every operation on its name that was answered with v or less, whatever the uid. It is also newer than
// the deletion of each object of another uid whose last version is less. A predecessor's write has a lower version than
// all of this: it never counts, whenever it is sent.
//
// A DELETE counts for the object that it removed, unless that object provably lived on: the op log wrote to it after
// the DELETE was received, or the apiserver has it in the end. It then counts for every older object too. One that
// found nothing, or an older object, may still be the end of an object that was never stored: it counts for those whose
// deletion had begun when it was received, because storage was empty from then on. But it does so only if no state of
// the object, or of an older one, is written afterwards: under a backlog it is a predecessor's DELETE, and the object's
// own requests follow. In a cell that was cut they may still be queued, so there a DELETE counts only for what it
// removed, or when it found nothing.
func (b *book) deliver(k *keyState, e *ledger.Entry, n int) {
	if e.Fault != "" {
		k.hit = true
	}
	if !e.Took() || e.Fault == history.FaultTamper {
		return
	}
	id := e.UID
	if e.Method != http.MethodDelete && e.Effect != ledger.EffectNone && k.open {
		k.reconsider(id, e.ResourceVersion)
	}
	if !e.Acked() {
		if e.Method == http.MethodDelete {
			if i := k.lookupLife(id); i >= 0 {
				k.lives[i].unconfirmed = true
			}
		} else if n > 0 {
			k.versions[n-1].flags |= versionApplied
		}
		return
	}
	c := cover{e.Responded, e.Received}
	if e.Method == http.MethodDelete {
		b.deliverDelete(k, id, e, n)
		return
	}
	brought(k, id, e.ResourceVersion, n, c)
}

// brought notes that storage had the version of that uid.
func brought(k *keyState, id string, rv uint64, n int, c cover) {
	if n == 0 {
		return
	}
	v := &k.versions[n-1]
	v.add(c)
	l := &k.lives[v.life]
	switch {
	case l.ending == nil || rv <= l.ending.last:
	case l.uid != id:
		l.ending.gone.add(c)
	case l.ending.deleted != 0:
		l.seenEnding = true
	}
}

func (b *book) deliverDelete(k *keyState, id string, e *ledger.Entry, n int) {
	c := cover{e.Responded, e.Received}
	newer := uint64(0) // objects whose last version is above may have been meant
	if e.Effect == ledger.EffectDeleted && id != "" {
		i := k.lookupLife(id)
		switch {
		case i < 0 || !k.lives[i].known:
			brought(k, id, e.ResourceVersion, n, c)
			newer = e.ResourceVersion
		case k.lives[i].alive > e.Received:
			return
		case k.lives[i].ending != nil && k.lives[i].ending.deleted != 0:
			k.lives[i].ending.gone.add(c)
			newer = k.lives[i].ending.last
		default:
			v := k.lastVersion(i, 0)
			if v == nil {
				return
			}
			v.add(c)
			newer = v.rv
		}
	}
	if newer != 0 && b.meta.Cut {
		return
	}
	var meant *ending
	for i := range k.lives {
		x := k.lives[i].ending
		if x != nil && x.deleted != 0 && x.deleted <= e.Received && (newer == 0 || x.last > newer) &&
			(meant == nil || x.last > meant.last) {
			meant = x
		}
	}
	if meant != nil {
		meant.maybe.add(c)
		k.open = true
	}
}

// reconsider withdraws what a DELETE was taken for when a state as old follows. For objects that ended before that
// state it still stands.
func (k *keyState) reconsider(id string, rv uint64) {
	var before *ending
	for i := range k.lives {
		l := &k.lives[i]
		if x := l.ending; x != nil && x.deleted != 0 && l.uid != id && x.last < rv &&
			(before == nil || x.last > before.last) {
			before = x
		}
	}
	for i := range k.lives {
		l := &k.lives[i]
		if x := l.ending; x != nil && x.maybe.stored != 0 && (l.uid == id || x.last >= rv) {
			if before != nil {
				before.maybe.add(x.maybe)
			}
			x.maybe = cover{}
		}
	}
}

func (b *book) sort() {
	for _, k := range b.keys {
		k.sortVersions()
	}
}

// settle completes what deliver noted: what storage had of a version, it had of every older one.
func (b *book) settle() {
	for _, k := range b.keys {
		var have cover
		current := -1
		for i := len(k.versions) - 1; i >= 0; i-- {
			v := &k.versions[i]
			if int(v.life) != current {
				current = int(v.life)
				have = k.lives[current].settle(have)
			}
			v.add(have)
			have.add(v.cover)
		}
		for i := range k.lives {
			if l := &k.lives[i]; l.deleted() != 0 && k.lastVersion(int32(i), 0) == nil {
				var newer cover
				if n := k.upTo(l.ending.last); n < len(k.versions) {
					newer = k.versions[n].cover
				}
				l.settle(newer)
			}
		}
	}
}

// settle completes when storage had the end of the object, given when it had something newer.
func (l *life) settle(newer cover) cover {
	if l.ending == nil {
		return newer
	}
	l.ending.gone.add(l.ending.maybe)
	l.ending.gone.add(newer)
	return l.ending.gone
}

func (b *book) changes() iter.Seq[history.Change] {
	return func(yield func(history.Change) bool) {
		for i, k := range b.keys {
			if !b.versionChanges(i, k, yield) || !b.deletionChanges(i, k, yield) {
				return
			}
		}
	}
}

// applied is the index of the newest version of which a request took effect that storage did not acknowledge, -1
// without one.
func (k *keyState) applied() int {
	i := len(k.versions) - 1
	for i >= 0 && k.versions[i].flags&versionApplied == 0 {
		i--
	}
	return i
}

func (b *book) versionChanges(object int, k *keyState, yield func(history.Change) bool) bool {
	applied := k.applied()
	for i := range k.versions {
		v := &k.versions[i]
		if v.flags&versionChange == 0 {
			continue
		}
		if !yield(history.Change{
			Unconfirmed: v.stored == 0 && i <= applied, Unversioned: v.flags&versionUncounted != 0,
			Object: object, Operation: int64(v.op), Kind: k.Kind, Bystander: v.flags&versionBystander != 0,
			Intended: v.intended, Started: v.started, Finished: v.finished, Stored: v.stored, Arrived: v.arrived,
			Gone: k.lives[v.life].deleted() != 0, Hit: k.hit,
		}) {
			return false
		}
	}
	return true
}

func (b *book) deletionChanges(object int, k *keyState, yield func(history.Change) bool) bool {
	replaced := uint64(0) // what died before this version, and was of another life, was replaced
	if i := k.applied(); i >= 0 {
		replaced = k.versions[i].rv
	}
	for n := k.deletion; n != 0; n = b.deletions[n-1].next {
		d, l := &b.deletions[n-1], &k.lives[b.deletions[n-1].life]
		if !yield(history.Change{
			Object: object, Operation: int64(d.op), Kind: k.Kind, Bystander: d.bystander, Deletion: true,
			Terminating: l.seenEnding,
			Intended:    d.intended, Started: d.started, Finished: d.finished, Stored: l.ending.gone.stored,
			Arrived:     l.ending.gone.arrived,
			Unconfirmed: l.ending.gone.stored == 0 && (l.unconfirmed || replaced > l.ending.last),
			Gone:        l.ending.gone.stored != 0 || !k.arrived(b.deletions[n-1].life), Hit: k.hit,
		}) {
			return false
		}
	}
	return true
}

// arrived reports whether storage acknowledged a state of a life, or a newer one.
func (k *keyState) arrived(life uint16) bool {
	i := slices.IndexFunc(k.versions, func(v version) bool { return v.life == life && v.flags&versionUncounted == 0 })
	return i >= 0 && k.versions[i].arrived != 0
}
