package watcher

import (
	"context"
	"fmt"
	"net/http"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// resources is the resource watcher: what the section resourceWatcher switches on. It reads
// what the collector caches and whatever else its readers ask for; it runs on every
// replica, whoever leads.
type resources struct {
	cfg       config.ResourceWatcher
	listen    listenFunc
	guard     access.Guard
	watches   *watches.Watches
	relations *relation.Relations
	handler   http.Handler
}

// newResources makes the parts. Nothing is bound or requested yet.
func (w *Watcher) newResources() (*resources, error) {
	r := &resources{cfg: w.cfg.ResourceWatcher, listen: w.listen}
	var err error
	if r.guard, err = access.New(r.cfg.Server, access.Settings{Kube: w.kube, Logger: w.log}); err != nil {
		return nil, &InputError{Key: "resourceWatcher.server", Err: err}
	}
	r.watches, err = watches.New(r.cfg.Watches, watches.Settings{
		Client: w.kube, Collector: w.collectorConfig(nil), Collected: w.collector.Load, Registry: w.registry, Logger: w.log,
	})
	if err != nil {
		return nil, &InputError{Key: "resourceWatcher.watches", Err: err}
	}
	r.relations, err = relation.New(r.cfg.Relations, relation.Settings{
		Kinds: r.watches, Followed: r.followed, Guard: r.guard, Logger: w.log,
	})
	if err != nil {
		return nil, &InputError{Key: "resourceWatcher.relations", Err: err}
	}
	objects, err := query.New(r.cfg.Query, query.Settings{Kinds: r.watches, Guard: r.guard, Registry: w.registry, Logger: w.log})
	if err != nil {
		return nil, &InputError{Key: "resourceWatcher.query", Err: err}
	}
	mux := http.NewServeMux()
	mux.Handle("/", objects)
	mux.Handle(relation.Path, r.relations)
	r.handler = mux
	return r, nil
}

// followed are the kinds that are followed already.
func (r *resources) followed() (all []watches.GVR) {
	for _, s := range r.watches.List() {
		all = append(all, watches.GVR{Group: s.Group, Version: s.Version, Resource: s.Resource})
	}
	return all
}

// addResources makes the resource watcher if it is on.
func (w *Watcher) addResources() (err error) {
	if w.cfg.ResourceWatcher.Enabled {
		w.resources, err = w.newResources()
	}
	return err
}

// views makes the views of the kinds that the pipeline collects; nil where nobody reads.
func (w *Watcher) views() func(collector.Resource) *view.View {
	if w.resources == nil {
		return nil
	}
	return func(collector.Resource) *view.View { return view.New(view.Config{}) }
}

// stages binds the address and returns the parts in the order of their start: whoever reads
// comes behind what is read and ends before it.
func (r *resources) stages(ctx context.Context, w *Watcher) ([]lifecycle.Stage, error) {
	server, err := access.NewServer(ctx, r.cfg.Server, access.ServerSettings{Handler: r.handler, Guard: r.guard, Listen: r.listen, Logger: w.log})
	if err != nil {
		return nil, fmt.Errorf("serve the resource watcher (resourceWatcher.server): %w", inUse(err, "resourceWatcher.server.port"))
	}
	w.log.Info("serving objects", "address", server.Addr())
	return []lifecycle.Stage{
		{Name: "watches", Run: r.watches.Run},
		{Name: "relations", Run: r.relations.Run},
		{Name: "resource watcher", Run: server.Run},
	}, nil
}
