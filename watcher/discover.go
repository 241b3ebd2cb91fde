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
	found, err = d.Resources(ctx, Wanted(w.cfg, w.filter))
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

// Wanted is what the two files let through of what an apiserver serves.
func Wanted(c config.Config, f config.Filter) collector.DiscoveryFilter {
	return collector.DiscoveryFilter{
		GroupVersions:  f.K8sResourceWhiteList,
		Exceptions:     groupKinds(f.APIResourceException),
		Specification:  groupKinds(f.APIResourceSpecification),
		Namespaced:     c.WatchResource.Namespace != "",
		LabelSelectors: c.WatchResource.LabelSelectors,
	}
}

func groupKinds(in []config.GroupKinds) []collector.GroupKinds {
	var out []collector.GroupKinds
	for _, g := range in {
		out = append(out, collector.GroupKinds{GroupVersion: g.GroupVersion, Kinds: g.ResourceKinds})
	}
	return out
}

// verify is cacheCheck as the collector takes it.
func verify(c config.CacheCheck) collector.Verify {
	v := collector.Verify{Period: time.Duration(c.Period), Grace: time.Duration(c.Grace), MaxObjects: c.MaxObjects, RelistLarge: c.RelistLarge}
	if v.Period == 0 {
		v.Period = -1
	}
	return v
}

// Collecting is how the two files have resources collected.
func Collecting(cfg config.Config, f config.Filter, resources []collector.Resource) collector.Config {
	c := collector.Config{
		ReadPace:  readPace(cfg),
		Resources: resources, Namespace: cfg.WatchResource.Namespace,
		IgnoreNamespaces: f.ResourceNamespaceFilters, IgnoreNames: f.ResourceNameFilters,
		KeepManagedFields: f.KeepManagedFields, Pack: true, Verify: verify(cfg.CacheCheck),
		After: map[string]string{kindPod: kindReplicaSet},
	}
	for _, m := range f.ResourceMaskers {
		c.Masks = append(c.Masks, object.Mask(m))
	}
	return c
}
