package config

import (
	"time"

	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Pipeline has the queues' settings. podQueueNum 0 means
// one queue in the original; here it leaves the number to the watcher.
func (c *Config) Pipeline() pipeline.Config {
	b := c.BCS
	p := pipeline.Default()
	p.Strategy = b.Strategy
	p.PodQueueNum = b.PodQueueNum
	if b.PodQueueNum == 0 && b.Strategy != pipeline.Adaptive {
		p.PodQueueNum = pipeline.DefaultQueues
	}
	p.MaxInFlight = b.MaxInFlight
	p.WriterQueueLen = b.WriterQueueLen
	p.HandlerQueueLen = b.HandlerQueueLen
	p.QueueFull = b.QueueFull
	p.QueueFullTimeout = time.Duration(b.QueueFullTimeout)
	p.AllowUnordered = b.AllowUnordered
	p.ParkAfter = b.ParkAfter
	p.DrainTimeout = time.Duration(b.DrainTimeout)
	p.Events = pipeline.Bound{Count: b.EventQueueLen, Bytes: b.EventQueueBytes}
	// A short storage timeout says nothing of how long a storage may take to apply
	// what was given up.
	p.FenceDelay = max(p.FenceDelay, time.Duration(b.StorageTimeout))
	return p
}
