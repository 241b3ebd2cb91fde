package runner

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/owned"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/pod"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Podable refuses a scenario that needs what its parties cannot do, or have done to them, as Pods.
func Podable(f *spec.File) error {
	if on := f.Base().Cluster.Provider; on != cluster.Kind && on != cluster.Kubeconfig {
		return badinput.New("add --cluster kind or --context NAME, or leave --in-cluster out",
			"cluster.provider: %s runs no Pods", on)
	}
	for _, c := range f.Cells() {
		s := &c.Scenario
		for _, no := range []struct {
			field string
			bad   bool
			why   string
		}{
			{"cluster.controllers", s.Cluster.Controllers, "only the embedded cluster can stop its controllers"},
			{"fault", s.Fault != nil || len(s.Events) > 0, "faults act on processes of this machine"},
			{"storage.tls", s.Storage.TLS != "", "its certificates are for this machine"},
			{"watch.faults", len(s.Watch.Faults) > 0, "the proxy that breaks watches is a process of this machine"},
			{"extra", s.Extra != spec.Extra{}, "it acts on processes of this machine"},
			{"readers", s.Readers.Asked(), "readers are processes of this machine"},
			{"load.driver", s.Load.Driver == spec.DriverK6, "k6 is not among the images; see deploy/load for a TestRun"},
			{"watcher.command", s.Watcher.Command != "", "another watcher is not among the images"},
			{"watcher.profile", s.Watcher.Profile == party.ProfileLegacy, "watchlegacy is not among the images"},
			{"watcher.leaderElection", s.Watcher.LeaderElection, "the watcher has no rights to Leases there"},
		} {
			if no.bad {
				return badinput.New("run it without --in-cluster", "%s: %s: not in a cluster: %s", c.ID, no.field, no.why)
			}
		}
	}
	return nil
}

// lostWait is how long after a failure the end of a Pod may become known.
const lostWait = pod.Silence + 10*time.Second

// lost ends a cell that has failed: an invalid one if the cluster ended one of its Pods.
func (c *cell) lost(ctx context.Context, cause error) (result.Cell, error) {
	ended := func(p process) bool { return p.Ended() }
	for end := time.Now().Add(lostWait); c.pods != nil && !slices.ContainsFunc(c.processes(), ended) &&
		time.Now().Before(end) && lifecycle.Pause(ctx, drainPoll) == nil; {
		continue
	}
	if c.record.Lost = c.lostPod(); c.record.Lost == "" || ctx.Err() != nil {
		return result.Cell{}, cause
	}
	_ = c.tearDown(ctx) // of which the lost Pod is a part
	if err := errors.Join(c.clear(ctx), history.SaveJSON(c.dir, history.FileCell, &c.record)); err != nil {
		return result.Cell{}, errors.Join(cause, err)
	}
	return assess.Cell(ctx, c.dir, assess.Options{})
}

// lostPod says which of the Pods the cluster ended, and how; empty if none.
func (c *cell) lostPod() string {
	for _, p := range c.processes() {
		if why := p.LostPod(); why != "" {
			return why
		}
	}
	return ""
}

// clear removes the objects of a generator that could not do so itself.
func (c *cell) clear(ctx context.Context) error {
	if c.api == nil {
		return nil
	}
	of := party.RunLabel + "=" + c.Run()
	names, err := c.api.Namespaces(ctx, of)
	leases := "/apis/coordination.k8s.io/v1/namespaces/" + party.NodeLeases + "/leases"
	for _, path := range []string{"/api/v1/nodes", leases} {
		_, e := c.api.Send(ctx, http.MethodDelete, path+"?labelSelector="+url.QueryEscape(of), nil)
		err = errors.Join(err, e)
	}
	for _, name := range names {
		err = errors.Join(err, owned.DeleteNamespace(ctx, c.api.REST, name, c.Run()))
	}
	return err
}

// readClock sets the record's clock by storage's node.
func (c *cell) readClock(ctx context.Context) error {
	if c.pods == nil {
		return nil
	}
	s, err := c.storage.PodState(ctx)
	c.skew.Store(s.Ahead)
	return err
}

// readPods notes where the Pods are and how they fare.
func (c *cell) readPods(ctx context.Context, into func(*history.Pod) *history.PodState) error {
	for _, p := range c.processes() {
		at, ok := p.Placed()
		if !ok || p.Ended() {
			continue
		}
		i := 0
		for i < len(c.record.Pods) && c.record.Pods[i].Name != at.Pod.Name {
			i++
		}
		if at.Pod.Party = p.party; i == len(c.record.Pods) {
			c.record.Pods = append(c.record.Pods, at.Pod)
		}
		var err error
		if *into(&c.record.Pods[i]), err = p.PodState(ctx); err != nil {
			return err
		}
		if err := c.r.ranOn(ctx, c, &c.record.Pods[i]); err != nil {
			return err
		}
	}
	return nil
}
