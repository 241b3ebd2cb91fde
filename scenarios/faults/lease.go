package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// stranger is who holds a Lease that was taken from the replicas.
const stranger = "watchbench"

// loss is how a leader lost its Lease, to a stranger or to another replica.
type loss struct {
	// Expires is when the leader's last renewal does at the latest (Unix nanoseconds): it
	// must have stopped by then, since another may lead from then on.
	Expires int64 `json:"expires"`
	Exited  int64 `json:"exited,omitempty"` // when its process ended; 0 if it did not
	CutOff  bool  `json:"cutOff,omitempty"` // it could not renew, nobody took the Lease
}

// noticed is how long a leader may need to see that another holds its Lease: a renewal
// and a second try of it.
const noticed = 5 * time.Second

// givenUp is how long a leader may need that cannot renew its Lease: the deadline of a
// renewal, 5 s, and a second to end.
const givenUp = 6 * time.Second

// rule: a leader that lost its Lease ends in time.
func (l *loss) rule(taken int64) matrix.Rule {
	limit := min(float64(l.Expires-taken)/1e9, noticed.Seconds())
	if l.CutOff {
		limit = givenUp.Seconds()
	}
	if l.Exited == 0 {
		return states(matrix.Missing("T", "end of the former leader", "s", "it did not end"))
	}
	return states(matrix.Within("T", "end of the former leader", "s", float64(l.Exited-taken)/1e9, limit))
}

// loseLease writes the Lease to a stranger, who holds it for as long as a leader that
// renews it no more, or leaves it to a leader that is cut off; it waits for the leader's
// end and for another replica.
func loseLease(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	all := append([]*party.Watcher{c.Watcher()}, c.Others()...)
	i, err := leader(ctx, all)
	if err != nil {
		return Done{}, fmt.Errorf("%s: %w", e.What, err)
	}
	t := takeOver{Before: all[i].Instance, Lease: &loss{CutOff: e.What == loseLeader}}
	now := time.Now().UTC().Format(microTime)
	change := map[string]any{"holderIdentity": stranger, "acquireTime": now, "renewTime": now}
	if t.Lease.CutOff {
		change = map[string]any{} // it is only read
	}
	if t.Lease.Expires, err = patchLease(ctx, c, change); err != nil {
		return Done{}, fmt.Errorf("%s: %w", e.What, err)
	}
	t.Killed = time.Now().UnixNano()
	left := slices.Clone(all)
	if t.Lease.Exited, err = awaitExit(ctx, all[i], t.Lease.Expires); err != nil {
		return Done{}, err
	}
	if t.Lease.Exited != 0 {
		c.Mark(history.Mark{Time: t.Lease.Exited, What: history.MarkExited})
	}
	left = slices.Delete(left, i, i+1)
	err = t.succeed(ctx, c, left, max(t.Lease.Expires, t.Lease.Exited))
	if t.Lease.Exited == 0 { // it is ended with the cell
		c.SetWatchers(c.Watcher(), append(c.Others(), all[i]))
	}
	return Done{Seen: t}, err
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

// patchLease changes the Lease and returns when the former holder's last renewal has
// expired for certain.
func patchLease(ctx context.Context, c Cell, change map[string]any) (expires int64, err error) {
	data, err := c.API().Send(ctx, http.MethodPatch, leasePath(c), map[string]any{"spec": change})
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

func leasePath(c Cell) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + party.LeaseNamespace + "/leases/" + Lease(c.Run())
}
