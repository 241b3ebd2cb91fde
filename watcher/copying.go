package watcher

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/synchronizer"
	"github.com/watchbench/watchbench/watcher/view"
)

// copying is the way from the cluster to storage: what one replica does while it leads, or holds a shard.
type copying struct {
	collecting
	platform     *platform
	pipeline     *pipeline.Pipeline
	owners       *owners
	synchronizer *synchronizer.Synchronizer // nil where nothing is compared
	beside       []lifecycle.Stage          // what runs for netservice

	settled func() bool // reports whether the watcher as a whole is ready
	start   *start
	started chan struct{} // closed when it is known what there is to collect
}

// newCopying makes the parts and has them know one another. Nothing is requested yet.
// above has the ReplicaSets that own Pods; nil is what is collected itself.
func newCopying(w wanted, p *platform, kube *rest.Config, above *collector.Collector, r prometheus.Registerer,
	log *slog.Logger) (*copying, error) {
	c := &copying{
		platform: p, owners: &owners{since: map[object.Key]time.Time{}},
		start: &start{log: log}, started: make(chan struct{}),
	}
	var err error
	send := &sender{storage: p.storage, owners: c.owners, unnamed: c.unnamed, byUID: w.byUID()}
	c.pipeline, err = pipeline.New(w.cfg.Pipeline(), pipeline.Settings{
		Sender: send, Registry: r, Logger: log, ClusterID: w.cfg.Default.ClusterID,
	})
	if err != nil {
		return nil, &InputError{Key: "bcs", Err: err}
	}
	set := collector.Settings{Client: kube, Sink: c.pipeline, Registry: r, Logger: log, First: c.first}
	if w.cfg.ResourceWatcher.Enabled && w.shard == nil {
		set.View = func(collector.Resource) *view.View { return view.New(view.Config{}) }
	}
	if c.collecting, err = newCollecting(w, set, c.added, c.removed); err != nil {
		return nil, err
	}
	if c.owners.collector = above; above == nil {
		c.owners.collector = c.collector
	}
	send.workload, send.clusterScoped = workload{cache: c.owners.collector}, c.collector.ClusterScoped
	if !w.cfg.Synchronizer.Disabled {
		if c.synchronizer, err = c.newSynchronizer(r); err != nil {
			return nil, &InputError{Key: "synchronizer", Err: err}
		}
	}
	if w.index == 0 {
		c.beside, err = p.netService()
	}
	return c, err
}

func (c *copying) newSynchronizer(r prometheus.Registerer) (*synchronizer.Synchronizer, error) {
	sc, err := c.comparison()
	if err != nil {
		return nil, err
	}
	return synchronizer.New(sc, synchronizer.Settings{
		Storage: c.platform.storage, Cache: expectation{c.collector, c.owners.collector}, Pipeline: c.pipeline,
		Complete: c.allKnown, Registry: r, Logger: c.log,
	})
}

// first reports whether a kind's first list was taken over by the Synchronizer.
func (c *copying) first(kind string) bool {
	if c.synchronizer == nil || !c.synchronizer.First(kind) {
		return false
	}
	if kind == kindReplicaSet { // Pods may have been sent without their workload
		c.synchronizer.CompareSoon(kindPod)
	}
	return true
}

// unnamed reports whether rows of a kind must wait: see synchronizer.Unnamed.
func (c *copying) unnamed(kind string) bool {
	return c.synchronizer != nil && c.synchronizer.Unnamed(kind)
}

func (c *copying) added(key string) {
	c.pipeline.AddKind(key)
	c.followOwners()
	if c.synchronizer != nil {
		c.synchronizer.CompareSoon(key)
	}
}

func (c *copying) removed(key string) {
	c.pipeline.RetireKind(key)
	if c.synchronizer != nil {
		c.synchronizer.Retire(key)
	}
}

// Run copies until ctx ends, then drains. Storage that is looked up in ZooKeeper is looked for from the
// beginning.
func (c *copying) Run(ctx context.Context) error {
	if len(c.platform.finds) == 0 {
		return c.run(ctx)
	}
	return lifecycle.Run(ctx, append(c.platform.finds, lifecycle.Stage{Name: "watch", Run: c.run})...)
}

// run waits for storage and the apiserver, then watches and sends until ctx ends.
func (c *copying) run(ctx context.Context) error {
	key := c.platform.storageKey()
	if err := c.start.await(ctx, key, "waiting for storage", func() error { return c.platform.ask(ctx) }); err != nil {
		return err
	}
	var found []collector.Resource
	err := c.start.await(ctx, "k8s", "waiting for the apiserver", func() (err error) {
		found, _, err = c.served.look(ctx)
		return err
	})
	if err != nil || ctx.Err() != nil { // what was waited for is not there
		return err
	}
	if err := c.begin(found); err != nil {
		return err
	}
	for _, r := range found {
		c.pipeline.AddKind(r.Key())
	}
	c.followOwners()
	c.served.follow(c.kinds)
	defer c.served.follow(nil)
	close(c.started)
	if c.idle() {
		c.log.Warn("nothing is watched: not ready until the filter file lets a kind through", "filter",
			c.cfg.FilterConfigPath)
	}
	c.log.Info("watching", "kinds", len(found), "cluster", c.cfg.Default.ClusterID, "strategy", c.cfg.BCS.Strategy)
	return lifecycle.Run(ctx, c.stages()...)
}

// stages are the parts in the order of their start; they end in reverse,
// producers before consumers.
func (c *copying) stages() []lifecycle.Stage {
	stages := append(c.beside,
		lifecycle.Stage{Name: "storage", Run: c.platform.storage.Run},
		lifecycle.Stage{Name: "pipeline", Run: c.pipeline.Run},
		lifecycle.Stage{Name: "collector", Run: c.collector.Run},
		lifecycle.Stage{Name: "report", Run: (&reporter{c}).Run},
		lifecycle.Stage{Name: "memory of the first lists", Run: func(ctx context.Context) error {
			return releaseMemory(ctx, c.settled, c.pipeline.Idle, freeMemory)
		}},
	)
	if c.synchronizer != nil {
		stages = append(stages, lifecycle.Stage{Name: "synchronizer", Run: c.synchronizer.Run})
	}
	if !c.cfg.ResourceWatcher.Enabled || c.shard != nil { // else it is asked for readers, too
		stages = append(stages, lifecycle.Stage{Name: "discovery", Run: c.discover})
	}
	if c.definitions != nil {
		stages = append(stages, lifecycle.Stage{Name: "CRD watcher", Run: c.definitions.Run})
	}
	return stages
}

func (c *copying) discover(ctx context.Context) error {
	return c.served.lookout.Run(ctx, c.collector.NotFound())
}

// awaitStart waits until it is known what is collected, but no longer than limit.
func (c *copying) awaitStart(ctx context.Context, limit time.Duration) {
	select {
	case <-c.started:
	case <-time.After(limit):
	case <-ctx.Done():
	}
}

// expectation is the Synchronizer's view of the cache: objects as they are sent.
type expectation struct {
	*collector.Collector
	owners *collector.Collector // has the ReplicaSets
}

// Expected implements synchronizer.Cache.
func (e expectation) Expected(k object.Key) (*object.Object, bool) {
	o, ok := e.Collector.Expected(k)
	if !ok {
		return nil, false
	}
	sent, _, err := workload{cache: e.owners}.annotate(o)
	return sent, err == nil
}

// Expectation implements synchronizer.Cache.
func (e expectation) Expectation(k object.Key) (synchronizer.Expectation, bool) {
	o, ok := e.Collector.Expected(k)
	if !ok {
		return synchronizer.Expectation{}, false
	}
	x := synchronizer.Expectation{APIVersion: e.APIVersion(k.Kind), UID: o.UID, Version: o.ResourceVersion}
	if k.Kind != kindPod {
		return x, true
	}
	var err error
	x.Annotations, _, err = workload{cache: e.owners}.annotations(k, o.JSON())
	return x, err == nil
}

// OwnersListed implements synchronizer.Cache: a Pod's workload may be its ReplicaSet's owner.
func (e expectation) OwnersListed(kind string) bool {
	return kind != kindPod || !e.owners.Collected(kindReplicaSet) || e.owners.KindSynced(kindReplicaSet)
}
