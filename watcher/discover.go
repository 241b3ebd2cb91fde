package watcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/object"
)

// discover asks the cluster what there is and keeps what the filter file wants. Groups
// that cannot be learned are returned as broken; the others are watched.
func (w *Watcher) discover(ctx context.Context) (found []collector.Resource, broken []string, err error) {
	d, err := collector.NewDiscovery(w.kube)
	if err != nil {
		return nil, nil, &InputError{Err: err}
	}
	defer d.Close()
	found, err = d.Resources(ctx, w.discoveryFilter())
	if ctx.Err() == nil {
		w.noteDiscovery(err)
	}
	var partial *collector.DiscoveryError
	switch {
	case errors.As(err, &partial):
		for gv := range partial.Broken {
			if parsed, err := schema.ParseGroupVersion(gv); err == nil {
				broken = append(broken, parsed.Group)
			}
		}
		return found, broken, nil
	case err != nil:
		return nil, nil, fmt.Errorf("the apiserver at %s does not say what it serves, check the address and the rights: %w", w.kube.Host, err)
	}
	return found, nil, nil
}

// noteDiscovery keeps what the last look missed, for the reporter.
func (w *Watcher) noteDiscovery(err error) {
	if err == nil {
		w.undiscovered.Store(nil)
		return
	}
	t := &trouble{since: time.Now(), err: err}
	if before := w.undiscovered.Load(); before != nil {
		t.since = before.since
	}
	w.undiscovered.Store(t)
}

func (w *Watcher) discoveryFilter() collector.DiscoveryFilter {
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

// verify is cacheCheck as the collector takes it. The original compares nothing.
func (w *Watcher) verify() collector.Verify {
	c := w.cfg.CacheCheck
	v := collector.Verify{Period: time.Duration(c.Period), Grace: time.Duration(c.Grace), MaxObjects: c.MaxObjects, RelistLarge: c.RelistLarge}
	if v.Period == 0 || w.isLegacy() {
		v.Period = -1
	}
	return v
}

func (w *Watcher) collectorConfig(resources []collector.Resource) collector.Config {
	f := w.filter
	c := collector.Config{
		ReadPace:  readPace(w.cfg),
		Resources: resources, Namespace: w.cfg.WatchResource.Namespace,
		IgnoreNamespaces: f.ResourceNamespaceFilters, IgnoreNames: f.ResourceNameFilters,
		KeepManagedFields: f.KeepManagedFields, Pack: true, Verify: w.verify(),
	}
	if !w.isLegacy() { // which has its own way to wait
		c.After = map[string]string{kindPod: kindReplicaSet}
	}
	for _, m := range f.ResourceMaskers {
		c.Masks = append(c.Masks, object.Mask(m))
	}
	return c
}
