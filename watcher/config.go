package watcher

import (
	"time"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/storage"
)

// pipelineConfig is what the main file says about queues. podQueueNum 0 stands for
// one queue in the original; here it leaves the number of requests in flight to
// the watcher, except where the strategy is one of the original's.
func pipelineConfig(cfg config.Config) pipeline.Config {
	b := cfg.BCS
	c := pipeline.Default()
	c.Strategy = b.Strategy
	if b.PodQueueNum != 0 || b.Strategy == pipeline.Partitioned || b.Strategy == pipeline.Single {
		c.PodQueueNum = b.PodQueueNum
	}
	c.WriterQueueLen = b.WriterQueueLen
	c.HandlerQueueLen = b.HandlerQueueLen
	c.QueueFull = b.QueueFull
	c.QueueFullTimeout = time.Duration(b.QueueFullTimeout)
	c.AllowUnordered = b.AllowUnordered
	c.ParkAfter = b.ParkAfter
	c.DrainTimeout = time.Duration(b.DrainTimeout)
	if cfg.LeaderElection.Enabled {
		c.DrainTimeout = min(c.DrainTimeout, lastWrites)
	}
	// A short storage timeout says nothing of how long a storage may take to apply
	// what was given up.
	c.FenceDelay = max(c.FenceDelay, time.Duration(b.StorageTimeout))
	return c
}

// lastWrites is how long a leader that lost its Lease may go on sending: less than
// what leader.Default leaves between the renew deadline and the lease's end.
const lastWrites = 3 * time.Second

func storageConfig(c config.Config) storage.Config {
	s := storage.Default()
	s.ClusterID = c.Default.ClusterID
	s.Endpoints = c.BCS.CustomStorageEndpoints
	s.Conditional = c.BCS.Conditional
	s.Timeout = time.Duration(c.BCS.StorageTimeout)
	return s
}
