package runner

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/loadgen/slowclients"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// reading is what a cell has for those who read.
type reading struct {
	readers *party.Readers
	serving *party.Serving // of the watcher that is judged
	// A second watcher that reads from the first, and the storage that it writes to.
	follower *party.Watcher
	storage  *party.Storage
}

// processes are those that run, in the order in which they are to end.
func (r *reading) processes() (all []*party.Process) {
	if r.readers != nil {
		all = append(all, r.readers.Process)
	}
	if r.follower != nil {
		all = append(all, r.follower.Process)
	}
	if r.storage != nil {
		all = append(all, r.storage.Process)
	}
	return all
}

// podCollection is what readers read.
const podCollection = "/api/v1/pods"

// startReaders starts the readers, up to the addresses of their receivers, which the
// watcher's configuration names.
func (c *cell) startReaders(ctx context.Context) (err error) {
	r := &c.s.Readers
	c.reading.serving = c.setup.Serving // of a fault
	if !r.Asked() {
		return nil
	}
	target := c.apiserver()
	if r.Served() {
		target = filepath.Join(c.dir, "watcher.kubeconfig")
		if c.reading.serving == nil {
			c.reading.serving = &party.Serving{}
		}
		c.reading.serving.Kubeconfig, c.reading.serving.Queue = target, r.WebhookQueue
	}
	secret := ""
	if r.Webhooks > 0 {
		c.reading.serving.SecretFile = filepath.Join(c.dir, "webhook-secret")
		if secret, err = writeSecret(c.reading.serving.SecretFile); err != nil {
			return err
		}
	}
	if r.Read() || r.Webhooks > 0 {
		connections := r.Connections
		if connections == 0 {
			connections = spec.DefaultConnections
		}
		c.reading.readers, err = party.StartReaders(ctx, party.ReadersSetup{
			Bin: c.r.opts.Binaries.Readers, Logs: c.logs, Cell: c.dir, Target: target, Control: c.apiserver(),
			Config: readers.Config{
				Seed: c.record.Seed, Collection: podCollection, Get: float64(r.Get), List: float64(r.List), Connections: connections,
				Limit: r.Limit, LabelSelector: r.LabelSelector, FieldSelector: r.FieldSelector, Watches: r.Watches,
				Webhooks: r.Webhooks, WebhookFaults: r.FaultText(), Secret: secret,
			},
		})
		if err != nil {
			return err
		}
		for _, addr := range c.reading.readers.Listen {
			c.reading.serving.Webhooks = append(c.reading.serving.Webhooks, "http://"+addr+"/")
		}
	}
	if r.Follower {
		c.reading.storage, err = party.StartStorage(ctx, party.StorageSetup{
			Bin: c.r.opts.Binaries.Storage, Logs: c.logs, Cell: c.dir, Spec: spec.Storage{Latency: c.s.Storage.Latency, Mode: c.s.Storage.Mode, Instances: 1, Capacity: c.s.Storage.Capacity},
			Seed: c.record.Seed, Name: "storagemock-follower",
		})
	}
	return err
}

// writeSecret makes a secret for signatures, in the form of Standard Webhooks.
func writeSecret(path string) (string, error) {
	key := make([]byte, 24)
	_, _ = rand.Read(key) // never fails
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the secret of the webhooks: %w", err)
	}
	return secret, nil
}

// connectReaders has the readers open their watches, once the watcher holds everything, and
// starts the follower.
func (c *cell) connectReaders(ctx context.Context) error {
	if c.reading.readers != nil {
		if err := c.reading.readers.Connect(ctx); err != nil {
			return err
		}
	}
	if c.reading.storage == nil {
		return nil
	}
	setup := c.watcherSetup(0)
	c.launched--
	setup.Name, setup.Kubeconfig, setup.Serving = party.WatcherName+"-follower", c.reading.serving.Kubeconfig, nil
	setup.Endpoints = c.reading.storage.Endpoints
	w, err := party.StartWatcher(ctx, setup)
	if err != nil {
		return err
	}
	c.reading.follower = w
	c.all = append(c.all, w)
	return w.AwaitReady(ctx)
}

// SlowClients has a process take the watcher's connections and hold them for so long.
func (c *cell) SlowClients(ctx context.Context, cfg slowclients.Config, length time.Duration) (slowclients.Seen, error) {
	return party.RunSlowClients(ctx, party.SlowClientsSetup{Bin: c.r.opts.Binaries.Readers, Logs: c.logs, Config: cfg, Length: length})
}

// haltReading ends the queries.
func (c *cell) haltReading(ctx context.Context) error {
	if c.reading.readers != nil {
		if err := c.reading.readers.Halt(ctx); err != nil {
			return err
		}
	}
	c.record.APIAfter = c.apiReads(ctx)
	return nil
}

// apiReads are the apiserver's counters, where readers are about them: in all cells of a
// scenario in which anyone reads. nil where the apiserver does not show them.
func (c *cell) apiReads(ctx context.Context) *history.APIReads {
	if c.s.Simulated() || !c.r.anyReaders() {
		return nil
	}
	reads, err := c.api.Reads(ctx)
	if err != nil {
		return nil // a cluster may keep its metrics to itself
	}
	return reads
}

// anyReaders reports whether a cell of the run has readers.
func (r *Runner) anyReaders() bool {
	return slices.ContainsFunc(r.jobs, func(j job) bool { return j.cell.Scenario.Readers.Asked() })
}

// followed waits until the follower's storage holds what the apiserver does, and keeps
// what it holds.
func (c *cell) followed(ctx context.Context, want []history.StateRecord) error {
	if c.reading.follower == nil {
		return nil
	}
	d := drainWait{watcher: c.reading.follower, storage: c.reading.storage, want: want, rules: c.rules}
	end, err := d.wait(ctx, time.Now().Add(c.s.DrainTimeout.Std()))
	if err != nil {
		return err
	}
	c.record.Follower = &history.Follower{CaughtUp: end.at, Cut: end.cut}
	if end.cut {
		if end.state, err = c.reading.storage.State(ctx, c.rules); err != nil {
			return err
		}
	}
	return history.SaveFollower(c.dir, slices.Values(end.state))
}

// endReading has the readers close their record.
func (c *cell) endReading(ctx context.Context) error {
	if c.reading.readers == nil {
		return nil
	}
	return c.reading.readers.End(ctx)
}

// stopReading ends what still runs: before the watcher, which would wait for those who read
// from it.
func (c *cell) stopReading() {
	for _, p := range c.reading.processes() {
		if !p.Ended() {
			p.Stop(party.StorageGrace)
		}
	}
}
