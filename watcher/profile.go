package watcher

import (
	"context"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/legacy"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// path carries the collector's events to storage: this repository's pipeline, or the
// original's rules under the profile "legacy".
type path interface {
	collector.Sink
	AddKind(kind string)
	RetireKind(kind string)
	Run(ctx context.Context) error
}

func (w *Watcher) isLegacy() bool { return w.cfg.Profile == config.ProfileLegacy }

// legacyPath is the path of the profile "legacy".
func (w *Watcher) legacyPath(s storage.Settings) (path, error) {
	b := w.cfg.BCS
	client, err := legacy.NewClient(legacy.ClientConfig{
		ClusterID: w.cfg.Default.ClusterID, Endpoints: b.CustomStorageEndpoints, Timeout: time.Duration(b.StorageTimeout),
	}, legacy.ClientSettings{TLS: s.TLS, Registry: w.registry, Token: s.Token, Dial: s.Dial})
	if err != nil {
		return nil, &InputError{Key: "bcs.custom-storage-endpoints", Err: err}
	}
	c := legacy.Default()
	c.ClusterID = w.cfg.Default.ClusterID
	c.PodQueueNum, c.HandlerQueueLen = b.PodQueueNum, b.HandlerQueueLen
	p, err := legacy.New(c, legacy.Settings{
		Storage: client, Cache: w, Prepare: w.legacyPrepare, Registry: w.registry, Logger: w.log,
	})
	if err != nil {
		return nil, &InputError{Key: "bcs", Err: err}
	}
	return p, nil
}

// legacyPrepare annotates a Pod with its workload. One whose ReplicaSet may be missing
// only because the first list of ReplicaSets is not complete has to wait.
func (w *Watcher) legacyPrepare(o *object.Object) (out *object.Object, ready bool, err error) {
	if o.Key.Kind == "Pod" {
		owner, found, err := object.ControllerOf(o.JSON())
		if c := w.collector.Load(); err == nil && found && owner.Kind == "ReplicaSet" && c.Collected(owner.Kind) && !c.KindSynced(owner.Kind) {
			return nil, false, nil
		}
	}
	out, _, err = workload{cache: w}.annotate(o)
	return out, true, err
}

// legacySynchronizer is the original's, which compares names once.
func (w *Watcher) legacySynchronizer(c *collector.Collector) lifecycle.Stage {
	s := legacy.NewSynchronizer(w.cfg.WatchResource.Namespace, w.storage, c, w.log)
	return lifecycle.Stage{Name: "synchronizer", Run: s.Run}
}
