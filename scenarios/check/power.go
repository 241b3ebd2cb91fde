package check

import (
	"cmp"
	"slices"

	"github.com/watchbench/watchbench/scenarios/history"
)

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
