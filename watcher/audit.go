package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// Load and times of an audit.
const (
	auditQPS     = 10 // pages of storage per second, of one kind after the other
	auditReads   = 4  // single records at a time
	auditPoll    = 50 * time.Millisecond
	auditStorage = 10 * time.Second // for ZooKeeper to name a storage that answers
)

// errAudit keeps back whatever an audit might write.
var errAudit = errors.New("an audit writes nothing")

// Audit compares what storage holds with what a watcher of that configuration would have
// stored. It only reads. The error is an *InputError where the configuration is wrong; any
// other says which side cannot be read at all.
func Audit(ctx context.Context, cfg config.Config, filter config.Filter, wait time.Duration,
	log *slog.Logger) (out synchronizer.Audited, err error) {
	kube, err := restConfig(cfg.K8s, log)
	if err != nil {
		return out, &InputError{Err: err}
	}
	r := prometheus.NewRegistry()
	p, err := newPlatform(cfg, Settings{Logger: log}, r, func() error { return errAudit })
	if err != nil {
		return out, err
	}
	nothing := func(string) {}
	c, err := newCollecting(wanted{cfg: cfg, filter: filter},
		collector.Settings{Client: kube, Sink: collector.Discard, Registry: r, Logger: log}, nothing, nothing)
	if err != nil {
		return out, err
	}
	compare, err := c.comparison()
	if err != nil {
		return out, &InputError{Key: "synchronizer", Err: err}
	}
	compare.QPS, compare.Concurrency, compare.Reading = auditQPS, 1, auditReads

	ctx, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer end()
	run := func(part func(context.Context) error) { beside.Go(func() { _ = part(ctx) }) } // until ctx ends
	for _, find := range p.finds {
		run(find.Run)
	}
	if err := p.awaitAnswer(ctx); err != nil {
		return out, err
	}
	found, broken, err := c.served.look(ctx)
	if err == nil {
		err = c.begin(found)
	}
	if err != nil {
		return out, err
	}
	if c.idle() && len(broken) == 0 {
		return out, &InputError{File: cfg.FilterConfigPath,
			Err: errors.New("nothing is compared: the filter file lets no kind through; k8s-watch check says why")}
	}
	run(p.storage.Run)
	run(c.collector.Run)
	if c.definitions != nil {
		run(c.definitions.Run)
	}
	unread := c.awaitLists(ctx)
	for _, group := range broken {
		unread["API group "+group] = c.served.trouble().err.Error()
	}
	out, err = synchronizer.Audit(ctx, compare, synchronizer.Settings{
		Storage: p.storage, Cache: expectation{Collector: c.collector, owners: c.collector},
		Complete: c.allKnown, Registry: r, Logger: log,
	}, wait)
	if err == nil {
		maps.Copy(out.Unread, unread)
	}
	return out, err
}

// awaitAnswer waits for storage; ZooKeeper may take a while to name one.
func (p *platform) awaitAnswer(ctx context.Context) error {
	for begin := time.Now(); ; {
		err := p.ask(ctx)
		switch {
		case err == nil:
			return nil
		case untrusted(err):
			return &InputError{Key: p.storageKey(), Err: err}
		case len(p.finds) == 0 || time.Since(begin) > auditStorage || lifecycle.Pause(ctx, startPause) != nil:
			return fmt.Errorf("storage (key %s) cannot be read: %w", p.storageKey(), err)
		}
	}
}

// awaitLists waits until every kind is listed, or has failed for long or for lack of rights, and returns the latter.
func (c *collecting) awaitLists(ctx context.Context) (unread map[string]string) {
	unread = map[string]string{}
	for _, of := range []*collector.Collector{c.definitions, c.collector} { // definitions add to the others
		for of != nil {
			for _, s := range of.States() {
				if s.Failed != nil && (s.Refused() || time.Since(s.Since) > settles) {
					unread[s.Key] = s.Failed.Error()
				}
			}
			unsynced := of.UnsyncedKinds()
			waits := func(kind string) bool { return unread[kind] == "" }
			if !slices.ContainsFunc(unsynced, waits) || lifecycle.Pause(ctx, auditPoll) != nil {
				maps.DeleteFunc(unread, func(kind, _ string) bool { return of.KindSynced(kind) })
				break
			}
		}
	}
	return unread
}
