package watcher

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// wanted has the two files, and what they ask for.
type wanted struct {
	cfg    config.Config
	filter config.Filter
	shard  *kubeapi.Shard // nil: all objects
	index  int            // of the shard
}

func (w wanted) byUID() bool { return w.shard != nil && w.shard.By == kubeapi.ByUID }

// Wanted returns the filter that the two files put on what an apiserver serves.
func Wanted(c config.Config, f config.Filter) collector.DiscoveryFilter {
	return wanted{cfg: c, filter: f}.discovery()
}

// Collecting is how the two files have resources collected.
func Collecting(c config.Config, f config.Filter, resources []collector.Resource) collector.Config {
	return wanted{cfg: c, filter: f}.collector(resources)
}

func (w wanted) discovery() collector.DiscoveryFilter {
	return collector.DiscoveryFilter{
		GroupVersions:  w.filter.K8sResourceWhiteList,
		Exceptions:     groupKinds(w.filter.APIResourceException),
		Specification:  groupKinds(w.filter.APIResourceSpecification),
		Namespaced:     w.cfg.WatchResource.Namespace != "",
		LabelSelectors: w.cfg.WatchResource.LabelSelectors,
	}
}

func groupKinds(in []config.GroupKinds) []collector.GroupKinds {
	var out []collector.GroupKinds
	for _, g := range in {
		out = append(out, collector.GroupKinds{GroupVersion: g.GroupVersion, Kinds: g.ResourceKinds})
	}
	return out
}

// looksAt reports whether the files are judged by what a group-version has.
func (w wanted) looksAt(gv string) bool {
	return w.cfg.ResourceWatcher.Enabled || slices.Contains(w.filter.K8sResourceWhiteList, gv) ||
		slices.Contains(w.filter.CRDResourceWhiteList, gv)
}

func (w wanted) custom() bool {
	return len(w.filter.CRDResourceWhiteList) > 0 && !w.cfg.WatchResource.DisableCRD
}

func (w wanted) collector(resources []collector.Resource) collector.Config {
	f := w.filter
	c := collector.Config{
		ReadPace:  readPace(w.cfg),
		Resources: resources, Namespace: w.cfg.WatchResource.Namespace,
		IgnoreNamespaces: f.ResourceNamespaceFilters, IgnoreNames: f.ResourceNameFilters,
		KeepManagedFields: f.KeepManagedFields, Pack: true, Verify: verify(w.cfg.CacheCheck),
		After: map[string]string{kindPod: kindReplicaSet}, Shard: w.shard,
	}
	for _, m := range f.ResourceMaskers {
		c.Masks = append(c.Masks, object.Mask(m))
	}
	return c
}

func verify(c config.CacheCheck) collector.Verify {
	v := collector.Verify{Period: time.Duration(c.Period), Grace: time.Duration(c.Grace)}
	if v.Period == 0 {
		v.Period = -1
	}
	return v
}

// comparison is how storage is compared with what is collected.
func (w wanted) comparison() (synchronizer.Config, error) {
	sc := synchronizer.Default()
	sc.Period = time.Duration(w.cfg.Synchronizer.Period)
	sc.Namespace = w.cfg.WatchResource.Namespace
	sc.Name = stateName(w.cfg)
	sc.Rules = w.sendingRules()
	if w.shard != nil {
		sc.Name = synchronizer.Member(sc.Name, w.index, w.cfg.Shards)
		sc.Shard = synchronizer.Shard{Of: w.cfg.Shards, Holds: w.shard.Holds, ByUID: w.byUID()}
	}
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

// sendingRules identifies how this configuration and this program send an object.
func (w wanted) sendingRules() string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %q %v", sentAs, w.filter.ResourceMaskers, w.filter.KeepManagedFields)
	return fmt.Sprintf("%016x", h.Sum64())
}

// stateName distinguishes watchers that share a cluster by namespace or by label: each
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
