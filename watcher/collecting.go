package watcher

import (
	"log/slog"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

// collecting is the cluster's side: what there is, and the cache of it.
type collecting struct {
	wanted
	log         *slog.Logger
	served      *served
	collector   *collector.Collector // of nothing before the cluster has said what there is
	definitions *collector.Collector // of the CustomResourceDefinitions; nil where none are followed
	kinds       *collector.Kinds
}

// newCollecting requests nothing yet. added and removed learn of the kinds that come and go.
func newCollecting(w wanted, set collector.Settings, added, removed func(key string)) (c collecting, err error) {
	c = collecting{wanted: w, log: set.Logger}
	if c.served, err = newServed(w, set.Client); err != nil {
		return c, err
	}
	if c.collector, err = collector.New(w.collector(nil), set); err != nil {
		return c, &InputError{Err: err}
	}
	var definitions *collector.Collector
	c.kinds, err = collector.NewKinds(collector.KindsSettings{
		To: c.collector, WhiteList: w.filter.K8sResourceWhiteList, Added: added, Removed: removed,
		Registry: set.Registry, Logger: set.Logger,
		Custom: collector.Custom{
			WhiteList: w.filter.CRDResourceWhiteList, Namespaced: w.cfg.WatchResource.Namespace != "",
			LabelSelectors: w.cfg.WatchResource.LabelSelectors,
			All:            func() []*object.Object { return definitions.List(collector.Definitions.Key()) },
		},
	})
	if err != nil || !w.custom() {
		return c, err
	}
	// The definitions say which custom resources of the white list there are.
	definitions, err = collector.New(
		collector.Config{Resources: []collector.Resource{collector.Definitions}, Pack: true,
			Verify: verify(w.cfg.CacheCheck)},
		collector.Settings{Client: set.Client, Sink: c.kinds, Logger: set.Logger})
	c.definitions = definitions
	return c, err
}

func (c *collecting) begin(found []collector.Resource) error {
	groups, _ := c.served.last()
	if err := c.checkMasks(groups, found); err != nil {
		return err
	}
	for _, r := range found {
		if err := c.collector.AddResource(r); err != nil {
			return &InputError{Err: err}
		}
	}
	c.kinds.Begin()
	return nil
}

// allKnown reports whether every kind is collected that the cluster has and the filter
// file wants.
func (c *collecting) allKnown() bool {
	_, complete := c.served.last()
	return complete && (c.definitions == nil || len(c.definitions.Unsynced()) == 0)
}

// idle reports that nothing is watched, nor any definition that could be.
func (c *collecting) idle() bool { return len(c.collector.Resources()) == 0 && c.definitions == nil }
