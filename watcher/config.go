package watcher

import (
	"time"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/storage"
)

// pipelineConfig takes the queues' settings from the main file. podQueueNum 0 means
// one queue in the original; here it leaves the number to the watcher.
func pipelineConfig(cfg config.Config) pipeline.Config {
	b := cfg.BCS
	c := pipeline.Default()
	c.Strategy = b.Strategy
	c.PodQueueNum = b.PodQueueNum
	if b.PodQueueNum == 0 && b.Strategy != pipeline.Adaptive {
		c.PodQueueNum = pipeline.DefaultQueues
	}
	c.MaxInFlight = b.MaxInFlight
	c.WriterQueueLen = b.WriterQueueLen
	c.HandlerQueueLen = b.HandlerQueueLen
	c.QueueFull = b.QueueFull
	c.QueueFullTimeout = time.Duration(b.QueueFullTimeout)
	c.AllowUnordered = b.AllowUnordered
	c.ParkAfter = b.ParkAfter
	c.DrainTimeout = time.Duration(b.DrainTimeout)
	c.Events = pipeline.Bound{Count: b.EventQueueLen, Bytes: b.EventQueueBytes}
	// A short storage timeout says nothing of how long a storage may take to apply
	// what was given up.
	c.FenceDelay = max(c.FenceDelay, time.Duration(b.StorageTimeout))
	return c
}

// lastWrite is how long after it was sent a write may still be applied: the request is
// given up by then, and the fence covers what storage does with it afterwards.
func lastWrite(cfg config.Config) time.Duration {
	return time.Duration(cfg.BCS.StorageTimeout) + pipelineConfig(cfg).FenceDelay
}

func storageConfig(c config.Config) storage.Config {
	s := storage.Default()
	s.ClusterID = c.Default.ClusterID
	s.Endpoints = c.BCS.CustomStorageEndpoints
	s.Conditional = c.BCS.Conditional
	s.Timeout = time.Duration(c.BCS.StorageTimeout)
	return s
}

// readPace is k8s.readPace as the collector takes it: there 0 is the default.
func readPace(cfg config.Config) time.Duration {
	if cfg.K8s.ReadPace == 0 {
		return -1
	}
	return time.Duration(cfg.K8s.ReadPace)
}
