package check

import (
	"context"
	"slices"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Bounds on the evidence: of how many counterexamples of a check, and how much of each.
const (
	maxEvidence    = 5
	requestsBefore = 5 // and the one that violates
	requestsAfter  = 2
	maxWritten     = 8
)

// excerpt is the requests of a key around one of them, or the last ones for seq 0.
type excerpt struct {
	k      *keyState
	seq    uint64
	around []ledger.Entry
	after  int
	out    int64
}

func (w *excerpt) add(e *ledger.Entry) {
	switch past := w.seq != 0 && e.Seq > w.seq; {
	case past && w.after == requestsAfter:
		w.out++
		return
	case past:
		w.after++
	case len(w.around) > requestsBefore:
		w.around = slices.Delete(w.around, 0, 1)
		w.out++
	}
	w.around = append(w.around, *e)
}

// gather adds evidence to the first counterexamples of every check. The requests around a
// violation are not remembered while the ledger is read: where something failed, it is read
// a second time.
func (j *judge) gather(ctx context.Context) error {
	type place struct {
		t *tally
		i int
	}
	excerpts := make(map[*keyState][]*excerpt)
	at := make(map[place]*excerpt)
	for _, t := range j.tally {
		for i, x := range t.examples[:min(len(t.examples), maxEvidence)] {
			if x.k == nil {
				continue
			}
			same := slices.IndexFunc(excerpts[x.k], func(w *excerpt) bool { return w.seq == x.seq })
			if same < 0 {
				same = len(excerpts[x.k])
				excerpts[x.k] = append(excerpts[x.k], &excerpt{k: x.k, seq: x.seq})
			}
			at[place{t, i}] = excerpts[x.k][same]
		}
	}
	if len(excerpts) == 0 {
		return nil
	}
	err := each(ctx, j.h.Ledger, func(_ int, e *ledger.Entry) error {
		if j.h.Until != 0 && e.Received > j.h.Until || j.h.Cluster != "" && e.Cluster != j.h.Cluster {
			return nil
		}
		if k := j.book.lookup(canonicalKind(e.Kind), e.Namespace, e.Name); k != nil {
			for _, w := range excerpts[k] {
				w.add(e)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for p, w := range at {
		if len(p.t.evidence) <= p.i {
			p.t.evidence = append(p.t.evidence, make([]result.Evidence, p.i+1-len(p.t.evidence))...)
		}
		p.t.evidence[p.i] = j.evidence(w)
	}
	return nil
}

func (j *judge) evidence(w *excerpt) result.Evidence {
	k := w.k
	e := result.Evidence{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, RequestsOut: w.out}
	newest := uint64(0)
	for i := range w.around {
		r := keyRequest(w, i)
		newest = max(newest, r.Version)
		e.Requests = append(e.Requests, r)
	}
	e.Written = j.book.written(k, newest)
	if w.seq == 0 {
		e.Written = j.book.written(k, 0)
		e.Fields = ParseFields(j.book.differs[k])
	}
	return e
}

func keyRequest(w *excerpt, i int) result.KeyRequest {
	e := &w.around[i]
	r := result.KeyRequest{
		Seq: e.Seq, Method: e.Method, UID: e.UID, Version: e.ResourceVersion, Received: time.Unix(0, e.Received).UTC(),
		Status: e.Status, Effect: e.Effect, Fault: e.Fault, Violates: w.seq != 0 && e.Seq == w.seq,
	}
	if e.Applied != 0 {
		r.Applied = new(time.Unix(0, e.Applied).UTC())
	}
	return r
}

// written are the last versions up to one, or for 0 of all, and the deletions, in the order
// of time.
func (b *book) written(k *keyState, newest uint64) (all []result.Written) {
	for i := range k.versions {
		v := &k.versions[i]
		if v.flags&versionUncounted == 0 && (newest == 0 || v.rv <= newest) {
			all = append(all, result.Written{UID: k.uid(int32(v.life)), Version: v.rv, At: time.Unix(0, v.finished).UTC()})
		}
	}
	for i := range k.lives {
		if at := k.lives[i].deleted(); at != 0 {
			all = append(all, result.Written{UID: k.uid(int32(i)), At: time.Unix(0, at).UTC()})
		}
	}
	slices.SortStableFunc(all, func(a, b result.Written) int { return a.At.Compare(b.At) })
	return all[max(0, len(all)-maxWritten):]
}
