package check

import (
	"cmp"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
)

// life is one uid under a name.
type life struct {
	uid         string
	created     uint64 // resourceVersion of its creation by the op log, else the lowest one seen there
	alive       int64  // it certainly existed at this time
	top         touch  // the PUT with the highest version applied so far
	ending      *ending
	known       bool // the op log has it
	wrong       bool // removed by a DELETE while it was alive
	byHarness   bool // removed by tampering
	withdrawn   bool // removed while its kind was not served
	exemptDel   bool // its deletion came before the watcher was ready
	terminating bool // a PUT carried its terminating state, which no operation answers
	seenEnding  bool // the same, and storage acknowledged it
	unconfirmed bool // a DELETE that storage did not acknowledge removed it
}

// ending is the end of an object: its deletion by the op log, its removal by the ledger, or both.
type ending struct {
	deleted int64  // start of the operation that deleted it; 0 when none did
	last    uint64 // its highest version by the op log
	removed touch  // the last DELETE that removed it
	// gone is when storage acknowledged its end; maybe stands until an older state is written. See book.deliver.
	gone, maybe cover
}

// end is the life's ending, made when missing.
func (l *life) end() *ending {
	if l.ending == nil {
		l.ending = &ending{}
	}
	return l.ending
}

func (l *life) deleted() int64 {
	if l.ending == nil {
		return 0
	}
	return l.ending.deleted
}

func (l *life) removed() touch {
	if l.ending == nil {
		return touch{}
	}
	return l.ending.removed
}

// life is the index of a uid under the key, made when missing.
func (k *keyState) life(uid string) int32 {
	if i := k.lookupLife(uid); i >= 0 {
		return i
	}
	if len(k.lives) == maxLives {
		return maxLives - 1
	}
	k.lives = append(k.lives, life{uid: uid})
	return int32(len(k.lives) - 1)
}

// lookupLife is the index of a uid under the key, -1 when it never appeared.
func (k *keyState) lookupLife(uid string) int32 {
	for i := len(k.lives) - 1; i >= 0; i-- {
		if k.lives[i].uid == uid {
			return int32(i)
		}
	}
	return -1
}

func (k *keyState) uid(life int32) string { return k.lives[life].uid }

// older reports whether uid a (as written with version rvA) came before uid b. Versions are taken from one counter for
// the whole cluster, so those of a later object are higher; the op log's creations decide where it has both.
func (k *keyState) older(a int32, rvA uint64, b int32, rvB uint64) bool {
	if a == b {
		return rvA < rvB
	}
	ca, cb := k.lives[a].created, k.lives[b].created
	if ca != 0 && cb != 0 && ca != cb {
		return ca < cb
	}
	return rvA < rvB
}

// newest is the youngest uid the op log knows, -1 when it knows none, and how many it knows.
func (k *keyState) newest() (index int32, known int) {
	index = -1
	for i := range k.lives {
		if !k.lives[i].known {
			continue
		}
		known++
		if index < 0 || k.lives[i].created > k.lives[index].created {
			index = int32(i)
		}
	}
	return index, known
}

// version is one state the apiserver acknowledged, by the operation that made it.
type version struct {
	rv                          uint64
	intended, started, finished int64
	cover
	op    uint32 // id of the operation; 0 when it does not fit
	life  uint16
	flags uint8
}

const (
	versionSeen      = 1 << iota // an applied PUT carried it
	versionExempt                // acknowledged before the watcher was ready
	versionHeartbeat             // may lawfully be skipped
	versionUncounted             // the operation changed nothing, or its answer had no version
	versionChange                // made by an operation of the load
	versionBystander
	versionApplied // a request that took effect and was not acknowledged brought it
)

// sortVersions orders by version. Of writes that were answered with one version all but the first changed nothing.
func (k *keyState) sortVersions() {
	inOrder := func(a, b version) int { return cmp.Or(cmp.Compare(a.rv, b.rv), cmp.Compare(a.op, b.op)) }
	if !slices.IsSortedFunc(k.versions, inOrder) {
		slices.SortFunc(k.versions, inOrder)
	}
	for i := range k.versions {
		v := &k.versions[i]
		if i > 0 && v.rv == k.versions[i-1].rv && v.life == k.versions[i-1].life {
			v.flags |= versionUncounted
		}
		if e := k.lives[v.life].ending; e != nil {
			e.last = max(e.last, v.rv)
		}
	}
}

// upTo is the number of versions that are not above rv.
func (k *keyState) upTo(rv uint64) int {
	n, _ := slices.BinarySearchFunc(k.versions, rv, func(v version, rv uint64) int {
		if v.rv <= rv {
			return -1
		}
		return 1
	})
	return n
}

// see marks the version an applied PUT carried and reports whether one had before. Of the key's versions n are not
// above it.
func (k *keyState) see(life int32, rv uint64, n int) (again bool) {
	for i := n - 1; i >= 0 && k.versions[i].rv == rv; i-- {
		if v := &k.versions[i]; int32(v.life) == life && v.flags&versionUncounted == 0 {
			again = v.flags&versionSeen != 0
			v.flags |= versionSeen
			return again
		}
	}
	l := &k.lives[life]
	l.terminating = l.terminating || l.deleted() != 0 && rv > k.finalVersion(life)
	return false
}

func (k *keyState) finalVersion(life int32) uint64 {
	if v := k.lastVersion(life, versionHeartbeat); v != nil {
		return v.rv
	}
	return 0
}

// lastVersion is the last version of a uid without that flag, nil when there is none.
func (k *keyState) lastVersion(life int32, without uint8) *version {
	for i := len(k.versions) - 1; i >= 0; i-- {
		if v := &k.versions[i]; int32(v.life) == life && v.flags&without == 0 {
			return v
		}
	}
	return nil
}

func (e *ending) deletedBy(r *oplog.Record) {
	if e.deleted == 0 {
		e.deleted = r.Started
	}
	e.last = max(e.last, r.ResourceVersion)
}

// power is how many pairs of consecutive states of one name, made by the load, could have been swapped on the way to
// storage: the apiserver acknowledged the later one before storage had the earlier one, or anything newer. A state that
// a newer one replaced unsent counts, but not where the strategy sends every state and no request failed. States made
// while no watcher ran never waited together: the next watcher lists the last.
type power struct {
	ordered     int64 // G2: writes of one uid
	stale       int64 // G3: writes of one name
	resurrected int64 // G4: the last write of a uid, and its deletion
	recreated   int64 // G5: the deletion of a uid, and the first write of the next one
}

// power is counted when op log and ledger were read; it keeps nothing. down are the times without a watcher; every says
// that the strategy sends every state.
func (b *book) power(down []window, every bool) (p power) {
	unseen := func(finished, next int64) bool {
		return slices.ContainsFunc(down, func(w window) bool { return finished >= w.from && next < w.to })
	}
	var states []version
	for _, k := range b.keys {
		states = states[:0]
		for _, v := range k.versions {
			unsent := every && v.flags&(versionChange|versionSeen) == versionChange
			if v.flags&versionUncounted == 0 && !unsent {
				states = append(states, v)
			}
		}
		for i := 1; i < len(states); i++ {
			last, v := &states[i-1], &states[i]
			if last.flags&versionChange != 0 && waited(last.stored, v) && !unseen(last.finished, v.finished) {
				p.stale++
				if last.life == v.life {
					p.ordered++
				}
			}
		}
		for n := k.deletion; n != 0; n = b.deletions[n-1].next {
			d := &b.deletions[n-1]
			if end := k.lives[d.life].ending; !every || end.gone.stored != 0 {
				p.addEnd(states, d, end, unseen)
			}
		}
	}
	return p
}

// addEnd counts the pairs of a deletion that were not unseen.
func (p *power) addEnd(states []version, d *deletion, end *ending, unseen func(finished, next int64) bool) {
	for i := len(states) - 1; i >= 0; i-- {
		if v := &states[i]; v.life == d.life {
			if v.flags&versionChange != 0 && v.stored != 0 && d.finished < v.stored && !unseen(v.finished, d.finished) {
				p.resurrected++
			}
			break
		}
	}
	n := slices.IndexFunc(states, func(v version) bool { return v.rv > end.last })
	if n >= 0 && waited(end.gone.stored, &states[n]) && !unseen(d.finished, states[n].finished) {
		p.recreated++
	}
}

// waited reports whether a state was there before storage had its predecessor.
func waited(stored int64, next *version) bool {
	return stored != 0 && next.flags&versionChange != 0 && next.finished < stored
}

func (j *judge) power() {
	if j.h.Ledger == nil || !j.book.haveOps {
		return
	}
	// Behind a request that failed, a newer state lawfully takes the place of one that was sent.
	p := j.book.power(j.down, j.h.Queue > 0 && j.acc.total.failed == 0)
	for g, n := range map[string]int64{"G2": p.ordered, "G3": p.stale, "G4": p.resurrected, "G5": p.recreated} {
		j.tally[g].power = &n
	}
}

// withoutWatcher are the times between the end of a watcher and the start of the next. A second one that runs beside
// the first has no marks; replicas that wait have nothing.
func (h *History) withoutWatcher() (down []window) {
	from := int64(0)
	for _, m := range h.Marks {
		switch {
		case m.What == history.MarkKilled || m.What == history.MarkExited:
			from = cmp.Or(from, m.Time)
		case m.What == history.MarkStarted && from != 0:
			down, from = append(down, window{from, m.Time}), 0
		}
	}
	return down
}
