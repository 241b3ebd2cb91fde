package watcher

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/watches"
)

// resources is the resource watcher: what the section resourceWatcher switches on. It reads
// what the collector caches and whatever else its readers ask for. Every replica serves,
// whoever leads; only the leader notifies.
type resources struct {
	cfg      config.ResourceWatcher
	listen   listenFunc
	guard    access.Guard
	watches  *watches.Watches
	notifier *notify.Notifier
	handler  http.Handler
}

func (w *Watcher) newResources(kube *rest.Config) (*resources, error) {
	r := &resources{cfg: w.cfg.ResourceWatcher, listen: w.listen}
	if err := r.cfg.Server.CheckFiles(); err != nil {
		return nil, &InputError{Key: "resourceWatcher.server", Err: err}
	}
	var err error
	if r.guard, err = access.New(r.cfg.Server, access.Settings{Kube: kube, Logger: w.log}); err != nil {
		return nil, &InputError{Key: "resourceWatcher.server", Err: err}
	}
	r.watches, err = watches.New(r.cfg.Watches, watches.Settings{
		Client: kube, Collector: w.collector(nil), Collected: w.copying.collector, Lookout: w.copying.served.lookout,
		Registry: w.registry, Logger: w.log,
	})
	if err != nil {
		return nil, &InputError{Key: "resourceWatcher.watches", Err: err}
	}
	relations, err := relation.New(r.cfg.Relations, relation.Settings{
		Kinds: r.watches, Followed: r.watches.Followed, Guard: r.guard,
	})
	if err != nil {
		return nil, &InputError{Key: "resourceWatcher.relations", Err: err}
	}
	r.handler, err = query.New(r.cfg.Query, query.Settings{Kinds: r.watches, Guard: r.guard, Relations: relations,
		Version: r.watches.Version, Registry: w.registry, Logger: w.log})
	if err != nil {
		return nil, &InputError{Key: "resourceWatcher.query", Err: err}
	}
	told := notify.Settings{Kinds: r.watches, Registry: w.registry, Logger: w.log}
	if w.elector != nil {
		told.Permit = w.elector.Permit
	}
	r.notifier, err = notify.New(r.cfg.Notify, told)
	if err != nil {
		return nil, &InputError{Key: "resourceWatcher.notify", Err: err}
	}
	return r, nil
}

// serve binds the address of the API, which is served by Run.
func (r *resources) serve(ctx context.Context, log *slog.Logger) (*access.Server, error) {
	server, err := access.NewServer(ctx, r.cfg.Server, access.ServerSettings{Handler: r.handler, Guard: r.guard,
		Listen: r.listen, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("serve the resource watcher (resourceWatcher.server): %w", inUse(err,
			"resourceWatcher.server.", "port"))
	}
	log.Info("serving objects", "address", server.Addr())
	return server, nil
}

// collectsWithin is how long subscriptions wait at the start for the kinds that the pipeline
// collects. Earlier they would follow these by watches of their own and, as they never let
// go of them, for good. Later, storage or the apiserver is away: changes are delivered
// all the same.
const collectsWithin = 5 * time.Second
