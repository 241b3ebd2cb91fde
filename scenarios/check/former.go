package check

import (
	"fmt"

	"github.com/watchbench/watchbench/scenarios/history"
)

// former are the states that storage was sent and holds no more, held against what the apiserver
// served at their versions.
type former struct {
	served            map[state][digestBytes]byte
	compared, unknown int64
	wrong             []history.StateRecord
}

// state is one version of an object.
type state struct {
	history.Key
	uid string
	rv  uint64
}

// addFormer takes one record of either side; those of the apiserver come first. Rows that were
// tampered with are not the watcher's, and after a restore versions mean something else.
func (j *judge) addFormer(r *history.StateRecord) {
	f, id := &j.former, state{r.Key(), r.UID, r.ResourceVersion}
	if r.Side == history.SideApiserver {
		if f.served == nil {
			f.served = make(map[state][digestBytes]byte)
		}
		f.served[id] = digestValue(r.Digest)
		return
	}
	if j.back.happened() || j.tamper[r.Key()] != nil || !j.h.Rules.Watches(r.Kind) {
		return
	}
	switch want, known := f.served[id]; {
	case !known:
		f.unknown++
	case want != digestValue(r.Digest):
		f.wrong = append(f.wrong, *r)
		fallthrough
	default:
		f.compared++
	}
}

// compareFormer is the part of G1 that is about what was overwritten or deleted.
func (j *judge) compareFormer(t *tally) {
	f := &j.former
	t.judged += f.compared
	for i := range f.wrong {
		r := &f.wrong[i]
		k := j.book.key(r.Kind, r.Namespace, r.Name)
		if j.book.differs[k] == "" {
			j.book.differs[k] = r.Differs
		}
		t.failAt(k, 0, func() string {
			what := r.Differs
			if what == "" {
				what = fmt.Sprintf("digest %s, of the apiserver's %x", r.Digest, f.served[state{r.Key(), r.UID, r.ResourceVersion}])
			}
			return fmt.Sprintf("%s: uid %s version %d, which is not the last, was sent with another content: %s",
				k, r.UID, r.ResourceVersion, what)
		})
	}
	if f.compared+f.unknown > 0 {
		t.note("%d PUTs of former states compared with what the apiserver served; it no longer knew the versions of %d",
			f.compared, f.unknown)
	}
}
