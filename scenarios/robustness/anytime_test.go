package robustness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
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

func anytime() faults.Family {
	k := &randomKills{}
	return faults.Family{Rules: k.rules, Failpoints: []faults.Failpoint{
		{Name: killAnytime, Takes: []string{"times", "for"}, Available: repairs, Inject: k.inject},
	}}
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
	Last *faults.CatchUp `json:"last,omitempty"`
}

// inject lets the present watcher live for its time, kills it and starts the next. The
// last one is not killed.
func (k *randomKills) inject(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
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
			return faults.Done{}, err
		}
		k.lives = k.lives[1:]
		if k.more == 0 {
			want, seen.Wanted = nil, 0
		}
	}
	seen.At = time.Now().UnixNano()
	faults.Kill(c)
	if want != nil {
		k.more--
		var err error
		if seen.Behind, err = c.Behind(ctx, want); err != nil {
			return faults.Done{}, err
		}
		if seen.Behind == "" {
			c.Mark(history.Mark{What: history.MarkConverged, Note: "before it was killed"})
		}
	}
	k.began = time.Now()
	if err := c.Spawn(ctx); err != nil {
		return faults.Done{}, err
	}
	if len(k.lives) > 0 {
		return faults.Done{Seen: seen}, nil
	}
	if _, err := firstLists(ctx, c); err != nil {
		return faults.Done{}, err
	}
	var err error
	seen.Last, err = faults.Resume(ctx, c, k.began)
	k.began = time.Time{}
	return faults.Done{Seen: seen}, err
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
func (k *killed) follow(ctx context.Context, c faults.Cell, until time.Time) (want []history.StateRecord, err error) {
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
func (k *killed) look(ctx context.Context, c faults.Cell, drained chan<- struct{}) (settled bool, err error) {
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
func firstLists(ctx context.Context, c faults.Cell) (int64, error) {
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

// deepQueue is from how many events on a queue counts as deep.
const deepQueue = 50

// leastShare: of n kills n/leastShare must have hit each phase, and as many catch-ups must
// have been compared in full, or they prove nothing.
const leastShare = 10

// rules tell from the record what each watcher was doing when it was killed, and when
// storage had everything that had happened until then.
func (*randomKills) rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[killed](c.Deeds, killAnytime)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	k := &kills{all: all, limit: c.Recovery(), acked: make([]int64, len(all))}
	late := 0
	for _, x := range all {
		if x.At > c.Cell.LoadFinished {
			late++
		}
	}
	return []matrix.Rule{{First: true, Request: k.request, Facts: k.facts, Vacuous: func(seen matrix.Seen) (why []string) {
		for _, f := range k.facts(seen) {
			if f.Least != nil && f.Value < *f.Least {
				why = append(why, fmt.Sprintf("%s: %.0f; at least %.0f are needed", f.Name, f.Value, *f.Least))
			}
		}
		if late > 0 {
			why = append(why, fmt.Sprintf("%d kills came after the load had ended", late))
		}
		return why
	}}}, nil
}

// kills are all of a cell, in order.
type kills struct {
	all   []killed
	limit float64 // of the time until storage had everything, seconds; 0 is none
	acked []int64 // by kill, what storage acknowledged of Pods after the last reading
}

// request counts what left a watcher's queue between the last reading and its end.
func (k *kills) request(e *ledger.Entry) {
	if e.Kind != podKind || !e.Acked() {
		return
	}
	i, _ := slices.BinarySearchFunc(k.all, e.Responded, func(x killed, at int64) int { return cmp.Compare(x.At, at) })
	if i < len(k.all) && k.all[i].Read != 0 && e.Responded > k.all[i].Read {
		k.acked[i]++
	}
}

// phases counts the kills by what they hit. A deep queue may be in any phase.
type phases struct{ first, behind, steady, deep int }

// count tells the phases from the record: the first lists were complete or not; storage
// then had everything that had happened until they were, or not.
func (k *kills) count(had map[int64]int64) (n phases) {
	for i, x := range k.all {
		switch {
		case x.Ready == 0:
			n.first++
		case had[x.Ready] > x.At:
			n.behind++
		default:
			n.steady++
		}
		if x.Queued-float64(k.acked[i]) >= deepQueue {
			n.deep++
		}
	}
	return n
}

// compared counts the catch-ups that were compared in full, and how many kills share one
// at most: those after which no watcher lived long enough, up to the first for which one
// did. The first watcher's stands for no kill. behind is why the last kill has none.
func (k *kills) compared() (n, share int, behind string) {
	since := 0
	caught := func() {
		if since > 0 {
			n, share, since = n+1, max(share, since), 0
		}
	}
	for _, x := range k.all {
		if x.Wanted != 0 && x.Behind == "" {
			caught()
		}
		since++
		switch {
		case x.Last == nil:
		case x.Last.Behind != "":
			behind = x.Last.Behind
		default:
			caught()
		}
	}
	if since > 0 && behind == "" {
		behind = fmt.Sprintf("none after the last %d kills", since)
	}
	return n, share, behind
}

func (k *kills) facts(seen matrix.Seen) []result.Fact {
	var moments []int64
	for _, x := range k.all {
		moments = append(moments, x.At, x.Ready)
	}
	had := hadAll(seen.Changes, moments)
	n := k.count(had)
	compared, share, behind := k.compared()

	took := matrix.Within("T", "longest from a kill until storage had all that had happened before", "s", 0, k.limit)
	never := int64(0)
	for _, x := range k.all {
		if had[x.At] == math.MaxInt64 {
			never++
			continue
		}
		took.Value = max(took.Value, float64(had[x.At]-x.At)/1e9)
	}
	took.OK = took.Limit == nil || took.Value <= *took.Limit
	lost := matrix.None("C", "kills after which storage never had all that had happened before", never, "")
	if never > 0 {
		took.OK, took.Detail = false, fmt.Sprintf("after %d kills it never had", never)
	}
	full := least("catch-ups compared in full", compared, len(k.all)/leastShare)
	full.OK, full.Detail = behind == "", cmp.Or(behind, fmt.Sprintf("at most %d kills share one", share))
	phase := len(k.all) / leastShare
	return []result.Fact{
		least("kills during the first lists", n.first, phase),
		least("kills while storage was catching up", n.behind, phase),
		least("kills in steady state", n.steady, phase),
		least(fmt.Sprintf("kills with %d events queued or more", deepQueue), n.deep, phase),
		full, lost, took,
	}
}

// least states a count of column C that proves something from so many on, at least one.
func least(name string, n, atLeast int) result.Fact {
	f := matrix.Fact("C", name, "", float64(n), true)
	limit := float64(max(1, atLeast))
	f.Least = &limit
	return f
}

// hadAll finds, for each moment, when storage first had everything that had happened by
// then: the moment itself if nothing was missing, math.MaxInt64 if it never had.
func hadAll(changes iter.Seq[history.Change], moments []int64) map[int64]int64 {
	order := slices.Compact(slices.Sorted(slices.Values(moments)))
	latest := make([]int64, len(order))
	for c := range changes {
		if c.Stored == 0 && (c.Gone || c.Unconfirmed) {
			continue // it came and went unseen, or storage had it and could not say when
		}
		stored := c.Stored
		if stored == 0 {
			stored = math.MaxInt64
		}
		if i, _ := slices.BinarySearch(order, c.Finished); i < len(order) {
			latest[i] = max(latest[i], stored)
		}
	}
	had := make(map[int64]int64, len(order))
	last := int64(0)
	for i, at := range order {
		last = max(last, latest[i])
		had[at] = max(at, last)
	}
	return had
}
