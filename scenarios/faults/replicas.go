package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Several watchers at once.
const (
	join       = "join"        // a second watcher beside the first
	leave      = "leave"       // SIGTERM to it
	killLeader = "kill-leader" // SIGKILL to the replica that leads, until another has taken over
	takeLease  = "take-lease"  // the Lease is written to a stranger, until a replica has it again
	stopLeader = "stop-leader" // SIGSTOP to the replica that leads until another has taken over, then SIGCONT
	loseLeader = "lose-leader" // watch.faults cut the leader off from the apiserver now; until another has taken over
)

const (
	// takeOverLimit bounds the wait for another replica to lead.
	takeOverLimit = 40 * time.Second
	// lastRequests is how long what the former leader had on its way may take to arrive;
	// a successor takes longer to begin.
	lastRequests = 100 * time.Millisecond
)

func replicas() family {
	return family{shared: replicaRules{}, injectors: []Injector{
		kind{name: join, inject: joinSecond, validate: func(t *spec.Timeline, _ spec.Event) error {
			err := t.Need(!t.Second, "join when a second watcher runs", "let it leave first")
			t.Second = true
			return err
		}},
		kind{name: leave, inject: endSecond, validate: func(t *spec.Timeline, _ spec.Event) error {
			err := t.Need(t.Second, "leave without a second watcher", "let one join first")
			t.Second = false
			return err
		}},
		kind{name: killLeader, inject: replaceLeader, validate: func(t *spec.Timeline, _ spec.Event) error {
			t.Repairs = true // of what was deleted until the other one had its lists
			return t.Need(t.Watcher.Replicas > 1, "kill-leader without replicas", "set watcher.replicas: 2")
		}},
		kind{name: takeLease, inject: loseLease, validate: func(t *spec.Timeline, _ spec.Event) error {
			t.Repairs = true // as above
			return t.Need(t.Watcher.Replicas > 1, "take-lease without replicas", "set watcher.replicas: 2")
		}},
		kind{name: stopLeader, inject: freezeLeader, validate: func(t *spec.Timeline, _ spec.Event) error {
			t.Repairs = true // as above
			return t.Need(t.Watcher.Replicas > 1, "stop-leader without replicas", "set watcher.replicas: 2")
		}},
		kind{name: loseLeader, inject: loseLease, validate: func(t *spec.Timeline, _ spec.Event) error {
			t.Repairs = true // as above
			return t.Need(t.Watcher.Replicas > 1 && t.Watch.Leader, "lose-leader while nothing cuts the leader off", "set watcher.replicas: 2, watch.leader: true and watch.faults")
		}},
	}}
}

func joinSecond(ctx context.Context, c Cell, _ spec.Event) (Done, error) {
	w, err := c.Launch(ctx, 0)
	if err != nil {
		return Done{}, err
	}
	c.SetWatchers(c.Watcher(), append(c.Others(), w))
	return Done{}, w.AwaitReady(ctx)
}

func endSecond(_ context.Context, c Cell, _ spec.Event) (Done, error) {
	others := c.Others()
	last := len(others) - 1
	c.SetWatchers(c.Watcher(), others[:last])
	others[last].Stop(c.Scenario().Watcher.DrainTimeout.Std() + exitSlack)
	return Done{}, nil
}

// takeOver is a leader's end and its successor's beginning.
type takeOver struct {
	Killed  int64   `json:"killed"` // or when its Lease was taken
	Before  int     `json:"before"` // instance of storage that the former leader wrote to
	Seconds float64 `json:"seconds"`
	Return  CatchUp `json:"return"`
	Lease   *loss   `json:"lease,omitempty"` // nil where none was taken
	Frozen  *freeze `json:"frozen,omitempty"`
}

// replaceLeader kills the replica that leads and waits for another.
func replaceLeader(ctx context.Context, c Cell, _ spec.Event) (Done, error) {
	all := append([]*party.Watcher{c.Watcher()}, c.Others()...)
	i, err := leader(ctx, all)
	if err != nil {
		return Done{}, fmt.Errorf("kill the leader: %w", err)
	}
	began := time.Now()
	t := takeOver{Before: all[i].Instance, Killed: began.UnixNano()}
	c.Mark(history.Mark{What: history.MarkKilled})
	all[i].Kill()
	if err := t.succeed(ctx, c, slices.Delete(all, i, i+1), t.Killed+int64(lastRequests)); err != nil {
		return Done{}, err
	}
	return Done{Seen: t}, nil
}

// leader is the index of the replica that leads.
func leader(ctx context.Context, all []*party.Watcher) (int, error) {
	i := slices.IndexFunc(all, func(w *party.Watcher) bool { return w.Leads(ctx) })
	if i < 0 {
		return i, fmt.Errorf("none of the %d replicas has received anything (first log: %s)", len(all), all[0].Log)
	}
	return i, nil
}

// succeed waits until one of the replicas that are left leads and storage has caught up.
// The successor's account begins at a time (Unix nanoseconds).
func (t *takeOver) succeed(ctx context.Context, c Cell, left []*party.Watcher, account int64) error {
	began := time.Unix(0, t.Killed)
	successor := -1
	for time.Since(began) < takeOverLimit {
		if successor = slices.IndexFunc(left, func(w *party.Watcher) bool { return w.Leads(ctx) }); successor >= 0 {
			break
		}
		if err := lifecycle.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	if successor < 0 {
		c.Mark(history.Mark{What: history.MarkDiverged, Note: fmt.Sprintf("no replica took over within %s", takeOverLimit)})
		return &party.TimeoutError{What: "the take-over by another replica", After: takeOverLimit, Log: left[0].Log}
	}
	t.Seconds = time.Since(began).Seconds()
	w := left[successor]
	c.SetWatchers(w, slices.Delete(left, successor, successor+1))
	c.Mark(history.Mark{Time: account, What: history.MarkStarted})
	if err := w.AwaitReady(ctx); err != nil {
		return err
	}
	c.Mark(history.Mark{What: history.MarkReady})
	caught, err := resume(ctx, c, began)
	if caught != nil {
		t.Return = *caught
	}
	return err
}

// replicaRules also removes the Lease that the replicas leave behind.
type replicaRules struct{}

var (
	_ Ruler   = replicaRules{}
	_ Remover = replicaRules{}
)

// Rules: only one replica writes at a time.
func (replicaRules) Rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[takeOver](c.Deeds, killLeader, takeLease, stopLeader, loseLeader)
	if err != nil {
		return nil, err
	}
	var rules []matrix.Rule
	for _, t := range all {
		ended, free := t.Killed+int64(lastRequests), t.Killed // of the former leader's requests; for another's
		if t.Lease != nil {
			// A replica may have seen the stranger's Lease a little before the writer of it
			// had the answer from which Expires counts.
			ended, free = t.Lease.Expires, t.Lease.Expires-int64(lastRequests)
			if t.Lease.CutOff {
				ended, free = t.Lease.Exited+int64(lastRequests), t.Lease.Exited
			}
			rules = append(rules, t.Lease.rule(t.Killed))
		}
		if t.Frozen != nil {
			rules = append(rules, t.Frozen.rule())
		}
		double := int64(0)
		rules = append(rules, matrix.Rule{
			Request: func(e *ledger.Entry) {
				former := e.Instance == t.Before
				if former && e.Received > ended || !former && e.Received < free {
					double++
				}
			},
			Facts: func(matrix.Seen) []result.Fact {
				return []result.Fact{
					matrix.Within("T", "take-over by another replica", "s", t.Seconds, recovery(c)),
					t.Return.fact("catch-up after the take-over", recovery(c)),
					matrix.None("O", "requests of a replica that did not lead", double, ""),
				}
			},
		})
	}
	return rules, nil
}

// Lease is the name of a cell's Lease.
func Lease(run string) string { return "watchbench-" + run }

// Remove deletes the Lease.
func (replicaRules) Remove(ctx context.Context, c Cell) error {
	if !c.Scenario().Watcher.LeaderElection || c.API() == nil {
		return nil
	}
	_, err := c.API().Send(ctx, http.MethodDelete, leasePath(c), nil)
	if party.NotFound(err) {
		return nil
	}
	return err
}
