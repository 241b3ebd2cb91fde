package check

import "fmt"

// owed counts what the watcher must have handled of one kind, by the op log.
type owed struct {
	expected  int64 // versions and deletions it must have received
	missing   int64 // those that no applied request carried, heartbeats left out
	skipped   int64 // heartbeats that no applied request carried
	deleted   int64 // deletions among the expected
	ending    int64 // deleted objects whose terminating state a request carried
	keys      int64
	lost      int64 // keys whose final state storage lacks
	unsent    int64 // those of them whose final state no applied request carried
	example   string
	unsentKey string
}

func (j *judge) compare() map[string]*owed {
	kinds := make(map[string]*owed)
	for _, k := range j.book.keys {
		if !k.wanted || len(k.lives) == 0 {
			continue
		}
		if _, known := k.newest(); known == 0 {
			continue
		}
		o := kinds[k.Kind]
		if o == nil {
			o = &owed{}
			kinds[k.Kind] = o
		}
		o.keys++
		o.versions(k)
		o.deletions(k)
		if !j.lostKey(k) {
			continue
		}
		o.lost++
		if k.finalSent() {
			continue // sent, and then undone: a matter of order, not of conservation
		}
		if o.unsent == 0 {
			o.unsentKey = fmt.Sprintf("%s: %s", k, k.lastRequest())
		}
		o.unsent++
	}
	return kinds
}

func (o *owed) versions(k *keyState) {
	for i := range k.versions {
		v := &k.versions[i]
		if v.flags&(versionExempt|versionUncounted) != 0 {
			continue
		}
		o.expected++
		switch {
		case v.flags&versionSeen != 0:
		case v.flags&versionHeartbeat != 0:
			o.skipped++
		default:
			if o.missing == 0 {
				o.example = fmt.Sprintf("%s uid %s version %d (operation %d)", k, k.uid(int32(v.life)), v.rv, v.op)
			}
			o.missing++
		}
	}
}

// deletions compares numbers: a DELETE names no uid, and may have found nothing or, late, another object than the one
// it was sent for.
func (o *owed) deletions(k *keyState) {
	if k.Kind == kindEvent {
		return
	}
	expected := k.deletions()
	o.expected += int64(expected)
	o.deleted += int64(expected)
	for i := range k.lives {
		if l := &k.lives[i]; l.terminating && !l.exemptDel {
			o.ending++
		}
	}
	done := k.deletes + k.looked // a watcher that looked had no need to ask again
	missing := int64(max(0, expected-done))
	if missing == 0 {
		return
	}
	for i := range k.lives {
		if l := &k.lives[i]; o.missing == 0 && l.deleted() != 0 && l.removed().seq == 0 {
			o.example = fmt.Sprintf("%s uid %s: its deletion at %s", k, k.uid(int32(i)), clock(l.deleted()))
			break
		}
	}
	if o.missing == 0 && o.example == "" {
		o.example = fmt.Sprintf("%s: %d deletions, %d DELETE requests", k, expected, k.deletes)
	}
	o.missing += missing
}

func (o *owed) add(p *owed) {
	o.expected += p.expected
	o.missing += p.missing
	o.skipped += p.skipped
	o.deleted += p.deleted
	o.ending += p.ending
	o.keys += p.keys
	o.lost += p.lost
	if o.example == "" {
		o.example = p.example
	}
	o.unsent += p.unsent
	if o.unsentKey == "" {
		o.unsentKey = p.unsentKey
	}
}
