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
	firstPatience = time.Minute      // of tries; then the list is sent all the same
	ownersWait    = 30 * time.Second // for the first list of what decides about annotations
	ownersPoll    = 50 * time.Millisecond
)

// first is a kind whose first list was taken over.
type first struct {
	lists    int       // that were taken over, or are to be compared again: the kind may have gone and come meanwhile
	since    time.Time // the first of them
	compared bool      // or the wait for that is over
}

// firsts are the kinds whose first list was taken over and is not dealt with yet.
type firsts struct {
	begun chan struct{} // size 1: one token says that there are more

	mu    sync.Mutex // may be taken while Synchronizer.mu is held
	kinds map[string]first
}

// add takes over a first list.
func (f *firsts) add(kind string) {
	f.mu.Lock()
	one := first{lists: f.kinds[kind].lists + 1, since: f.kinds[kind].since}
	if one.since.IsZero() {
		one.since = time.Now()
	}
	f.kinds[kind] = one
	f.mu.Unlock()
	select {
	case f.begun <- struct{}{}:
	default:
	}
}

// again has a kind that is among them dealt with once more.
func (f *firsts) again(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one, is := f.kinds[kind]; is {
		one.lists++
		f.kinds[kind] = one
	}
}

// get is the zero value for a kind that is not among them.
func (f *firsts) get(kind string) first {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kinds[kind]
}

// all are the kinds, sorted.
func (f *firsts) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.kinds))
}

func (f *firsts) markCompared(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.kinds[kind]
	one.compared = true
	f.kinds[kind] = one
}

// remove takes out a kind unless it went and came since it had so many lists.
func (f *firsts) remove(kind string, lists int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kinds[kind].lists != lists {
		return false
	}
	delete(f.kinds, kind)
	return true
}

// Uncompared are the kinds whose first list was taken over and is not compared yet.
func (f *firsts) Uncompared() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	kinds := slices.Sorted(maps.Keys(f.kinds))
	return slices.DeleteFunc(kinds, func(kind string) bool { return f.kinds[kind].compared })
}

// FirstSince is when a first list was taken over that is not compared and handed over yet;
// zero if there is none.
func (f *firsts) FirstSince(kind string) time.Time { return f.get(kind).since }

// First takes over the first complete list of a kind: what storage lacks of it goes to the
// pipeline with Repair, beside what the watch delivers. False leaves it to the caller.
func (s *Synchronizer) First(kind string) bool {
	if !compared(kind) {
		return false
	}
	s.add(kind)
	s.Unnamed(kind)
	return true
}

// runFirsts deals with first lists until ctx ends, each kind by itself.
func (s *Synchronizer) runFirsts(ctx context.Context) {
	var kinds sync.WaitGroup
	defer kinds.Wait()
	running := map[string]bool{}
	ended := make(chan string)
	for {
		for _, kind := range s.all() {
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
	for ctx.Err() == nil {
		lists := s.firsts.get(kind).lists
		s.sendFirst(ctx, kind)
		if ctx.Err() == nil && s.doneFirst(kind, lists) {
			return
		}
	}
}

// sendFirst compares a first list and hands over what differs. If storage cannot be read for
// firstPatience, all of it is handed over while further tries go on, until one succeeds.
func (s *Synchronizer) sendFirst(ctx context.Context, kind string) {
	ctx, end := context.WithCancel(ctx)
	sending, stop := context.WithCancel(ctx)
	defer stop()
	var parts sync.WaitGroup
	defer parts.Wait()
	defer end()

	tried, patience := make(chan outcome, 1), time.After(firstPatience)
	try := func() {
		parts.Go(func() { tried <- s.suspects(ctx, kind, s.rulesChanged(ctx) || s.small(kind), true) })
	}
	try()
	var again <-chan time.Time
	var sent chan struct{} // nil until all of it is being sent
	var err error
	for {
		select {
		case c := <-tried:
			switch {
			case c.err == nil:
				if stop(); sent != nil {
					<-sent
				}
				s.sendMissing(ctx, kind, c)
				return
			case ctx.Err() != nil, !s.set.Cache.Collected(kind):
				return
			}
			err, again = c.err, time.After(firstPause)
		case <-patience:
			s.set.Logger.Warn("sending the first list without comparing it", "kind", kind, "error", err)
			s.markCompared(kind)
			sent = make(chan struct{})
			parts.Go(func() {
				defer close(sent)
				s.sendAll(sending, kind)
			})
		case <-again:
			try()
		case <-sent:
			return
		case <-ctx.Done():
			return
		}
	}
}

// doneFirst ends the special treatment of a kind, unless it went and came meanwhile.
func (s *Synchronizer) doneFirst(kind string, lists int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.remove(kind, lists) {
		return false
	}
	if s.set.Cache.Collected(kind) {
		delete(s.soon, kind) // it would do the same again
		s.fresh[kind] = time.Now()
	}
	return true
}

// sendMissing hands over what differs.
func (s *Synchronizer) sendMissing(ctx context.Context, kind string, c outcome) {
	s.markCompared(kind)
	f := findings{open: c.open, first: true}
	s.settleAll(ctx, kind, c.suspects, &f)
	s.set.Logger.Info("compared the first list with storage", "kind", kind, "sent", f.repaired, "undecided", f.open)
}

// sendAll hands over all objects of a kind, until ctx ends.
func (s *Synchronizer) sendAll(ctx context.Context, kind string) {
	for _, k := range s.set.Cache.ExpectedKeys(kind) {
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

// rulesChanged reports whether records may have been written by other rules, so that one of the
// same version may differ; true while that is unknown.
func (s *Synchronizer) rulesChanged(ctx context.Context) bool {
	if s.cfg.Rules == "" {
		return false
	}
	select {
	case s.asking <- struct{}{}: // one asks for all
	case <-ctx.Done():
		return true
	}
	defer func() { <-s.asking }()
	s.mu.Lock()
	rules := s.rules
	s.mu.Unlock()
	if rules.known {
		return rules.changed
	}
	if time.Since(rules.failed) < 10*firstPause {
		return true // a later try may say
	}
	rules = ruleState{known: true, changed: true}
	if s.cfg.Name != "" {
		if was, _, err := s.remembered(ctx); err != nil {
			rules = ruleState{failed: time.Now()}
		} else {
			rules.changed = was.Rules != s.cfg.Rules
		}
	}
	s.mu.Lock()
	s.rules = rules
	s.mu.Unlock()
	return !rules.known || rules.changed
}

// written returns the rules by which all records are known to be written, or was, those that
// storage has.
func (s *Synchronizer) written(was string) string {
	unsynced := len(s.set.Cache.UnsyncedKinds())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules.known && s.rules.changed && len(s.all())+unsynced == 0 && s.set.Complete() {
		return s.cfg.Rules
	}
	return was
}

// ruleState is whether the rules by which objects are sent changed since storage was last
// known to be written by them.
type ruleState struct {
	known, changed bool
	failed         time.Time // when storage did not say
}
