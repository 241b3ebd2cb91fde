package watcher

import (
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Bounds of the wait for a Pod's ReplicaSet, which comes on another watch.
const (
	ownerWait = time.Second
	ownerPoll = 50 * time.Millisecond // between two looks; a deletion waits no longer
)

// owners remembers the Pods that wait, or have waited, for their ReplicaSet. One that is sent without
// its workload is corrected with its next change, or by the Synchronizer.
type owners struct {
	collector *collector.Collector // of the ReplicaSets

	mu    sync.Mutex
	since map[object.Key]time.Time // guarded by mu
}

// wait is how long to wait with a Pod whose ReplicaSet is not cached and should be soon; 0
// is not at all.
func (o *owners) wait(e pipeline.Event, via string) time.Duration {
	c := o.collector
	if !c.Follows(kindReplicaSet) {
		return 0
	} else if _, cached := c.Get(object.Key{Kind: kindReplicaSet, Namespace: e.Key.Namespace, Name: via}); cached {
		return 0
	}
	if jsonscan.Lookup(e.Object.JSON(), "metadata", "deletionTimestamp") != nil {
		return 0 // a ReplicaSet goes before its Pods
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	since, waits := o.since[e.Key]
	if !waits {
		since = time.Now()
		o.since[e.Key] = since
	}
	waited := time.Since(since)
	if waited >= ownerWait {
		return 0
	}
	return min(max(waited, ownerPoll/4), ownerPoll)
}

// forget is to be called for a Pod that is gone, or needs to wait for nothing.
func (o *owners) forget(pod object.Key) {
	if pod.Kind == kindPod {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.since, pod)
	}
}

// followOwners has the ReplicaSets of all shards followed once Pods and ReplicaSets are both collected: a Pod's
// workload is known by the ReplicaSet, which may be of another shard. The sessions of a process share one cache.
func (c *copying) followOwners() {
	if c.owners.collector == c.collector || !c.collector.Collected(kindPod) {
		return
	}
	for _, r := range c.collector.Resources() {
		if r.Key() == kindReplicaSet {
			_ = c.owners.collector.AddResource(r) // else another session has done so, or it ends
		}
	}
}
