package synchronizer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// A first list is compared with storage before it is sent. Times of that.
const (
	firstPause    = time.Second      // between two tries
	firstPatience = time.Minute      // of failed tries; then the list is sent all the same
	firstAgain    = 30 * time.Second // between two tries while it is
	ownersWait    = 30 * time.Second // for the first list of what decides about annotations
	ownersPoll    = 50 * time.Millisecond
)

// first is a kind whose first list was taken over.
type first struct {
	lists    int  // that were taken over: the kind may have gone and come meanwhile
	compared bool // or the wait for that is over
}

// First takes over the first complete list of a kind: what storage lacks of it goes to the
// pipeline with Repair, beside what the watch delivers. False leaves it to the caller.
func (s *Synchronizer) First(kind string) bool {
	if !compared(kind) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firsts[kind] = first{lists: s.firsts[kind].lists + 1}
	select {
	case s.begun <- struct{}{}:
	default:
	}
	return true
}

// Uncompared are the kinds whose first list was taken over and is not compared yet.
func (s *Synchronizer) Uncompared() (kinds []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(s.firsts)) {
		if !s.firsts[kind].compared {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// runFirsts deals with first lists until ctx ends, each kind by itself.
func (s *Synchronizer) runFirsts(ctx context.Context) {
	var kinds sync.WaitGroup
	defer kinds.Wait()
	running := map[string]bool{}
	ended := make(chan string)
	for {
		s.mu.Lock()
		for kind := range s.firsts {
			if !running[kind] {
				running[kind] = true
				kinds.Go(func() {
					s.first(ctx, kind)
					select {
					case ended <- kind:
					case <-ctx.Done():
					}
				})
			}
		}
		s.mu.Unlock()
		select {
		case <-s.begun:
		case kind := <-ended:
			delete(running, kind)
		case <-ctx.Done():
			return
		}
	}
}

// first compares one first list and hands over what differs, again if the kind went and
// came meanwhile.
func (s *Synchronizer) first(ctx context.Context, kind string) {
	for begin := time.Now(); !s.set.Cache.OwnersListed(kind) && time.Since(begin) < ownersWait; {
		if lifecycle.Pause(ctx, ownersPoll) != nil {
			return
		}
	}
	for begin := time.Now(); ctx.Err() == nil; {
		s.mu.Lock()
		lists := s.firsts[kind].lists
		s.mu.Unlock()
		if err := s.sendMissing(ctx, kind); err != nil {
			if time.Since(begin) < firstPatience && s.set.Cache.Collected(kind) {
				_ = lifecycle.Pause(ctx, firstPause)
				continue
			}
			s.set.Logger.Warn("the first list is sent without a comparison: storage cannot be read", "kind", kind, "error", err)
			s.markCompared(kind)
			s.sendAll(ctx, kind)
		}
		if s.doneFirst(kind, lists) {
			return
		}
	}
}

// doneFirst ends the special treatment of a kind, unless it went and came meanwhile.
func (s *Synchronizer) doneFirst(kind string, lists int) bool {
	collected := s.set.Cache.Collected(kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.firsts[kind].lists != lists {
		return false
	}
	delete(s.firsts, kind)
	if collected {
		delete(s.soon, kind) // it would do the same again
		s.fresh[kind] = time.Now()
	}
	return true
}

func (s *Synchronizer) markCompared(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.firsts[kind]
	f.compared = true
	s.firsts[kind] = f
}

// isFirst reports whether a kind's first list is being dealt with.
func (s *Synchronizer) isFirst(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.firsts[kind]
	return is
}

// sendMissing compares a kind with storage and hands over what differs. The error is that
// of the comparison.
func (s *Synchronizer) sendMissing(ctx context.Context, kind string) error {
	suspects, open, err := s.suspects(ctx, kind, s.rulesChanged(ctx) || s.small(kind), true)
	if err != nil {
		return err
	}
	s.markCompared(kind)
	f := findings{open: open, first: true}
	s.settleAll(ctx, kind, suspects, &f)
	s.set.Logger.Info("compared the first list with storage", "kind", kind, "sent", f.repaired, "undecided", f.open)
	return nil
}

// sendAll hands over all objects of a kind, unless storage can be read after all.
func (s *Synchronizer) sendAll(ctx context.Context, kind string) {
	tried := time.Now()
	for _, k := range s.set.Cache.ExpectedKeys(kind) {
		if time.Since(tried) > firstAgain {
			if s.sendMissing(ctx, kind) == nil {
				return
			}
			tried = time.Now()
		}
		if s.set.Pipeline.Spare(ctx, kind) != nil {
			return
		}
		if s.set.Pipeline.Pending(k) {
			continue
		}
		if err := s.set.Cache.Repair(ctx, k); err != nil {
			return // the kind has gone, or the process ends
		}
	}
}

// rulesChanged reports whether records may have been written by other rules, so that one
// of the same version may hold something else. They may, as long as nobody knows.
func (s *Synchronizer) rulesChanged(ctx context.Context) bool {
	if s.cfg.Rules == "" {
		return false
	}
	s.asking <- struct{}{} // one asks for all
	defer func() { <-s.asking }()
	s.mu.Lock()
	rules := s.rules
	s.mu.Unlock()
	if rules.known {
		return rules.changed
	}
	rules = ruleState{known: true, changed: true}
	if s.cfg.Name != "" {
		was, _, err := s.remembered(ctx)
		if err != nil {
			return true
		}
		rules.changed = was.Rules != s.cfg.Rules
	}
	s.mu.Lock()
	s.rules = rules
	s.mu.Unlock()
	return rules.changed
}

// written is the rules by which all records are known to be written, was being those that
// storage knows.
func (s *Synchronizer) written(was string) string {
	unsynced := len(s.set.Cache.UnsyncedKinds())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules.known && s.rules.changed && len(s.firsts)+unsynced == 0 && s.set.Complete() {
		return s.cfg.Rules
	}
	return was
}

// ruleState is whether the rules by which objects are sent changed since storage was last
// known to be written by them.
type ruleState struct{ known, changed bool }
