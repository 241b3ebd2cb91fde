package faults

import (
	"context"
	"net/http"

	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// A second watcher beside the first.
const (
	join  = "join"
	leave = "leave" // SIGTERM to it
)

func secondWatcher() Family {
	return Family{Remove: removeLease, Failpoints: []Failpoint{
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

// Lease is the name of a cell's Lease, LeasePath its place in the API.
func Lease(run string) string { return "watchbench-" + run }

// LeasePath is the path of a cell's Lease.
func LeasePath(c Cell) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + party.LeaseNamespace + "/leases/" + Lease(c.Run())
}

// removeLease deletes the Lease that replicas leave behind.
func removeLease(ctx context.Context, c Cell) error {
	if !c.Scenario().Watcher.LeaderElection || c.API() == nil {
		return nil
	}
	_, err := c.API().Send(ctx, http.MethodDelete, LeasePath(c), nil)
	if party.NotFound(err) {
		return nil
	}
	return err
}
