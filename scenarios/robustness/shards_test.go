package robustness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// What is done to the replicas that divide shards among them.
const (
	scale      = "replicas"    // starts or ends replicas, with SIGTERM, until there are as many as count says and all shards are theirs
	loseShards = "lose-shards" // watch.faults cut the first replica off from the apiserver now; until the others have its shards
	jostle     = "jostle"      // starts one, or ends one with SIGTERM or SIGKILL, as chance has it, and waits only a moment
)

// mostReplicas is as many as a row has instances of storage.
const mostReplicas = 3

func shards() faults.Family {
	divided := func(t *spec.Timeline, e spec.Event) error {
		t.Repairs = true
		if e.What == loseShards {
			return t.Need(t.Watcher.Divided() && t.Watcher.Replicas > 1 && t.Watch.Leader, e.What+" without anybody to lose them", "set watcher.shards, watcher.replicas: 2 and watch.leader")
		}
		return t.Need(t.Watcher.Divided() && t.Storage.Instances >= mostReplicas && e.Count <= mostReplicas, e.What+" without shards",
			fmt.Sprintf("set watcher.shards, storage.instances: %d and count up to that", mostReplicas))
	}
	var rng *rand.Rand
	return faults.Family{Rules: shardRules, Failpoints: []faults.Failpoint{
		{Name: scale, Takes: []string{"count"}, Available: divided, Anywhere: true, Inject: scaleTo},
		{Name: loseShards, Available: divided, Inject: func(ctx context.Context, c faults.Cell, _ spec.Event) (faults.Done, error) {
			former, t := c.Watcher(), takeOver{Killed: time.Now().UnixNano()}
			err := t.share(ctx, c, c.Others())
			c.SetWatchers(c.Watcher(), append(c.Others(), former))
			return faults.Done{Seen: t}, err
		}},
		{Name: jostle, Takes: []string{"times"}, Available: divided, Anywhere: true, Inject: func(ctx context.Context, c faults.Cell, _ spec.Event) (faults.Done, error) {
			if rng == nil {
				rng = rand.New(rand.NewPCG(c.Seed(), 0x6a6f73746c65))
			}
			return jostled(ctx, c, rng)
		}},
	}}
}

// change is what was done to the replicas once.
type change struct {
	Replicas int     `json:"replicas"`          // that there are since
	Killed   bool    `json:"killed,omitempty"`  // of one that ended
	Seconds  float64 `json:"seconds,omitempty"` // until all shards were theirs; 0: nobody waited
}

// running are all replicas.
func running(c faults.Cell) []*party.Watcher {
	return append([]*party.Watcher{c.Watcher()}, c.Others()...)
}

// add starts one more replica and waits for nothing but its metrics.
func add(ctx context.Context, c faults.Cell) error {
	w, err := c.Launch(ctx, 0)
	if err == nil {
		c.SetWatchers(c.Watcher(), append(c.Others(), w))
	}
	return err
}

// end ends one of the replicas.
func end(c faults.Cell, i int, kill bool) {
	left := running(c)
	w := left[i]
	left = slices.Delete(left, i, i+1)
	if kill {
		w.Kill()
	} else {
		w.Stop(c.Scenario().Watcher.DrainTimeout.Std() + stopGrace)
	}
	c.SetWatchers(left[0], left[1:])
}

// stopGrace is what a replica has beyond its drain limit to give back its Leases.
const stopGrace = 20 * time.Second

func scaleTo(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	began := time.Now()
	for len(running(c)) < e.Number() {
		if err := add(ctx, c); err != nil {
			return faults.Done{}, err
		}
	}
	for len(running(c)) > e.Number() {
		end(c, 0, false)
	}
	err := c.Divided(ctx)
	return faults.Done{Keys: int64(e.Number()), Seen: change{Replicas: e.Number(), Seconds: time.Since(began).Seconds()}}, err
}

// moment is how long a jostle lets the replicas go on: hand-overs are under way when the next comes, and some are complete.
const moment = 6 * time.Second

func jostled(ctx context.Context, c faults.Cell, rng *rand.Rand) (faults.Done, error) {
	n := len(running(c))
	did := change{Replicas: n + 1}
	if n == 1 || n < mostReplicas && rng.IntN(2) == 0 {
		if err := add(ctx, c); err != nil {
			return faults.Done{}, err
		}
	} else {
		did = change{Replicas: n - 1, Killed: rng.IntN(2) == 0}
		end(c, rng.IntN(n), did.Killed)
	}
	return faults.Done{Seen: did}, lifecycle.Pause(ctx, time.Duration(rng.Int64N(int64(moment))))
}

// shardRules: the shards went from one replica to another, and were divided in time.
func shardRules(c *matrix.Case) ([]matrix.Rule, error) {
	scaled, err := history.Deeds[change](c.Deeds, scale)
	if err != nil {
		return nil, err
	}
	var rules []matrix.Rule
	for i, x := range scaled {
		rules = append(rules, matrix.States(matrix.Within("T", fmt.Sprintf("shards divided among %d replicas (change %d)", x.Replicas, i+1), "s", x.Seconds, c.Recovery())))
	}
	jostled, err := history.Deeds[change](c.Deeds, jostle)
	if len(jostled) > 0 {
		killed := 0
		for _, x := range jostled {
			if x.Killed {
				killed++
			}
		}
		rules = append(rules, matrix.States(matrix.Fact("O", "changes of the number of replicas", "", float64(len(jostled)), true),
			matrix.Fact("O", "of which by SIGKILL", "", float64(killed), true)))
	}
	return rules, err
}
