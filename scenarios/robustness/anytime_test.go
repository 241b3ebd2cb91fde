package robustness

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// killAnytime is SIGKILL at moments of a watcher's whole life, counted from the start of its process, whatever it is
// doing then; a new watcher takes its place at once.
const killAnytime = "kill-anytime"

// randomKills is one event under way.
type randomKills struct {
	rng   *rand.Rand
	lives []time.Duration // of the watchers to be killed yet
	began time.Time       // start of the present one; zero is one that ran before
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
	// Last is how storage caught up under the watcher that followed and was not killed: set with the last kill.
	Last *faults.CatchUp `json:"last,omitempty"`
}

// inject lets the present watcher live for its time, kills it and starts the next. The last one is not killed.
func (k *randomKills) inject(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	if k.rng == nil {
		k.rng = rand.New(rand.NewPCG(c.Seed(), 0x6b696c6c))
	}
	seen := &killed{}
	if k.began.IsZero() { // it was ready long before, and the event's own time is the moment
		k.lives = evenly(k.rng, max(1, e.Times)-1, e.For.Std())
		seen.Ready = time.Now().UnixNano()
	} else {
		if err := seen.follow(ctx, c, k.began.Add(k.lives[0])); err != nil {
			return faults.Done{}, err
		}
		k.lives = k.lives[1:]
	}
	seen.At = time.Now().UnixNano()
	faults.Kill(c)
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

// evenly draws n moments from 0 to most, one in each n-th part of it, in random order: each may be anywhere, and no
// part is left out by chance.
func evenly(rng *rand.Rand, n int, most time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i, part := range rng.Perm(n) {
		all[i] = time.Duration((float64(part) + rng.Float64()) / float64(n) * float64(most))
	}
	return all
}

// errTimeUp ends a watcher's life.
var errTimeUp = errors.New("its time is up")

// follow waits until a watcher's time is up.
func (k *killed) follow(ctx context.Context, c faults.Cell, until time.Time) (err error) {
	ctx, cancel := context.WithDeadlineCause(ctx, until, errTimeUp)
	defer cancel()
	if k.Ready, err = firstLists(ctx, c); err == nil {
		<-ctx.Done()
	}
	if !errors.Is(context.Cause(ctx), errTimeUp) {
		return errors.Join(err, context.Cause(ctx))
	}
	if w := c.Watcher(); w.Ended() && !w.PortTaken() {
		return w.Failure()
	}
	return nil
}

// firstLists waits until the new watcher has completed its first lists, and returns when it was seen to have. One that
// found its port taken by another process is replaced.
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

// leastShare: of n kills n/leastShare must have hit each phase, or they prove nothing.
const leastShare = 10

// rules tell from the record what each watcher was doing when it was killed, and when storage had everything that had
// happened until then.
func (*randomKills) rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[killed](c.Deeds, killAnytime)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	late := 0
	for _, x := range all {
		if x.At > c.Cell.LoadFinished {
			late++
		}
	}
	facts := func(seen matrix.Seen) []result.Fact { return killFacts(all, seen, c.Recovery()) }
	return []matrix.Rule{{First: true, Facts: facts, Vacuous: func(seen matrix.Seen) (why []string) {
		for _, f := range facts(seen) {
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

// killFacts count the kills by what they hit: the first lists were complete or not; storage then had everything that
// had happened until they were, or not.
func killFacts(all []killed, seen matrix.Seen, limit float64) []result.Fact {
	var moments []int64
	for _, x := range all {
		moments = append(moments, x.At, x.Ready)
	}
	had := hadAll(seen.Changes, moments)
	first, behind, steady, never := 0, 0, 0, int64(0)
	took := matrix.Within("T", "longest from a kill until storage had all that had happened before", "s", 0, limit)
	for _, x := range all {
		switch {
		case x.Ready == 0:
			first++
		case had[x.Ready] > x.At:
			behind++
		default:
			steady++
		}
		if had[x.At] == math.MaxInt64 {
			never++
			continue
		}
		took.Value = max(took.Value, float64(had[x.At]-x.At)/1e9)
	}
	took.OK = took.Limit == nil || took.Value <= *took.Limit
	if never > 0 {
		took.OK, took.Detail = false, fmt.Sprintf("after %d kills it never had", never)
	}
	end := matrix.Fact("C", "storage caught up after the last kill", "", 1, true)
	if last := all[len(all)-1].Last; last == nil || last.Behind != "" {
		end.Value, end.OK = 0, false
		if last != nil {
			end.Detail = last.Behind
		}
	}
	return []result.Fact{
		least("kills during the first lists", first, len(all)/leastShare),
		least("kills while storage was catching up", behind, len(all)/leastShare),
		least("kills in steady state", steady, len(all)/leastShare),
		matrix.None("C", "kills after which storage never had all that had happened before", never, ""), end, took,
	}
}

// least states a count of column C that proves something from so many on, at least one.
func least(name string, n, atLeast int) result.Fact {
	f := matrix.Fact("C", name, "", float64(n), true)
	limit := float64(max(1, atLeast))
	f.Least = &limit
	return f
}

// hadAll finds, for each moment, when storage first had everything that had happened by then: the moment itself if
// nothing was missing, math.MaxInt64 if it never had.
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
