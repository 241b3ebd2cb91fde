package check

// power is how many pairs of consecutive states of one name could have been swapped on
// the way to storage, by guarantee: the later one was acknowledged by the apiserver
// before storage had acknowledged the earlier one, or anything newer. Both are made by
// the load. A state that was never sent because a newer one replaced it counts: it
// waited together with that one. A state that storage never had shows nothing.
type power struct {
	ordered     int64 // G2: writes of one uid
	stale       int64 // G3: writes of one name
	resurrected int64 // G4: the last write of a uid, and its deletion
	recreated   int64 // G5: the deletion of a uid, and the first write of the next one
}

// power is counted when op log and ledger were read; it keeps nothing.
func (b *book) power() (p power) {
	for _, k := range b.keys {
		var last *version
		for i := range k.versions {
			v := &k.versions[i]
			if v.flags&versionUncounted != 0 {
				continue
			}
			if last != nil && last.flags&versionChange != 0 && b.waited(b.times(last).stored, v) {
				p.stale++
				if last.life == v.life {
					p.ordered++
				}
			}
			last = v
		}
		for n := k.deletion; n != 0; n = b.deletions[n-1].next {
			b.addEnd(&p, k, &b.deletions[n-1])
		}
	}
	return p
}

// addEnd counts the pairs of a deletion.
func (b *book) addEnd(p *power, k *keyState, d *deletion) {
	if v := k.lastVersion(int32(d.life), versionUncounted); v != nil && v.flags&versionChange != 0 {
		if stored := b.times(v).stored; stored != 0 && d.finished < stored {
			p.resurrected++
		}
	}
	end := k.lives[d.life].ending
	if n := k.upTo(end.last); n < len(k.versions) && b.waited(end.gone.stored, &k.versions[n]) {
		p.recreated++
	}
}

// waited reports whether a state was there before storage had its predecessor.
func (b *book) waited(stored int64, next *version) bool {
	return stored != 0 && next.flags&versionChange != 0 && b.times(next).finished < stored
}

// power notes what the order checks are worth, where the record tells.
func (j *judge) power() {
	if j.h.Ledger == nil || !j.book.haveOps {
		return
	}
	p := j.book.power()
	for g, n := range map[string]int64{"G2": p.ordered, "G3": p.stale, "G4": p.resurrected, "G5": p.recreated} {
		j.tally[g].power = &n
	}
}
