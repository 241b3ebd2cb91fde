package watcher

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/alert"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/crd"
	"github.com/watchbench/watchbench/watcher/discovery"
	"github.com/watchbench/watchbench/watcher/kinds"
	"github.com/watchbench/watchbench/watcher/netservice"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// sink is what the collector hands events to: the pipeline, and the Alertor beside
// it, which never blocks.
type sink struct {
	pipeline *pipeline.Pipeline
	alertor  *alert.Alertor // nil without alert targets
	owners   *owners
}

// Enqueue implements collector.Sink.
func (s sink) Enqueue(ctx context.Context, e pipeline.Event) error {
	if s.alertor != nil && e.Key.Kind == "Event" && e.Action == pipeline.Put {
		s.alertor.Observe(e.Object)
	}
	s.owners.observe(e)
	return s.pipeline.Enqueue(ctx, e)
}

// expectation is the Synchronizer's view of the cache: objects as they are sent.
type expectation struct {
	*collector.Collector
	workload workload
}

// Expected implements synchronizer.Cache.
func (e expectation) Expected(k object.Key) (*object.Object, bool) {
	o, ok := e.Collector.Expected(k)
	if !ok {
		return nil, false
	}
	sent, _, err := e.workload.annotate(o)
	return sent, err == nil
}

// Expectation implements synchronizer.Cache.
func (e expectation) Expectation(k object.Key) (synchronizer.Expectation, bool) {
	o, since, ok := e.ExpectedSince(k)
	if !ok {
		return synchronizer.Expectation{}, false
	}
	x := synchronizer.Expectation{APIVersion: e.APIVersion(k.Kind), UID: o.UID, From: since, To: o.ResourceVersion}
	if k.Kind != "Pod" {
		return x, true
	}
	var err error
	x.Annotations, _, err = e.workload.annotations(k, o.JSON())
	return x, err == nil
}

// OwnersListed implements synchronizer.Cache: a Pod's workload may be its ReplicaSet's owner.
func (e expectation) OwnersListed(kind string) bool {
	return kind != "Pod" || !e.Collected("ReplicaSet") || e.KindSynced("ReplicaSet")
}

// alertor makes the Alertor and what finds its server; nil where the configuration
// names no target.
func (w *Watcher) alertor() (*alert.Alertor, []lifecycle.Stage, error) {
	c := w.cfg.Alertor
	var targets []alert.Target
	var stages []lifecycle.Stage
	if c.BCSHealth {
		platform, err := w.platformClient()
		if err != nil {
			return nil, nil, err
		}
		h := &alert.Health{ClusterID: w.cfg.Default.ClusterID, HostIP: w.cfg.Default.HostIP, Client: platform}
		find, err := w.find("bcs.zk", w.cfg.BCS.ZK, discovery.PathHealth, func(servers []string) {
			// The master is the first; none means that there is none (contract §6).
			h.SetServer(append(servers, "")[0])
		})
		if err != nil {
			return nil, nil, err
		}
		targets, stages = append(targets, h), append(stages, find)
	}
	for _, m := range w.alertmanagers {
		targets = append(targets, m)
	}
	if len(targets) == 0 {
		return nil, nil, nil
	}
	ac := alert.Default()
	ac.Convergence = time.Duration(c.Convergence)
	a, err := alert.New(ac, alert.Settings{Pods: w, Targets: targets, Registry: w.registry, Logger: w.log})
	if err != nil {
		return nil, nil, err
	}
	return a, append(stages, lifecycle.Stage{Name: "alertor", Run: a.Run}), nil
}

// find is the stage that follows the servers of one module in ZooKeeper.
func (w *Watcher) find(key, hosts, path string, tell func(addrs []string)) (lifecycle.Stage, error) {
	watch, err := discovery.New(discovery.Config{
		Hosts: hosts, Path: path, User: w.cfg.BCS.ZKUser, Password: w.cfg.BCS.ZKPassword, Logger: w.log,
		OnChange: func(servers []discovery.ServerInfo) {
			var addrs []string
			for _, s := range servers {
				// The original looks for storage only from outside (contract §7.1).
				addrs = append(addrs, s.Address(w.cfg.BCS.IsExternal && path == discovery.PathStorage))
			}
			tell(addrs)
		},
	})
	if err != nil {
		return lifecycle.Stage{}, &InputError{Key: key, Err: err}
	}
	return lifecycle.Stage{Name: "servers below " + path, Run: watch.Run}, nil
}

// storageDiscovery finds storage in ZooKeeper where no address is configured; else it is
// nothing.
func (w *Watcher) storageDiscovery() ([]lifecycle.Stage, error) {
	if len(w.cfg.BCS.CustomStorageEndpoints) > 0 {
		return nil, nil
	}
	find, err := w.find("bcs.zk", w.cfg.BCS.ZK, discovery.PathStorage, func(addrs []string) {
		if err := w.storage.SetEndpoints(addrs); err != nil {
			w.log.Error("storage servers from ZooKeeper rejected", "error", err)
		}
	})
	return []lifecycle.Stage{find}, err
}

// netService is the NetServiceWatcher with its discovery, or nothing where it is
// switched off. Configured addresses need no ZooKeeper.
func (w *Watcher) netService() ([]lifecycle.Stage, error) {
	if w.cfg.WatchResource.DisableNetService {
		return nil, nil
	}
	platform, err := w.platformClient()
	if err != nil {
		return nil, err
	}
	n := netservice.New(netservice.Settings{
		ClusterID: w.cfg.Default.ClusterID, Store: w.storage, Logger: w.log, Client: platform,
	})
	stages := []lifecycle.Stage{{Name: "netservice", Run: n.Run}}
	if custom := w.cfg.BCS.CustomNetServiceEndpoints; len(custom) > 0 {
		n.SetServers(custom)
		return stages, nil
	}
	find, err := w.find("bcs.netservice-zookeepers", w.cfg.BCS.NetServiceZooKeepers, discovery.PathNetService, n.SetServers)
	return append(stages, find), err
}

// crdWatcher follows custom resources of the white list.
func (w *Watcher) crdWatcher(to crd.Kinds) ([]lifecycle.Stage, error) {
	if !w.custom() {
		return nil, nil
	}
	c := w.crdConfig()
	c.All = func() []*object.Object { return w.definitions.List(crd.Definitions.Key()) }
	follow := crd.New(c, to)
	definitions, err := collector.New(collector.Config{Resources: []collector.Resource{crd.Definitions}, Pack: true, Verify: verify(w.cfg.CacheCheck)},
		collector.Settings{Client: w.kube, Sink: follow, Logger: w.log})
	if err != nil {
		return nil, err
	}
	w.definitions = definitions
	return []lifecycle.Stage{{Name: "CRD watcher", Run: definitions.Run}}, nil
}

func (w *Watcher) crdConfig() crd.Config {
	return crd.Config{
		WhiteList: w.filter.CRDResourceWhiteList, Namespaced: w.cfg.WatchResource.Namespace != "",
		LabelSelectors: w.cfg.WatchResource.LabelSelectors, Logger: w.log,
	}
}

// newSynchronizer compares storage with the cache.
func (w *Watcher) newSynchronizer(c *collector.Collector) (*synchronizer.Synchronizer, error) {
	sc, err := w.comparisonConfig()
	if err != nil {
		return nil, err
	}
	return synchronizer.New(sc, synchronizer.Settings{
		Storage: w.storage, Cache: expectation{c, workload{cache: w}}, Pipeline: w.pipeline,
		Complete: w.allKnown, Registry: w.registry, Logger: w.log,
	})
}

func (w *Watcher) comparisonConfig() (synchronizer.Config, error) {
	sc := synchronizer.Default()
	sc.Period = time.Duration(w.cfg.Synchronizer.Period)
	sc.Namespace = w.cfg.WatchResource.Namespace
	sc.Name = stateName(w.cfg)
	sc.Rules = w.sendingRules()
	sc.Selectors = map[string]labels.Selector{}
	for kind, text := range w.cfg.WatchResource.LabelSelectors {
		selector, err := labels.Parse(text)
		if err != nil {
			return sc, fmt.Errorf("label selector of %s: %w", kind, err)
		}
		sc.Selectors[kind] = selector
	}
	return sc, nil
}

// sentAs is the version of how objects are sent, to be raised with each change of the
// program that sends the same object otherwise.
const sentAs = 1

// sendingRules stand for how this configuration and this program send an object.
func (w *Watcher) sendingRules() string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %q %v", sentAs, w.filter.ResourceMaskers, w.filter.KeepManagedFields)
	return fmt.Sprintf("%016x", h.Sum64())
}

// stateName tells watchers apart that share a cluster by namespace or by label: each
// collects a kind in its part only.
func stateName(cfg config.Config) string {
	part := cfg.WatchResource.LabelSelectors
	if cfg.WatchResource.Namespace == "" && len(part) == 0 {
		return cfg.Synchronizer.Name
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %q", cfg.WatchResource.Namespace, part) // maps are printed in order
	return fmt.Sprintf("%s-%016x", cfg.Synchronizer.Name, h.Sum64())
}

// allKnown reports whether every kind is collected that the cluster has and the filter
// file wants.
func (w *Watcher) allKnown() bool {
	return w.complete.Load() && (w.definitions == nil || len(w.definitions.Unsynced()) == 0)
}

// Pauses between two looks at what the cluster serves. Whatever happens, it is looked no
// more often than with the least of them.
const (
	discoverAgain  = time.Minute
	discoverBroken = 10 * time.Second
	discoverLeast  = 2 * time.Second
)

// rediscover keeps what is watched up to date with what the cluster serves. A list or watch
// that is answered with 404 has it look at once.
func (w *Watcher) rediscover(c *collector.Collector, to *kinds.Kinds) func(context.Context) error {
	return func(ctx context.Context) error {
		again := false
		for {
			pause := discoverAgain
			if again || !w.complete.Load() {
				pause = discoverBroken
			}
			timer := time.NewTimer(pause - discoverLeast)
			select {
			case <-timer.C:
			case <-c.NotFound():
			case <-ctx.Done():
			}
			timer.Stop()
			if ctx.Err() != nil {
				return nil
			}
			found, broken, err := w.discover(ctx)
			w.complete.Store(err == nil && len(broken) == 0)
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil:
				again = to.Discovered(found, func(group string) bool { return slices.Contains(broken, group) })
			}
			if lifecycle.Pause(ctx, discoverLeast) != nil {
				return nil
			}
		}
	}
}
