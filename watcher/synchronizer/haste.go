package synchronizer

import (
	"context"
	"maps"
	"slices"
	"time"
)

// hastyTries bounds the comparisons of a kind that is not left to the next period. They
// are settle apart; what is still open then is left to it after all.
const hastyTries = 10

// Hasten has a kind compared soon, whatever the period: one that has begun, ended or
// changed its version. What its watch did not see meanwhile shows in no event.
func (s *Synchronizer) Hasten(kind string) {
	s.mu.Lock()
	s.soon[kind] = hastyTries
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// haste is the pace of comparisons out of turn.
type haste struct {
	s     *Synchronizer
	timer *time.Timer // nil while no round is due
}

// next fires when a round is due, never if none is.
func (h *haste) next() <-chan time.Time {
	if h.timer == nil {
		return nil
	}
	return h.timer.C
}

// begin has a round be made; kinds that come before it share it.
func (h *haste) begin() {
	if h.timer == nil {
		h.timer = time.NewTimer(settle)
	}
}

func (h *haste) stop() {
	if h.timer != nil {
		h.timer.Stop()
	}
	h.timer = nil
}

// round compares the kinds that are waiting, and has another made for those of which
// not everything could be said.
func (h *haste) round(ctx context.Context) {
	h.timer = nil
	if h.s.hasten(ctx) {
		h.begin()
	}
}

// hasten reports whether there is more to do. A storage that fails is left to the
// period.
func (s *Synchronizer) hasten(ctx context.Context) (again bool) {
	s.mu.Lock()
	tries := s.soon
	s.soon = map[string]int{} // for those that come meanwhile
	s.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(tries)) {
		if ctx.Err() != nil {
			return false
		}
		if s.settled(ctx, kind) || tries[kind] <= 1 {
			continue
		}
		again = true
		s.mu.Lock()
		s.soon[kind] = max(s.soon[kind], tries[kind]-1)
		s.mu.Unlock()
	}
	return again
}

// settled compares one kind and reports whether everything could be said of it, or
// nothing can be now.
func (s *Synchronizer) settled(ctx context.Context, kind string) bool {
	if kind == kindEvent {
		return true
	}
	if s.set.Cache.Collected(kind) && !slices.Contains(s.set.Cache.SyncedKinds(), kind) {
		return false
	}
	_, open, err := s.kind(ctx, kind)
	if err != nil && ctx.Err() == nil {
		s.set.Logger.Warn("comparison of a kind that came or went was not complete", "kind", kind, "error", err)
	}
	return err != nil || open == 0
}
