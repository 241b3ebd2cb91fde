package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// killAnytime is SIGKILL at moments of a watcher's whole life, counted from the start of
// its process, whatever it is doing then; a new watcher takes its place at once.
const killAnytime = "kill-anytime"

const (
	// readingEvery spaces the readings of the watcher's queue: what a kill hit is judged
	// by the last one, and by what storage acknowledged since.
	readingEvery = 50 * time.Millisecond
	// nearlyEmpty is a queue, in events, with which storage may have caught up.
	nearlyEmpty = 100.0
	// mostCompared: of n kills n/mostCompared are followed by a comparison before the next
	// start, at most. It holds that start up.
	mostCompared = 6
)

// randomKills is one event under way.
type randomKills struct {
	rng   *rand.Rand
	lives []time.Duration // of the watchers to be killed yet
	began time.Time       // start of the present one; zero is one that ran before
	more  int             // comparisons that are still to be made
}

func anytime() family {
	k := &randomKills{}
	return family{shared: k, injectors: []Injector{
		kind{name: killAnytime, takes: []string{"times", "for"}, validate: validateKills, inject: k.inject},
	}}
}

func validateKills(t *spec.Timeline, e spec.Event) error {
	t.Repairs = true // of what is deleted until the next one has its lists
	if err := needsWatcher(t, e); err != nil {
		return err
	}
	switch {
	case e.For == 0:
		return t.Bad("for", "write for example for: 2s", "missing: it is the longest that a watcher lives")
	case t.Watcher.Command != "":
		return t.Bad("what", "use kill-restart, or leave watcher.command out", "kill-anytime of another watcher: only k8s-watch reports how far it is")
	case t.Watcher.Synchronizer.Disabled:
		return t.Bad("what", "leave watcher.synchronizer.disabled out", "kill-anytime without a synchronizer: nobody else finds what was deleted between two watchers")
	case t.Watcher.Replicas > 1:
		return t.Bad("what", "use kill-leader, or one replica", "kill-anytime of %d replicas", t.Watcher.Replicas)
	}
	return nil
}

// killed is a watcher's end, and how far it was. Times are Unix nanoseconds.
type killed struct {
	At int64 `json:"at"`
	// Ready is when it was seen to have completed its first lists; 0: it had not.
	Ready int64 `json:"ready,omitempty"`
	// Queued are the events of Pods that it had accepted and not settled, by its metrics;
	// the last reading of them began at Read. 0: there was none.
	Read   int64   `json:"read,omitempty"`
	Queued float64 `json:"queued,omitempty"`
	// Wanted is when the apiserver's state was read, once the queue was nearly empty; 0 if
	// the watcher was killed before it had compared storage with its cache. Behind is an
	// object of which storage, read right after the kill, had less; empty if it had caught
	// up.
	Wanted int64  `json:"wanted,omitempty"`
	Behind string `json:"behind,omitempty"`
	// Last is how storage caught up under the watcher that followed and was not killed:
	// set with the last kill of an event.
	Last *CatchUp `json:"last,omitempty"`
}

// inject lets the present watcher live for its time, kills it and starts the next. The
// last one is not killed.
func (k *randomKills) inject(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	if k.rng == nil {
		k.rng = rand.New(rand.NewPCG(c.Seed(), 0x6b696c6c))
	}
	seen := &killed{}
	var want []history.StateRecord
	if k.began.IsZero() {
		// It was ready long before. The event's own time is the moment, which a scenario
		// may have drawn.
		k.lives = evenly(k.rng, max(1, e.Times)-1, e.For.Std())
		k.more = e.Times / mostCompared
		seen.Ready = time.Now().UnixNano()
	} else {
		var err error
		if want, err = seen.follow(ctx, c, k.began.Add(k.lives[0])); err != nil {
			return Done{}, err
		}
		k.lives = k.lives[1:]
		if k.more == 0 {
			want, seen.Wanted = nil, 0
		}
	}
	seen.At = time.Now().UnixNano()
	kill(c)
	if want != nil {
		k.more--
		var err error
		if seen.Behind, err = c.Behind(ctx, want); err != nil {
			return Done{}, err
		}
		if seen.Behind == "" {
			c.Mark(history.Mark{What: history.MarkConverged, Note: "before it was killed"})
		}
	}
	k.began = time.Now()
	if err := c.Spawn(ctx); err != nil {
		return Done{}, err
	}
	if len(k.lives) > 0 {
		return Done{Seen: seen}, nil
	}
	if _, err := firstLists(ctx, c); err != nil {
		return Done{}, err
	}
	var err error
	seen.Last, err = resume(ctx, c, k.began)
	k.began = time.Time{}
	return Done{Seen: seen}, err
}

// evenly draws n moments from 0 to most, one in each n-th part of it, in random order:
// each may be anywhere, and no part is left out by chance.
func evenly(rng *rand.Rand, n int, most time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i, part := range rng.Perm(n) {
		all[i] = time.Duration((float64(part) + rng.Float64()) / float64(n) * float64(most))
	}
	return all
}

// errTimeUp ends a watcher's life.
var errTimeUp = errors.New("its time is up")

// follow looks at a watcher until its time is up and returns the apiserver's state as of
// k.Wanted, nil if storage cannot have caught up with it.
func (k *killed) follow(ctx context.Context, c Cell, until time.Time) (want []history.StateRecord, err error) {
	ctx, cancel := context.WithDeadlineCause(ctx, until, errTimeUp)
	defer cancel()
	drained := make(chan struct{})
	settled := false
	both, run := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		settled, err = k.look(run, c, drained)
		return err
	})
	both.Go(func() (err error) {
		select {
		case <-run.Done():
			return nil
		case <-drained:
		}
		k.Wanted = time.Now().UnixNano()
		want, err = c.APIState(run)
		return err
	})
	err = both.Wait()
	if !errors.Is(context.Cause(ctx), errTimeUp) {
		return nil, err
	}
	if w := c.Watcher(); w.Ended() && !w.PortTaken() {
		return nil, w.Failure()
	}
	if want == nil || !settled {
		want, k.Wanted = nil, 0
	}
	return want, nil
}

// look takes readings of a watcher through its life and always ends with an error, at the
// latest that of ctx. It closes drained once the queue is nearly empty, and reports
// whether the watcher had compared storage with its cache too, by the last reading.
func (k *killed) look(ctx context.Context, c Cell, drained chan<- struct{}) (settled bool, err error) {
	if k.Ready, err = firstLists(ctx, c); err != nil {
		return false, err
	}
	for waiting := true; ; {
		at := time.Now().UnixNano()
		s, err := c.Watcher().Scrape(ctx)
		if err != nil {
			return settled, c.Watcher().Lost(ctx, err)
		}
		queued, rounds := s.Sum(metric.EventsQueued, "kind", podKind), s.Sum(metric.SyncRuns)
		if queued != nil {
			k.Read, k.Queued = at, *queued
			empty := *queued <= nearlyEmpty
			if waiting && empty {
				close(drained)
				waiting = false
			}
			settled = empty && rounds != nil && *rounds > 0
		}
		if err := lifecycle.Pause(ctx, readingEvery); err != nil {
			return settled, err
		}
	}
}

// firstLists waits until the new watcher has completed its first lists, and returns when
// it was seen to have. One that found its port taken by another process is replaced.
func firstLists(ctx context.Context, c Cell) (int64, error) {
	for {
		err := c.Watcher().AwaitReady(ctx)
		if err == nil {
			at := time.Now().UnixNano()
			c.Mark(history.Mark{Time: at, What: history.MarkReady})
			return at, nil
		}
		if ctx.Err() != nil || !c.Watcher().Ended() || !c.Watcher().PortTaken() {
			return 0, err
		}
		c.Mark(history.Mark{What: history.MarkExited})
		if err := c.Spawn(ctx); err != nil {
			return 0, err
		}
	}
}
