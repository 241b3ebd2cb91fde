package runner

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// startWitness records the controllers' writes from after the watcher's first lists on.
func (c *cell) startWitness(ctx context.Context) (err error) {
	if !c.s.Cluster.Controllers {
		return nil
	}
	c.witness, err = party.StartWitness(ctx, c.bench(), c.r.cluster.Kubeconfig, c.record.Kinds, c.ignore)
	return err
}

// lastWrites is how long a request that a controller had on its way may take.
const lastWrites = 300 * time.Millisecond

// hold stops the controllers at the end of the load, so that the state that storage is to
// reach stands still, and completes the witness's record of what they did.
func (c *cell) hold(ctx context.Context) error {
	if c.witness == nil {
		return nil
	}
	if err := c.r.cluster.Hold(); err != nil {
		return err
	}
	if err := lifecycle.Pause(ctx, lastWrites); err != nil {
		return err
	}
	return c.witness.End()
}

// release has the controllers go on and ends the witness, whatever state the cell is in.
func (c *cell) release() error {
	if c.witness == nil {
		return nil
	}
	return errors.Join(c.r.cluster.Release(), c.witness.End())
}

// RestartAPIServer kills kube-apiserver, starts it again and waits until it is ready.
func (c *site) RestartAPIServer(ctx context.Context) error {
	return c.restarted(c.r.cluster.RestartAPIServer(ctx), history.PartyAPIServer)
}

// restarted has the sampler look at the new processes of parties of the cluster.
func (c *site) restarted(err error, parties ...string) error {
	if err == nil {
		for _, party := range parties {
			c.sampler.restarted(party, c.r.cluster.PIDs[party])
		}
	}
	return err
}

// Backup copies what the apiserver holds.
func (c *site) Backup(ctx context.Context) error {
	if !c.s.Simulated() {
		return c.r.cluster.Backup()
	}
	_, err := c.api.Send(ctx, http.MethodPost, apisim.PathSave, nil)
	return err
}

// Restore puts the last backup back.
func (c *site) Restore(ctx context.Context) error {
	if !c.s.Simulated() {
		return c.restarted(c.r.cluster.Restore(ctx), history.PartyAPIServer, history.PartyEtcd)
	}
	_, err := c.api.Send(ctx, http.MethodPost, apisim.PathRestore, nil)
	return err
}
