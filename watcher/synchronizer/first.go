package synchronizer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// A first list is compared with storage before it is sent. Times of that.
const (
	firstPause    = time.Second      // between two tries
	firstPatience = time.Minute      // of tries; then the list is sent all the same
	firstRest     = 30 * time.Second // between two tries once all of it is sent
	ownersWait    = 30 * time.Second // for the first list of what decides about annotations
	ownersPoll    = 50 * time.Millisecond
)

// First takes over the first complete list of a kind: what storage lacks of it goes to the
// pipeline with Repair, beside what the watch delivers. False leaves it to the caller.
func (s *Synchronizer) First(kind string) bool {
	if !compared(kind) {
		return false
	}
	s.with(kind, func(k *kindState) {
		if k.lists, k.compared = k.lists+1, false; k.since.IsZero() {
			k.since = time.Now()
		}
	})
	lifecycle.Signal(s.begun)
	lifecycle.Signal(s.wake) // the record is to name it
	return true
}

// runFirsts deals with first lists until ctx ends, each kind by itself.
func (s *Synchronizer) runFirsts(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		for _, kind := range s.those(func(k *kindState) bool {
			begins := k.lists > 0 && !k.running
			k.running = k.running || begins
			return begins
		}) {
			running.Go(func() { s.first(ctx, kind) })
		}
		select {
		case <-s.begun:
		case <-ctx.Done():
			return
		}
	}
}

// first compares one first list and hands over what differs, again if the kind went and came meanwhile.
func (s *Synchronizer) first(ctx context.Context, kind string) {
	for begin := time.Now(); !s.set.Cache.OwnersListed(kind) && time.Since(begin) < ownersWait; {
		if lifecycle.Pause(ctx, ownersPoll) != nil {
			return
		}
	}
	for ctx.Err() == nil {
		lists := s.state(kind).lists
		whole := s.sendFirst(ctx, kind, lists)
		if ctx.Err() == nil && s.doneFirst(kind, lists, whole) {
			return
		}
	}
}

// errUnfinished is why a first list is sent without a comparison when no try has failed.
var errUnfinished = errors.New("the comparison has not ended")

// sendFirst compares a first list and hands over what differs. If that has not succeeded for firstPatience, all of it
// is handed over, and tries go on until one succeeds, as only that finds the rows of objects that are gone, or until
// the kind has more than that many lists. It reports whether everything could be read.
func (s *Synchronizer) sendFirst(ctx context.Context, kind string, lists int) (whole bool) {
	ctx, end := context.WithCancel(ctx)
	sending, stop := context.WithCancel(ctx)
	defer stop()
	var parts sync.WaitGroup
	defer parts.Wait()
	defer end()

	tried, patience := make(chan outcome, 1), time.After(firstPatience)
	try := func() {
		parts.Go(func() { tried <- s.suspects(ctx, kind, s.register.rulesChanged(ctx) || s.wholly(kind), true) })
	}
	try()
	var again, look <-chan time.Time
	var sent chan struct{} // nil unless all of it is being sent
	pause, err := firstPause, errUnfinished
	for {
		select {
		case c := <-tried:
			switch {
			case c.err == nil:
				if stop(); sent != nil {
					<-sent
				}
				return s.sendMissing(ctx, kind, c)
			case ctx.Err() != nil, !s.set.Cache.Collected(kind):
				return false
			}
			err, again = c.err, time.After(pause)
		case <-patience:
			s.set.Logger.Warn("sending the first list without comparing it", "kind", kind, "error", err)
			sent = make(chan struct{})
			parts.Go(func() {
				defer close(sent)
				s.sendAll(sending, kind)
			})
		case <-again:
			try()
		case <-sent:
			sent, pause, look = nil, firstRest, time.Tick(firstRest)
		case <-look:
			if s.state(kind).lists > lists {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
}

// doneFirst ends the special treatment of a kind, unless it has had more than that many lists. What could not be read
// is compared again soon.
func (s *Synchronizer) doneFirst(kind string, lists int, whole bool) (done bool) {
	s.with(kind, func(k *kindState) {
		if done = k.lists == lists; !done {
			return
		}
		k.lists, k.since, k.compared, k.running = 0, time.Time{}, false, false
		switch {
		case !s.set.Cache.Collected(kind):
		case whole:
			k.tries, k.dealt = 0, time.Now() // another comparison would do the same again
		default:
			k.tries, k.dealt = soonTries, time.Time{}
		}
	})
	lifecycle.Signal(s.wake) // storage may have been away when the record was to name it
	return done
}

// sendMissing hands over what differs, and reports whether every record that matters could be read.
func (s *Synchronizer) sendMissing(ctx context.Context, kind string, c outcome) bool {
	s.markCompared(kind)
	f := findings{open: c.open, first: true}
	s.settleAll(ctx, kind, c.suspects, &f)
	s.set.Logger.Info("compared the first list with storage", "kind", kind, "sent", f.repaired, "undecided", f.open)
	return f.err == nil
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
		if err := s.set.Cache.Repair(ctx, k, ""); err != nil {
			return // the kind has gone, or the process ends
		}
	}
}

// written returns the rules by which all records are known to be written, or was, those that storage has.
func (s *Synchronizer) written(ctx context.Context, was string) string {
	unsynced := s.set.Cache.UnsyncedKinds() // asked first: a kind is among the others before it leaves them
	firsts := s.those(func(k *kindState) bool { return k.lists > 0 })
	if len(unsynced)+len(firsts) == 0 && s.set.Complete() && s.register.rulesChanged(ctx) {
		return s.cfg.Rules
	}
	return was
}
