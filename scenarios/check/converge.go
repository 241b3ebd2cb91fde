package check

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/scenarios/history"
)

type finalState struct {
	rv     uint64
	digest [digestBytes]byte
	life   int32
}

func (b *book) addState(r *history.StateRecord) error {
	k := b.key(canonicalKind(r.Kind), r.Namespace, r.Name)
	side, other := &k.live, k.stored
	if r.Side == history.SideStorage {
		side, other = &k.stored, k.live
	}
	if *side != nil {
		return fmt.Errorf("%s stands twice on the %s side", k, r.Side)
	}
	if r.Differs != "" {
		b.differs[k] = r.Differs
	}
	f := finalState{life: k.life(r.UID), rv: r.ResourceVersion, digest: digestValue(r.Digest)}
	if other == nil || *other != f {
		other = new(finalState)
		*other = f
	}
	*side = other
	if r.Side == history.SideApiserver && r.UID != "" && !b.restored {
		k.lives[f.life].alive = endOfTime
	}
	return nil
}

// digestValue keeps digests small; what Digest did not make is hashed.
func digestValue(s string) (d [digestBytes]byte) {
	if n, err := hex.Decode(d[:], []byte(s[:min(len(s), 2*digestBytes)])); err == nil && n == digestBytes &&
		len(s) == 2*digestBytes {
		return d
	}
	sum := sha256.Sum256([]byte(s))
	copy(d[:], sum[:])
	return d
}

func (j *judge) converge() {
	t := j.tally["G1"]
	switch {
	case j.h.Cut:
		t.note("the cell was cut before it had drained")
		return
	case !j.book.haveState:
		t.note("the final states were not recorded")
		return
	}
	var found []*keyState
	for _, k := range j.book.keys {
		judged, differs := j.compareSides(k)
		if judged {
			t.judged++
		}
		if !differs {
			continue
		}
		k.differs = true
		found = append(found, k)
	}
	slices.SortFunc(found, func(k, l *keyState) int {
		return cmp.Or(cmp.Compare(k.Kind, l.Kind), cmp.Compare(k.Namespace, l.Namespace), cmp.Compare(k.Name, l.Name))
	})
	for _, k := range found {
		t.fail("%s", j.difference(k))
	}
}

// former is the part of G1 about what storage was sent and holds no more. Rows that were tampered with are not the
// watcher's, and after a restore versions mean something else.
func (j *judge) former(r *history.StateRecord) {
	t := j.tally["G1"]
	switch {
	case j.h.Cut || j.back.happened() || j.tamper[r.Key()] != nil || !j.h.Rules.Watches(r.Kind):
		return
	case r.Served == "":
		j.unserved++
		return
	}
	j.compared++
	t.judged++
	if r.Served == r.Digest {
		return
	}
	k := j.book.key(r.Kind, r.Namespace, r.Name)
	j.book.differs[k] = cmp.Or(j.book.differs[k], r.Differs)
	t.fail("%s: uid %s version %d, which is not the last, was sent with another content: %s",
		k, r.UID, r.ResourceVersion, cmp.Or(r.Differs, "digest "+r.Digest+", of the apiserver's "+r.Served))
}

func (j *judge) compareSides(k *keyState) (judged, differs bool) {
	if k.Kind == kindExportService || !j.h.Rules.Watches(k.Kind) {
		return false, false // ExportService is stored elsewhere (contract E15)
	}
	switch a, s := k.live, k.stored; {
	case k.wanted && a != nil:
		return true, s == nil || a.life != s.life || a.digest != s.digest && !k.renewed(a, s)
	case s == nil:
		return false, false
	case k.wanted && k.Kind == kindEvent:
		return false, false // an Event's deletion is never sent (contract §2.3 rule 1)
	}
	return true, true
}

// renewed reports whether storage has a younger version of a Lease than the apiserver had when it was read, and all
// that came between were heartbeats. (A Node's are not part of its digest.)
func (k *keyState) renewed(a, s *finalState) bool {
	if k.Kind != kindLease {
		return false
	}
	since := k.versions[k.upTo(a.rv):k.upTo(max(a.rv, s.rv))]
	return len(since) > 0 && since[len(since)-1].rv == s.rv &&
		!slices.ContainsFunc(since, func(v version) bool { return v.flags&versionHeartbeat == 0 || int32(v.life) != s.life })
}

func (j *judge) difference(k *keyState) string {
	holds := func(f *finalState) string {
		return fmt.Sprintf("uid %s version %d", k.uid(f.life), f.rv)
	}
	var what string
	switch a, s := k.live, k.stored; {
	case !k.wanted:
		what = fmt.Sprintf("storage holds %s, which the filter excludes", holds(s))
	case s == nil:
		what = fmt.Sprintf("the apiserver holds %s, storage nothing", holds(a))
	case a == nil:
		what = fmt.Sprintf("storage holds %s, the apiserver nothing", holds(s))
	case j.book.differs[k] != "":
		what = fmt.Sprintf("%s: the contents differ: %s", holds(a), j.book.differs[k])
	case a.life != s.life:
		what = fmt.Sprintf("the apiserver holds %s, storage %s", holds(a), holds(s))
	case a.rv != s.rv && a.digest != s.digest:
		what = fmt.Sprintf("uid %s: the apiserver holds version %d, storage version %d", k.uid(a.life), a.rv, s.rv)
	default:
		what = fmt.Sprintf("%s: the contents differ (digest %x, in storage %x)", holds(a), a.digest, s.digest)
	}
	return fmt.Sprintf("%s: %s; %s", k, what, k.lastRequest())
}

func (k *keyState) lastRequest() string {
	if !k.replaced {
		return "no request for it took effect"
	}
	if k.heldLife >= 0 {
		return fmt.Sprintf("the last one that took effect was %s with version %d", putText(k.held), k.held.rv)
	}
	var last touch
	for i := range k.lives {
		if r := k.lives[i].removed(); r.seq > last.seq {
			last = r
		}
	}
	return "the last one that took effect was " + deleteText(last)
}

// holdsFinal reports whether storage, by the ledger, ends with the key's last state by the op log. A younger state or
// uid that the op log does not know is fine: somebody else wrote it.
func (j *judge) holdsFinal(k *keyState) bool {
	i, known := k.newest()
	if known == 0 {
		return true
	}
	want := k.finalVersion(i)
	if k.lives[i].deleted() != 0 {
		return k.heldLife < 0 || !k.lives[k.heldLife].known || k.Kind == kindEvent
	}
	if want == 0 {
		return true
	}
	return k.heldLife >= 0 && !k.older(k.heldLife, k.held.rv, i, want)
}

// finalSent reports whether an applied request carried the key's last state by the op log, or a younger one.
func (k *keyState) finalSent() bool {
	i, known := k.newest()
	if known == 0 {
		return true
	}
	l := &k.lives[i]
	if l.deleted() != 0 {
		return l.removed().seq != 0 || k.none != nil || k.deletes >= k.deletions()
	}
	want := k.finalVersion(i)
	for n := range k.lives {
		if top := k.lives[n].top; top.seq != 0 && !k.older(int32(n), top.rv, i, want) {
			return true
		}
	}
	return false
}

func (k *keyState) deletions() (n int32) {
	for i := range k.lives {
		if l := &k.lives[i]; l.known && l.deleted() != 0 && !l.exemptDel {
			n++
		}
	}
	return n
}

// recreate judges the final uid of names that several objects bore (G5).
func (j *judge) recreate() {
	t := j.tally["G5"]
	names := 0
	for _, k := range j.book.keys {
		if !k.wanted || k.Kind == kindEvent || k.Kind == kindExportService {
			continue
		}
		newest, known := k.newest()
		if known < 2 {
			continue
		}
		names++
		if j.open() {
			continue
		}
		t.judged++
		want := ""
		if k.lives[newest].deleted() == 0 {
			want = k.uid(newest)
		}
		have := ""
		if k.heldLife >= 0 {
			have = k.uid(k.heldLife)
		}
		if j.book.haveState {
			want, have = k.finalUID(k.live), k.finalUID(k.stored)
		}
		i := k.lookupLife(have)
		older := i >= 0 && i != newest && k.lives[i].known
		if want == have || want == "" && !older {
			continue
		}
		t.fail("%s: the name was given to %d objects, the last is uid %s; storage ends with %s, the apiserver "+
			"with %s; %s",
			k, known, k.uid(newest), uidOrNothing(have), uidOrNothing(want), k.lastRequest())
	}
	switch {
	case names == 0 && t.judged == 0:
		t.note("no name was created again")
	case j.h.Cut:
		t.note("cut: the final uids of %d re-created names are not judged", names)
	}
}

func (k *keyState) finalUID(f *finalState) string {
	if f == nil {
		return ""
	}
	return k.uid(f.life)
}

func uidOrNothing(uid string) string {
	if uid == "" {
		return "nothing"
	}
	return "uid " + uid
}
