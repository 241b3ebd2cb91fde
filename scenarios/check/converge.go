package check

import (
	"context"
	"fmt"
)

// finals is what both sides held in the end.
type finals struct {
	recorded           bool
	apiserver, storage map[keyName]finalState
	differs            map[keyName]bool // filled by converge
}

type finalState struct {
	uid, digest string
	rv          uint64
}

func (f *finals) read(ctx context.Context, h *History) error {
	if h.State == nil {
		return nil
	}
	f.recorded = true
	f.apiserver, f.storage = make(map[keyName]finalState), make(map[keyName]finalState)
	f.differs = make(map[keyName]bool)
	n := 0
	for r, err := range h.State {
		if err != nil {
			return err
		}
		if n++; n%ctxEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		side := f.storage
		if r.Side == SideApiserver {
			side = f.apiserver
		}
		k := keyName{canonicalKind(r.Kind), r.Namespace, r.Name}
		if _, twice := side[k]; twice {
			return &FormatError{File: FileState, Line: n, Err: fmt.Errorf("%s stands twice on the %s side", k, r.Side)}
		}
		side[k] = finalState{uid: r.UID, digest: r.Digest, rv: r.ResourceVersion}
	}
	return nil
}

// converge judges G1.
func (j *judge) converge() {
	t := j.tally["G1"]
	f := &j.finals
	switch {
	case j.h.Cut:
		t.note("the cell was cut before it had drained")
		return
	case !f.recorded:
		t.note("the final states were not recorded")
		return
	}
	var first keyName
	differ := func(k keyName) {
		if len(f.differs) == 0 || less(k, first) {
			first = k
		}
		f.differs[k] = true
	}
	rules := &j.h.Rules
	for k, a := range f.apiserver {
		if !rules.Wants(k.kind, k.namespace, k.name) || k.kind == kindExportService {
			continue
		}
		t.judged++
		if s, ok := f.storage[k]; !ok || s.uid != a.uid || s.digest != a.digest {
			differ(k)
		}
	}
	for k := range f.storage {
		if !rules.Watches(k.kind) || k.kind == kindExportService {
			continue
		}
		_, there := f.apiserver[k]
		wanted := rules.Wants(k.kind, k.namespace, k.name)
		if there && wanted {
			continue
		}
		if wanted && k.kind == kindEvent {
			continue // an Event's deletion is never sent (contract §2.3 rule 1)
		}
		t.judged++
		differ(k)
	}
	if n := len(f.differs); n > 0 {
		t.failN(int64(n), func() string { return j.difference(first) })
	}
}

func (j *judge) difference(k keyName) string {
	a, inAPI := j.finals.apiserver[k]
	s, inStorage := j.finals.storage[k]
	var what string
	switch {
	case !j.h.Rules.Wants(k.kind, k.namespace, k.name):
		what = fmt.Sprintf("storage holds uid %s version %d, which the filter excludes", s.uid, s.rv)
	case !inStorage:
		what = fmt.Sprintf("the apiserver holds uid %s version %d, storage nothing", a.uid, a.rv)
	case !inAPI:
		what = fmt.Sprintf("storage holds uid %s version %d, the apiserver nothing", s.uid, s.rv)
	case a.uid != s.uid:
		what = fmt.Sprintf("the apiserver holds uid %s version %d, storage uid %s version %d", a.uid, a.rv, s.uid, s.rv)
	case a.rv != s.rv:
		what = fmt.Sprintf("uid %s: the apiserver holds version %d, storage version %d", a.uid, a.rv, s.rv)
	default:
		what = fmt.Sprintf("uid %s version %d: the contents differ (digest %s, in storage %s)", a.uid, a.rv, a.digest, s.digest)
	}
	return fmt.Sprintf("%s: %s; %s", k, what, j.lastRequest(k))
}

// lastRequest tells what the ledger has of a key.
func (j *judge) lastRequest(name keyName) string {
	id, ok := j.book.ids[name]
	if !ok || !j.book.keys[id].replaced {
		return "no request for it took effect"
	}
	k := &j.book.keys[id]
	if k.heldLife >= 0 {
		return fmt.Sprintf("the last one that took effect was %s with version %d", putText(k.held), k.held.rv)
	}
	var last touch
	for i := range k.lives {
		if k.lives[i].removed.seq > last.seq {
			last = k.lives[i].removed
		}
	}
	return "the last one that took effect was " + deleteText(last)
}

func less(a, b keyName) bool {
	if a.kind != b.kind {
		return a.kind < b.kind
	}
	if a.namespace != b.namespace {
		return a.namespace < b.namespace
	}
	return a.name < b.name
}

// holdsFinal reports whether storage, by the ledger, ends with the key's last
// state by the op log. A younger state or uid that the op log does not know is fine:
// somebody else wrote it.
func (j *judge) holdsFinal(k *keyState) bool {
	i, known := k.newest()
	if known == 0 {
		return true
	}
	want := k.finalVersion(i)
	if k.lives[i].deleted != 0 {
		return k.heldLife < 0 || !k.lives[k.heldLife].known || k.kind == kindEvent
	}
	if want == 0 {
		return true
	}
	return k.heldLife >= 0 && !k.older(k.heldLife, k.held.rv, i, want)
}

// finalSent reports whether an applied request carried the key's last state by
// the op log, or a younger one.
func (k *keyState) finalSent() bool {
	i, known := k.newest()
	if known == 0 {
		return true
	}
	l := &k.lives[i]
	if l.deleted != 0 {
		return l.removed.seq != 0 || k.noneDeletes > 0
	}
	want := k.finalVersion(i)
	for n := range k.lives {
		if top := k.lives[n].top; top.seq != 0 && !k.older(int32(n), top.rv, i, want) {
			return true
		}
	}
	return false
}

// lostKey reports whether the key's final state did not reach storage.
func (j *judge) lostKey(k *keyState) bool {
	if !k.wanted || j.book.selected(k.kind) || j.holdsFinal(k) {
		return false
	}
	return !j.finals.recorded || j.h.Cut || j.finals.differs[k.keyName]
}

// recreate judges the final uid of names that several objects bore (G5).
func (j *judge) recreate() {
	t := j.tally["G5"]
	names := 0
	for i := range j.book.keys {
		k := &j.book.keys[i]
		if !k.wanted || k.kind == kindEvent || k.kind == kindExportService {
			continue
		}
		newest, known := k.newest()
		if known < 2 {
			continue
		}
		names++
		if j.h.Cut {
			continue
		}
		t.judged++
		want := ""
		if l := &k.lives[newest]; l.deleted == 0 {
			want = l.uid
		}
		have := ""
		if k.heldLife >= 0 {
			have = k.lives[k.heldLife].uid
		}
		if j.finals.recorded {
			want, have = j.finals.apiserver[k.keyName].uid, j.finals.storage[k.keyName].uid
		}
		if want == have || want == "" && !j.olderUID(k, have, newest) {
			continue
		}
		t.fail(func() string {
			return fmt.Sprintf("%s: the name was given to %d objects, the last is uid %s; storage ends with %s, the apiserver with %s; %s",
				k.keyName, known, k.lives[newest].uid, uidOrNothing(have), uidOrNothing(want), j.lastRequest(k.keyName))
		})
	}
	switch {
	case names == 0 && t.judged == 0:
		t.note("no name was created again")
	case j.h.Cut:
		t.note("cut: the final uids of %d re-created names are not judged", names)
	}
}

func (j *judge) olderUID(k *keyState, uid string, newest int32) bool {
	for i := range k.lives {
		if k.lives[i].known && k.lives[i].uid == uid {
			return int32(i) != newest
		}
	}
	return false
}

func uidOrNothing(uid string) string {
	if uid == "" {
		return "nothing"
	}
	return "uid " + uid
}
