package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// The ends and beginnings of the watcher.
const (
	sigterm     = "sigterm"      // SIGTERM to the watcher, until it ended
	sigkill     = "sigkill"      // SIGKILL to the watcher
	startAgain  = "start"        // a new watcher, until storage has caught up
	killRestart = "kill-restart" // both, as often as the event asks for
	termRestart = "term-restart"
)

// exitSlack is how long beyond its drain limit a watcher may take to end after SIGTERM
// before it is killed and the run goes on.
const exitSlack = 10 * time.Second

// exitTolerance is how far the end may be from the drain limit.
const exitTolerance = 500 * time.Millisecond

func lives() Family {
	ends := func(t *spec.Timeline, e spec.Event) error {
		err := restarts(t, e)
		t.Runs = false
		return err
	}
	return Family{Rules: livesRules, Failpoints: []Failpoint{
		{Name: sigterm, Available: ends, Inject: func(ctx context.Context, c Cell, _ spec.Event) (Done, error) {
			end, err := terminate(ctx, c)
			return Done{Seen: life{End: end}}, err
		}},
		{Name: sigkill, Available: ends, Inject: func(_ context.Context, c Cell, _ spec.Event) (Done, error) {
			Kill(c)
			return Done{}, nil
		}},
		{Name: startAgain, Takes: []string{"podQueueNum"},
			Inject: func(ctx context.Context, c Cell, e spec.Event) (Done, error) {
				caught, err := restart(ctx, c, e.PodQueueNum)
				return Done{Seen: life{Return: caught}}, err
			}, Available: func(t *spec.Timeline, _ spec.Event) error {
				err := t.Need(!t.Runs, "start when a watcher runs", "end it first, or use join for a second one")
				t.Runs = true
				return err
			}},
		{Name: killRestart, Takes: []string{"times", "podQueueNum"}, Available: restarts,
			Inject: func(ctx context.Context, c Cell, e spec.Event) (Done, error) {
				Kill(c)
				caught, err := restart(ctx, c, e.PodQueueNum)
				return Done{Seen: life{Return: caught}}, err
			}},
		{Name: termRestart, Takes: []string{"times", "podQueueNum"}, Available: restarts,
			Inject: func(ctx context.Context, c Cell, e spec.Event) (Done, error) {
				end, err := terminate(ctx, c)
				if err != nil {
					return Done{}, err
				}
				caught, err := restart(ctx, c, e.PodQueueNum)
				return Done{Seen: life{End: end, Return: caught}}, err
			}},
	}}
}

// restarts refuses the end of a watcher when none runs; what is deleted meanwhile only a comparison finds.
func restarts(t *spec.Timeline, e spec.Event) error {
	t.Repairs = true
	return needsWatcher(t, e)
}

// life records the end of one watcher and the start of the next.
type life struct {
	End    *termination `json:"end,omitempty"`
	Return *CatchUp     `json:"return,omitempty"`
}

// termination is how a watcher ended after SIGTERM.
type termination struct {
	Seconds   float64 `json:"seconds"`
	Limit     float64 `json:"limit"` // its drain limit, in seconds
	Killed    bool    `json:"killed,omitempty"`
	ExitCode  int     `json:"exitCode"`
	Abandoned int64   `json:"abandoned"` // events, by its log
	Waiting   int64   `json:"waiting"`   // events queued or in flight at the first reading after SIGTERM
	// Known: metrics could be read; Queued and Balanced are of the last reading, begun at Read.
	Known    bool  `json:"known,omitempty"`
	Read     int64 `json:"read,omitempty"`
	Queued   int64 `json:"queued,omitempty"`
	Balanced bool  `json:"balanced,omitempty"`
}

// Kill ends the watcher as the kernel does when memory is short.
func Kill(c Cell) {
	c.Mark(history.Mark{What: history.MarkKilled})
	c.Watcher().Kill()
	c.Mark(history.Mark{What: history.MarkExited})
}

// restart starts a watcher after the end of another and waits until storage has caught up with the cluster.
func restart(ctx context.Context, c Cell, queues int) (*CatchUp, error) {
	began := time.Now()
	if err := c.Begin(ctx, queues); err != nil {
		return nil, err
	}
	return Resume(ctx, c, began)
}

// Resume waits until storage has caught up under a watcher that took another's place.
func Resume(ctx context.Context, c Cell, began time.Time) (*CatchUp, error) {
	caught, err := c.CatchUp(ctx, began)
	if err != nil {
		return nil, err
	}
	if caught.Behind != "" {
		c.Mark(history.Mark{What: history.MarkDiverged, Note: caught.Behind})
	} else {
		c.Mark(history.Mark{What: history.MarkConverged, Note: seconds(caught.Seconds).Round(time.Millisecond).String()})
	}
	return &caught, c.Resumed(ctx)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// terminate sends SIGTERM and follows the drain to its end.
func terminate(ctx context.Context, c Cell) (*termination, error) {
	w, drain := c.Watcher(), c.Scenario().Watcher.DrainTimeout.Std()
	t := &termination{Limit: drain.Seconds()}
	c.Mark(history.Mark{What: history.MarkTerminated})
	t.look(ctx, w) // it may end before the first tick
	began := time.Now()
	w.Signal(syscall.SIGTERM)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(drain + exitSlack)
	defer limit.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			return t, context.Cause(ctx)
		case <-w.Done():
			ended = true
		case <-limit.C:
			t.Killed = true
			w.Kill()
		case <-tick.C:
			t.look(ctx, w)
		}
	}
	t.Seconds = time.Since(began).Seconds()
	t.ExitCode = w.ExitCode()
	c.Mark(history.Mark{What: history.MarkExited})
	var err error
	t.Abandoned, err = abandonedIn(w.Log)
	return t, err
}

// look reads the counters while the watcher still answers.
func (t *termination) look(ctx context.Context, w *party.Watcher) {
	at := time.Now().UnixNano()
	s, err := w.Scrape(ctx)
	if err != nil {
		return
	}
	if e := measure.EventsOf(s); e != nil {
		if !t.Known {
			t.Waiting = e.Queued
		}
		t.Known, t.Read, t.Queued = true, at, e.Queued
		t.Balanced = e.Received == e.Sent+e.Coalesced+e.Filtered+e.Parked+e.Queued+e.Dropped
	}
}

// abandonedLine is how the watcher logs events that it did not send.
var abandonedLine = regexp.MustCompile(`msg="events dropped" .*\bevents=(\d+)`)

// abandonedIn reads from a watcher's log how many events it gave up at its end.
func abandonedIn(log string) (n int64, err error) {
	data, err := os.ReadFile(log)
	if err != nil {
		return 0, fmt.Errorf("read the watcher's log: %w", err)
	}
	for _, m := range abandonedLine.FindAllSubmatch(data, -1) {
		if v, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
			n += v
		}
	}
	return n, nil
}

// livesRules state how long storage took to catch up after a restart and how SIGTERM ended.
func livesRules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[life](c.Deeds, sigterm, startAgain, killRestart, termRestart)
	if err != nil {
		return nil, err
	}
	limit := c.Recovery()
	var rules []matrix.Rule
	if worst := worstReturn(all); worst != nil {
		rules = append(rules, matrix.States(worst.Fact("longest catch-up after a restart", limit)))
	}
	for _, l := range all {
		if l.End != nil {
			rules = append(rules, l.End.rule(c))
		}
	}
	return rules, nil
}

// worstReturn is the restart after which storage took longest to catch up, or never did; nil if there was none.
func worstReturn(all []life) (worst *CatchUp) {
	for _, l := range all {
		r := l.Return
		if r != nil && (worst == nil || worst.Behind == "" && (r.Behind != "" || r.Seconds > worst.Seconds)) {
			worst = r
		}
	}
	return worst
}

// rule: after SIGTERM a watcher gives up only what it had queued, and nothing before its drain limit.
func (t *termination) rule(c *matrix.Case) matrix.Rule {
	end := matrix.Within("T", "end after SIGTERM", "s", t.Seconds, t.Limit+exitTolerance.Seconds())
	end.Detail = fmt.Sprintf("drain limit %s", seconds(t.Limit))
	if t.Killed {
		end = matrix.Missing("T", "end after SIGTERM", "s", fmt.Sprintf("it had not ended after %s",
			seconds(t.Seconds).Round(time.Millisecond)))
	}
	early := int64(0)
	if t.Seconds < t.Limit-exitTolerance.Seconds() {
		early = t.Abandoned
	}
	facts := []result.Fact{end, matrix.None("L", "events given up before the drain limit", early, "")}
	if !c.Cell.Watcher.Own {
		return matrix.States(end)
	}
	// A watcher with nothing to send at SIGTERM cannot lose anything.
	idle := func(matrix.Seen) []string {
		if n := t.Waiting + t.Abandoned; n < matrix.MinKeys && slices.Contains(c.Cell.Scenario.Fault.Assert, "L") {
			return []string{fmt.Sprintf("SIGTERM found %d events to drain; at least %d are needed", n, matrix.MinKeys)}
		}
		return nil
	}
	if !t.Known {
		r := matrix.States(append(facts, matrix.Missing("L", "events given up at the end", "events",
			"the watcher's counters could not be read"))...)
		r.Vacuous = idle
		return r
	}
	// What was acknowledged after the last reading is no longer queued.
	var since int64
	return matrix.Rule{
		Vacuous: idle,
		Request: func(e *ledger.Entry) {
			if e.Acked() && e.Responded >= t.Read {
				since++
			}
		},
		Facts: func(matrix.Seen) []result.Fact {
			f := matrix.Fact("L", "events given up at the end", "events", float64(t.Abandoned), t.Balanced &&
				t.Abandoned <= t.Queued && t.Abandoned >= t.Queued-since)
			f.Detail = fmt.Sprintf("%d were queued at the last reading", t.Queued)
			return append(facts, f)
		},
	}
}

// A second watcher beside the first.
const (
	join  = "join"
	leave = "leave" // SIGTERM to it
)

func secondWatcher() Family {
	return Family{Remove: removeLeases, Failpoints: []Failpoint{
		{Name: join, Inject: joinSecond, Available: func(t *spec.Timeline, _ spec.Event) error {
			err := t.Need(!t.Second, "join when a second watcher runs", "let it leave first")
			t.Second = true
			return err
		}},
		{Name: leave, Inject: endSecond, Available: func(t *spec.Timeline, _ spec.Event) error {
			err := t.Need(t.Second, "leave without a second watcher", "let one join first")
			t.Second = false
			return err
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

// Lease is the name of a cell's Lease; those of shards, and of replicas that share them, begin with it.
func Lease(run string) string { return "watchbench-" + run }

// leasesPath is the place of all Leases in the API.
const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/" + party.LeaseNamespace + "/leases"

// removeLeases deletes the Leases that replicas leave behind.
func removeLeases(ctx context.Context, c Cell) error {
	if !c.Scenario().Watcher.LeaderElection || c.API() == nil {
		return nil
	}
	return c.API().Each(ctx, leasesPath, "", func(raw json.RawMessage) error {
		var lease struct{ Metadata struct{ Name string } }
		err := json.Unmarshal(raw, &lease)
		if err == nil && strings.HasPrefix(lease.Metadata.Name, Lease(c.Run())) {
			_, err = c.API().Send(ctx, http.MethodDelete, leasesPath+"/"+lease.Metadata.Name, nil)
		}
		if party.NotFound(err) {
			return nil
		}
		return err
	})
}
