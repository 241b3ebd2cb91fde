package oracle

import (
	"cmp"
	"slices"
)

// verdict is what a check came to before the scenario's expectations are applied.
type verdict struct {
	judged, violations int64
}

// order walks each key's requests in the order in which storage applied them: G2, G3, G4,
// and the number of writes that any of them refuses.
func (r *record) order() (g2, g3, g4, g5 verdict, reordered int64) {
	type life struct {
		written bool
		last    uint64 // version that was applied last
		removed bool
	}
	lives := map[key]map[string]*life{}
	type row struct {
		uid     string
		version uint64
	}
	live := map[key]*row{}
	objects := r.objects()
	gone := map[key]uint64{} // the newest version that a DELETE removed
	for i := range r.ledger {
		q := &r.ledger[i]
		if !q.took() || q.Kind == notes {
			continue
		}
		k := q.key()
		if q.Method == "DELETE" {
			if q.UID == "" {
				continue
			}
			x := objects[k][q.UID]
			if q.mine() && x != nil {
				v := &g3
				if again(objects[k]) {
					v = &g5
				}
				v.judged++
				if !x.deleted || x.deletedStarted >= q.Received {
					v.violations++ // it was alive
				}
			}
			if q.mine() && (x == nil || x.deleted && x.deletedStarted < q.Received) {
				g4.judged++ // again, if it had come back
				at(lives, k, q.UID).removed = true
				gone[k] = max(gone[k], q.ResourceVersion)
			}
			delete(live, k)
			continue
		}
		if !q.mine() {
			live[k] = &row{q.UID, q.ResourceVersion}
			continue
		}
		l := at(lives, k, q.UID)
		bad := false
		if l.written {
			g2.judged++
			if q.ResourceVersion < l.last {
				g2.violations++
				bad = true
			}
		}
		if x := live[k]; x != nil {
			g3.judged++
			if q.ResourceVersion < x.version {
				g3.violations++
				bad = true
			}
		}
		if l.removed || q.ResourceVersion < gone[k] {
			g4.violations++
			bad = true
		}
		if bad {
			reordered++
		}
		l.written, l.last = true, max(l.last, q.ResourceVersion)
		live[k] = &row{q.UID, q.ResourceVersion}
	}
	return g2, g3, g4, g5, reordered
}

func at[T any](m map[key]map[string]*T, k key, uid string) *T {
	if m[k] == nil {
		m[k] = map[string]*T{}
	}
	if m[k][uid] == nil {
		m[k][uid] = new(T)
	}
	return m[k][uid]
}

// power counts the pairs of states of one name that could have been swapped.
func (r *record) power(changes []change) map[string]int64 {
	stored := map[*operation]int64{}
	for _, c := range changes {
		stored[c.operation] = c.stored
	}
	byKey := map[key][]*operation{}
	for i := range r.ops {
		if o := &r.ops[i]; o.ok() && o.ResourceVersion != 0 && o.Type != "heartbeat" && o.Phase != "teardown" {
			byKey[o.key()] = append(byKey[o.key()], o)
		}
	}
	out := map[string]int64{"G2": 0, "G3": 0, "G4": 0, "G5": 0}
	for _, ops := range byKey {
		slices.SortStableFunc(ops, func(a, b *operation) int {
			after := func(o *operation) int {
				if o.delete() {
					return 1
				}
				return 0
			}
			return cmp.Or(cmp.Compare(a.ResourceVersion, b.ResourceVersion), cmp.Compare(after(a), after(b)), cmp.Compare(a.Finished, b.Finished))
		})
		every := r.sendsEvery() && !slices.ContainsFunc(r.ledger, func(q request) bool {
			return q.mine() && !q.acked() && q.Received >= r.since() && q.Received < r.cell.ScrapeStarted
		})
		var kept []*operation
		for _, o := range ops {
			unsent := func() bool {
				if o.delete() {
					return stored[o] == 0
				}
				return !slices.ContainsFunc(r.ledger, func(q request) bool {
					same := q.key() == o.key() && q.UID == o.UID && q.ResourceVersion == o.ResourceVersion
					return q.Method == "PUT" && q.took() && same
				})
			}
			if every && o.counted() && unsent() {
				continue
			}
			if n := len(kept); n > 0 && !o.delete() && !kept[n-1].delete() && kept[n-1].ResourceVersion == o.ResourceVersion {
				continue
			}
			kept = append(kept, o)
		}
		together := func(a, b *operation) bool {
			return a.Phase == "load" && b.Phase == "load" && stored[a] != 0 && b.Finished < stored[a]
		}
		var write *operation
		for i, b := range kept {
			if i > 0 && together(kept[i-1], b) {
				switch a := kept[i-1]; {
				case a.delete() && !b.delete():
					out["G5"]++
				case !a.delete() && b.delete():
					out["G4"]++
				case !a.delete() && a.UID == b.UID:
					out["G2"]++
				}
			}
			if b.delete() {
				continue
			}
			if write != nil && together(write, b) {
				out["G3"]++
			}
			write = b
		}
	}
	return out
}

// again says that the op log created the name more than once.
func again(uids map[string]*object) bool {
	n := 0
	for _, x := range uids {
		if x.created != 0 {
			n++
		}
	}
	return n > 1
}
