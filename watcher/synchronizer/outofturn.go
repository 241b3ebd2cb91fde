package synchronizer

import (
	"context"
	"slices"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// soonTries bounds the comparisons out of turn of a kind, settle apart. The first one waits for the kind's first list,
// however long that takes.
const soonTries = 10

// CompareSoon has a kind compared soon, whatever the period: one that has begun, ended or
// changed its version, or was listed late. What its watch did not see meanwhile shows in no event.
func (s *Synchronizer) CompareSoon(kind string) {
	s.with(kind, func(k *kindState) {
		if k.tries = soonTries; k.lists > 0 {
			k.lists++ // it is dealt with once more
		}
	})
	lifecycle.Signal(s.wake)
}

// compareDue compares the kinds that are waiting, and reports whether there is more to
// do. A storage that fails is left to the period.
func (s *Synchronizer) compareDue(ctx context.Context) (again bool) {
	for _, kind := range s.those(func(k *kindState) bool { return k.tries > 0 }) {
		if ctx.Err() != nil {
			return false
		}
		left := 0
		s.with(kind, func(k *kindState) { left, k.tries = k.tries, 0 }) // more may be wanted meanwhile
		if !s.unlisted(kind) {
			if left--; s.settled(ctx, kind) || left <= 0 {
				continue
			}
		}
		again = true
		s.with(kind, func(k *kindState) { k.tries = max(k.tries, left) })
	}
	return again
}

// unlisted reports whether a kind is watched and its first list is not dealt with.
func (s *Synchronizer) unlisted(kind string) bool {
	return s.state(kind).lists > 0 || compared(kind) && s.set.Cache.Collected(kind) &&
		!slices.Contains(s.set.Cache.SyncedKinds(), kind)
}

// settled compares one kind and reports whether everything could be said of it, or nothing can be now.
func (s *Synchronizer) settled(ctx context.Context, kind string) bool {
	if !compared(kind) {
		return true
	}
	_, open, err := s.kind(ctx, kind)
	if err != nil && ctx.Err() == nil {
		s.set.Logger.Warn("comparison of a kind that came or went was not complete", "kind", kind, "error", err)
	}
	return err != nil || open == 0
}
