package robustness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// What is done to the replica that leads.
const (
	killLeader = "kill-leader" // SIGKILL to the replica that leads, or has the first shard, until others have taken over
	takeLease  = "take-lease"  // the Lease is written to a stranger, until a replica has it again
	stopLeader = "stop-leader" // SIGSTOP to the replica that leads until another has taken over, then SIGCONT
	loseLeader = "lose-leader" // watch.faults cut the leader off from the apiserver now; until another has taken over
)

const (
	// takeOverLimit bounds the wait for another replica to lead.
	takeOverLimit = 40 * time.Second
	// lastRequests is how long what the former leader had on its way may take to arrive; a successor takes longer to
	// begin.
	lastRequests = 100 * time.Millisecond
)

func replicas() faults.Family {
	return faults.Family{Rules: replicaRules, Failpoints: []faults.Failpoint{
		{Name: killLeader, Available: repairs, Inject: replaceLeader},
		{Name: takeLease, Available: repairs, Inject: loseLease},
		{Name: stopLeader, Available: repairs, Anywhere: true, Inject: freezeLeader},
		{Name: loseLeader, Available: repairs, Inject: loseLease},
	}}
}

// takeOver is a leader's end and its successor's beginning.
type takeOver struct {
	Killed  int64          `json:"killed"` // or when its Lease was taken
	Seconds float64        `json:"seconds"`
	Return  faults.CatchUp `json:"return"`
	Lease   *loss          `json:"lease,omitempty"` // nil where none was taken
	Frozen  *freeze        `json:"frozen,omitempty"`
}

// replaceLeader kills the replica that leads and waits for another.
func replaceLeader(ctx context.Context, c faults.Cell, _ spec.Event) (faults.Done, error) {
	all := append([]*party.Watcher{c.Watcher()}, c.Others()...)
	i, err := leader(ctx, c, all)
	if err != nil {
		return faults.Done{}, fmt.Errorf("kill the leader: %w", err)
	}
	t := takeOver{Killed: time.Now().UnixNano()}
	c.Mark(history.Mark{What: history.MarkKilled})
	all[i].Kill()
	if err := t.succeed(ctx, c, slices.Delete(all, i, i+1), t.Killed+int64(lastRequests)); err != nil {
		return faults.Done{}, err
	}
	return faults.Done{Seen: t}, nil
}

// leader is the index of the replica that leads; with shards that of the first one's holder.
func leader(ctx context.Context, c faults.Cell, all []*party.Watcher) (int, error) {
	leads := func(w *party.Watcher) bool { return w.Leads(ctx) }
	if c.Scenario().Watcher.Divided() {
		leads = func(w *party.Watcher) bool { return w == c.Holder(0) }
	}
	i := slices.IndexFunc(all, leads)
	if i < 0 {
		return i, fmt.Errorf("none of the %d replicas leads (first log: %s)", len(all), all[0].Log)
	}
	return i, nil
}

// succeed waits until one of the replicas that are left leads and storage has caught up. The successor's account begins
// at a time (Unix nanoseconds).
func (t *takeOver) succeed(ctx context.Context, c faults.Cell, left []*party.Watcher, account int64) error {
	began := time.Unix(0, t.Killed)
	if c.Scenario().Watcher.Divided() {
		return t.share(ctx, c, left)
	}
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
	caught, err := faults.Resume(ctx, c, began)
	if caught != nil {
		t.Return = *caught
	}
	return err
}

// share waits until the replicas that are left have all shards among them and storage has caught up.
func (t *takeOver) share(ctx context.Context, c faults.Cell, left []*party.Watcher) error {
	began := time.Unix(0, t.Killed)
	c.SetWatchers(left[0], left[1:])
	if err := c.Divided(ctx); err != nil {
		c.Mark(history.Mark{What: history.MarkDiverged, Note: err.Error()})
		return err
	}
	t.Seconds = time.Since(began).Seconds()
	caught, err := c.CatchUp(ctx, began)
	t.Return = caught
	return err
}

// replicaRules: another replica takes over in time. That only one writes at a time is G10's to say.
func replicaRules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[takeOver](c.Deeds, killLeader, takeLease, stopLeader, loseLeader, loseShards)
	if err != nil {
		return nil, err
	}
	var rules []matrix.Rule
	for _, t := range all {
		divided := c.Cell.Scenario.Watcher.Divided() // then a replica that lost a shard goes on with others
		if t.Lease != nil && !divided {
			rules = append(rules, t.Lease.rule(t.Killed))
		}
		if t.Frozen != nil {
			rules = append(rules, t.Frozen.rule(divided))
		}
		rules = append(rules, matrix.States(
			matrix.Within("T", "take-over by another replica", "s", t.Seconds, c.Recovery()),
			t.Return.Fact("catch-up after the take-over", c.Recovery())))
	}
	return rules, nil
}

// stranger is who holds a Lease that was taken from the replicas.
const stranger = "watchbench"

// loss is how a leader lost its Lease, to a stranger or to another replica.
type loss struct {
	// Expires is when the leader's last renewal does at the latest (Unix nanoseconds): it must have stopped by then, since
	// another may lead from then on.
	Expires int64 `json:"expires"`
	Exited  int64 `json:"exited,omitempty"` // when its process ended; 0 if it did not
	CutOff  bool  `json:"cutOff,omitempty"` // it could not renew, nobody took the Lease
}

// noticed is how long a leader may need to see that another holds its Lease: a renewal and a second try of it.
const noticed = 5 * time.Second

// givenUp is how long a leader may need that cannot renew its Lease: the deadline of a renewal, 5 s, and a second to
// end.
const givenUp = 6 * time.Second

// rule: a leader that lost its Lease ends in time.
func (l *loss) rule(taken int64) matrix.Rule {
	limit := min(float64(l.Expires-taken)/1e9, noticed.Seconds())
	if l.CutOff {
		limit = givenUp.Seconds()
	}
	if l.Exited == 0 {
		return matrix.States(matrix.Missing("T", "end of the former leader", "s", "it did not end"))
	}
	return matrix.States(matrix.Within("T", "end of the former leader", "s", float64(l.Exited-taken)/1e9, limit))
}

// loseLease writes the Lease to a stranger, who holds it for as long as a leader that renews it no more, or leaves it
// to a leader that is cut off; it waits for the leader's end and for another replica.
func loseLease(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	all := append([]*party.Watcher{c.Watcher()}, c.Others()...)
	i, err := leader(ctx, c, all)
	if err != nil {
		return faults.Done{}, fmt.Errorf("%s: %w", e.What, err)
	}
	t := takeOver{Lease: &loss{CutOff: e.What == loseLeader}}
	now := time.Now().UTC().Format(microTime)
	change := map[string]any{"holderIdentity": stranger, "acquireTime": now, "renewTime": now}
	if t.Lease.CutOff {
		change = map[string]any{} // it is only read
	}
	if t.Lease.Expires, err = patchLease(ctx, c, change); err != nil {
		return faults.Done{}, fmt.Errorf("%s: %w", e.What, err)
	}
	t.Killed = time.Now().UnixNano()
	left := slices.Clone(all)
	if c.Scenario().Watcher.Divided() { // it goes on with what it has
		left = slices.Delete(left, i, i+1)
		err := t.share(ctx, c, left)
		c.SetWatchers(c.Watcher(), append(c.Others(), all[i]))
		return faults.Done{Seen: t}, err
	}
	if t.Lease.Exited, err = awaitExit(ctx, all[i], t.Lease.Expires); err != nil {
		return faults.Done{}, err
	}
	if t.Lease.Exited != 0 {
		c.Mark(history.Mark{Time: t.Lease.Exited, What: history.MarkExited})
	}
	left = slices.Delete(left, i, i+1)
	err = t.succeed(ctx, c, left, max(t.Lease.Expires, t.Lease.Exited))
	if t.Lease.Exited == 0 { // it is ended with the cell
		c.SetWatchers(c.Watcher(), append(c.Others(), all[i]))
	}
	return faults.Done{Seen: t}, err
}

// awaitExit returns when the process ended, 0 if it had not by a time (Unix nanoseconds).
func awaitExit(ctx context.Context, w *party.Watcher, until int64) (int64, error) {
	for time.Now().UnixNano() < until {
		if w.Ended() {
			return time.Now().UnixNano(), nil
		}
		if err := lifecycle.Pause(ctx, 10*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// microTime is Kubernetes' format for times with microseconds.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// patchLease changes the Lease and returns when the former holder's last renewal has expired for certain.
func patchLease(ctx context.Context, c faults.Cell, change map[string]any) (expires int64, err error) {
	path := "/apis/coordination.k8s.io/v1/namespaces/" + party.LeaseNamespace + "/leases/" + faults.Lease(c.Run())
	if c.Scenario().Watcher.Divided() {
		path += "-0" // the first shard's
	}
	data, err := c.API().Send(ctx, http.MethodPatch, path, map[string]any{"spec": change})
	if err != nil {
		return 0, err
	}
	var lease struct {
		Spec struct {
			LeaseDurationSeconds int `json:"leaseDurationSeconds"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &lease); err != nil {
		return 0, fmt.Errorf("read the lease: %w", err)
	}
	return time.Now().UnixNano() + int64(lease.Spec.LeaseDurationSeconds)*int64(time.Second), nil
}

// freeze is how a leader woke that had been stopped for longer than its lease.
type freeze struct {
	Waiting int64 `json:"waiting"`          // events queued right before it was stopped
	Woken   int64 `json:"woken"`            // Unix nanoseconds
	Exited  int64 `json:"exited,omitempty"` // when its process ended; 0 if it did not
}

// wakeLimit is how long a leader may need to end after it woke.
const wakeLimit = 5 * time.Second

// rule: it ends soon, and there was something that it could have sent.
func (f *freeze) rule(goesOn bool) matrix.Rule {
	end := matrix.Missing("T", "end of the leader that woke", "s", "it did not end")
	if f.Exited != 0 {
		end = matrix.Within("T", "end of the leader that woke", "s", float64(f.Exited-f.Woken)/1e9, wakeLimit.Seconds())
	}
	r := matrix.States(end)
	if goesOn {
		r = matrix.Rule{}
	}
	r.Vacuous = func(matrix.Seen) []string {
		if f.Waiting < matrix.MinKeys {
			return []string{fmt.Sprintf("the leader was stopped with %d events queued; at least %d are needed", f.Waiting, matrix.MinKeys)}
		}
		return nil
	}
	return r
}

// freezeLeader stops the replica that leads, waits for another, and wakes the first.
func freezeLeader(ctx context.Context, c faults.Cell, _ spec.Event) (faults.Done, error) {
	all := append([]*party.Watcher{c.Watcher()}, c.Others()...)
	i, err := leader(ctx, c, all)
	if err != nil {
		return faults.Done{}, fmt.Errorf("stop the leader: %w", err)
	}
	former := all[i]
	t := takeOver{Frozen: &freeze{}}
	if s, err := former.Scrape(ctx); err == nil {
		if e := measure.EventsOf(s); e != nil {
			t.Frozen.Waiting = e.Queued
		}
	}
	left := slices.Delete(slices.Clone(all), i, i+1)
	c.SetWatchers(left[0], left[1:]) // nobody is to wait for the counters of one that is stopped
	t.Killed = time.Now().UnixNano()
	c.Mark(history.Mark{What: history.MarkKilled}) // from here on it is to send nothing
	former.Signal(syscall.SIGSTOP)
	err = t.succeed(ctx, c, left, t.Killed+int64(lastRequests))
	t.Frozen.Woken = time.Now().UnixNano()
	former.Signal(syscall.SIGCONT)
	if err == nil && !c.Scenario().Watcher.Divided() {
		t.Frozen.Exited, err = awaitExit(ctx, former, t.Frozen.Woken+int64(wakeLimit))
	}
	if t.Frozen.Exited == 0 { // it is ended with the cell
		c.SetWatchers(c.Watcher(), append(c.Others(), former))
	}
	return faults.Done{Seen: t}, err
}
