package config

import (
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/storage"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Defaults of the original (contract §7.1). What concerns the queues is
// pipeline.Default's.
const (
	DefaultAddress    = "127.0.0.1"
	DefaultPort       = 8080
	DefaultMetricPort = 8081
	// DefaultWriterQueueLen is also the least: smaller values are raised to it, as
	// the original does.
	DefaultWriterQueueLen = 10240
)

// profileDefault is the one profile there is.
const profileDefault = "default"

// Default returns the configuration of an empty file.
func Default() Config {
	p := pipeline.Default()
	return Config{
		Profile: profileDefault,
		Address: DefaultAddress, Port: DefaultPort, MetricPort: DefaultMetricPort,
		K8s:          K8s{ReadPace: Duration(collector.DefaultReadPace)},
		Synchronizer: Synchronizer{Period: Duration(5 * time.Minute), Name: "k8s-watch"},
		CacheCheck: CacheCheck{
			Period: Duration(collector.DefaultVerifyPeriod), Grace: Duration(collector.DefaultVerifyGrace),
		},
		LeaderElection: LeaderElection{Namespace: "kube-system", Name: "k8s-watch"},
		ShardBy:        kubeapi.ByName,
		ResourceWatcher: ResourceWatcher{
			Server: access.Default(), Watches: watches.Default(), Query: query.Default(), Relations: relation.Default(),
			Notify: notify.Default(),
		},
		BCS: BCS{
			WriterQueueLen:   DefaultWriterQueueLen,
			PodQueueNum:      p.PodQueueNum,
			MaxInFlight:      p.MaxInFlight,
			HandlerQueueLen:  p.HandlerQueueLen,
			Strategy:         p.Strategy,
			QueueFull:        p.QueueFull,
			QueueFullTimeout: Duration(p.QueueFullTimeout),
			StorageTimeout:   Duration(storage.DefaultTimeout),
			DrainTimeout:     Duration(p.DrainTimeout),
			EventQueueLen:    p.Events.Count,
			EventQueueBytes:  p.Events.Bytes,
			ParkAfter:        p.ParkAfter,
		},
	}
}
