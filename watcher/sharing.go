package watcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/leader"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// sharing runs a session for each shard that this replica holds.
type sharing struct {
	wanted
	set    Settings
	kube   *rest.Config
	group  *leader.Group
	owners *collector.Collector // the ReplicaSets of all shards, their metadata alone

	mu       sync.Mutex // guards what follows, and cfg.BCS
	sessions []*session
}

// session is the work of one shard while it is held. Its series have a registry of their own, and go with it.
type session struct {
	*copying
	registry *prometheus.Registry
}

func newSharing(w wanted, set Settings, kube *rest.Config) (*sharing, error) {
	s := &sharing{wanted: w, set: set, kube: kube}
	c, err := w.election()
	if err == nil {
		s.group, err = leader.NewGroup(c, w.cfg.Shards, string(w.cfg.ShardBy), kube, set.Logger)
	}
	if err != nil {
		return nil, &InputError{Key: "leaderElection", Err: err}
	}
	owners := w.collector(nil)
	owners.Metadata = true
	for _, field := range []string{"labels", "annotations", "creationTimestamp", "generation"} { // who owns them is enough
		owners.Masks = append(owners.Masks, object.Mask{Kind: kindReplicaSet, Path: []string{"metadata", field}})
	}
	s.owners, err = collector.New(owners, collector.Settings{Client: kube, Sink: collector.Discard, Logger: set.Logger,
		First: s.ownersListed})
	if err != nil {
		return nil, &InputError{Err: err}
	}
	return s, nil
}

// Run takes part in the sharing until ctx ends.
func (s *sharing) Run(ctx context.Context) error {
	s.set.Logger.Info("sharing the work with other replicas", "shards", s.cfg.Shards, "by", s.cfg.ShardBy)
	err := lifecycle.Run(ctx, lifecycle.Stage{Name: "owners", Run: s.owners.Run},
		lifecycle.Stage{Name: "shards", Run: func(ctx context.Context) error {
			return s.group.Run(ctx, func(ctx context.Context, h *leader.Holding) error {
				err := s.hold(ctx, h)
				freeMemory() // the shard is another replica's now
				return err
			})
		}})
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return &InputError{Key: "k8s", Err: err}
	}
	return err
}

// hold copies a shard while it is held.
func (s *sharing) hold(ctx context.Context, h *leader.Holding) error {
	var one *session
	var err error
	s.change(func() {
		if one, err = s.session(h); err == nil {
			s.sessions = append(s.sessions, one)
		}
	})
	if err != nil {
		return err
	}
	defer s.change(func() {
		s.sessions = slices.DeleteFunc(s.sessions, func(other *session) bool { return other == one })
	})
	return one.Run(ctx)
}

// session makes the session of a shard; the caller holds mu.
func (s *sharing) session(h *leader.Holding) (*session, error) {
	one := &session{registry: prometheus.NewRegistry()}
	index := strconv.Itoa(h.Shard)
	series := prometheus.WrapRegistererWith(prometheus.Labels{"shard": index}, one.registry)
	set, w := s.set, s.wanted
	set.Logger, w.index = set.Logger.With("shard", index), h.Shard
	w.shard = &kubeapi.Split(w.cfg.Shards, w.cfg.ShardBy)[h.Shard]
	p, err := newPlatform(w.cfg, set, series, h.Permit)
	if err != nil {
		return nil, err
	}
	if one.copying, err = newCopying(w, p, s.kube, s.owners, series, set.Logger); err != nil {
		return nil, err
	}
	one.settled = func() bool { return one.ready(nil, nil) == nil }
	h.Settling = one.pipeline.Settling
	return one, series.Register(newLags(one.copying))
}

// change calls do with mu held.
func (s *sharing) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *sharing) held() (all []*session) {
	s.change(func() { all = slices.Clone(s.sessions) })
	return all
}

// ownersListed has the Pods compared that may have been sent without their workload.
func (s *sharing) ownersListed(string) bool {
	for _, one := range s.held() {
		if one.synchronizer != nil {
			one.synchronizer.CompareSoon(kindPod)
		}
	}
	return true
}

// ready is nil if this replica can take shards over and its sessions are ready.
func (s *sharing) ready(lost []error, waiting []string) error {
	if err := s.group.Trouble(); err != nil {
		return err
	}
	held := s.held()
	if len(held) > 0 {
		lost = append(lost, s.owners.Lost()...)
		waiting = append(waiting, texts(s.owners.Unsynced())...)
	}
	if err := missing(lost, waiting); err != nil {
		return err
	}
	for _, one := range held {
		if err := one.ready(nil, nil); err != nil {
			return fmt.Errorf("shard %d: %w", one.index, err)
		}
	}
	return nil
}

// resize changes the queues of all sessions, and of those to come.
func (s *sharing) resize(bcs config.BCS, to pipeline.Queues) (err error) {
	s.change(func() {
		s.cfg.BCS = bcs
		for _, one := range s.sessions {
			err = errors.Join(err, one.pipeline.Resize(to))
		}
	})
	return err
}

// gatherer has the series of the process and, with shards, those of each that is held.
func (w *Watcher) gatherer() prometheus.Gatherer {
	if w.sharing == nil {
		return w.registry
	}
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all := prometheus.Gatherers{w.registry}
		for _, one := range w.sharing.held() {
			all = append(all, one.registry)
		}
		return all.Gather()
	})
}

// down has an error for each storage endpoint that is down.
func (w *Watcher) down() (all []error) {
	if w.sharing == nil {
		return w.copying.platform.storage.Down()
	}
	for _, one := range w.sharing.held() {
		for _, err := range one.platform.storage.Down() {
			all = append(all, fmt.Errorf("shard %d: %w", one.index, err))
		}
	}
	return all
}
