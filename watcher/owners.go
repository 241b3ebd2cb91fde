package watcher

import (
	"context"
	"maps"
	"slices"
	"strings"
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

// owners remembers the Pods that were sent without their workload, because their ReplicaSet
// was not cached or had no owner, and has them sent again when it has.
type owners struct {
	collector *collector.Collector

	mu      sync.Mutex               // guards the maps and due
	waiting map[object.Key]time.Time // Pods that wait to be sent, since when
	pods    map[object.Key]string    // to the ReplicaSet's name
	due     []object.Key
	wake    chan struct{} // size 1: one token says that due is not empty
}

func newOwners() *owners {
	return &owners{waiting: map[object.Key]time.Time{}, pods: map[object.Key]string{}, wake: make(chan struct{}, 1)}
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
	since, waits := o.waiting[e.Key]
	if !waits {
		since = time.Now()
		if o.pods[e.Key] == via {
			return 0 // it has waited before
		}
		o.waiting[e.Key] = since
	}
	waited := time.Since(since)
	if waited >= ownerWait {
		return 0
	}
	return min(max(waited, ownerPoll/4), ownerPoll)
}

// note remembers the ReplicaSet that a Pod is sent with, "" if it is not to be sent again.
func (o *owners) note(pod object.Key, via string) {
	if pod.Kind != kindPod {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, pod)
	if via == "" {
		delete(o.pods, pod)
	} else {
		o.pods[pod] = strings.Clone(via) // it may be part of a buffer that is used again
	}
}

// observe looks at an event: of a ReplicaSet that has an owner its Pods are due.
func (o *owners) observe(e pipeline.Event) {
	if e.Key.Kind != kindReplicaSet || e.Action != pipeline.Put {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []object.Key
	for pod, via := range o.pods {
		if via == e.Key.Name && pod.Namespace == e.Key.Namespace {
			found = append(found, pod)
		}
	}
	if len(found) == 0 {
		return
	}
	if _, has, err := object.ControllerOf(e.Object.JSON()); err != nil || !has {
		return
	}
	for _, pod := range found {
		delete(o.pods, pod)
	}
	o.due = append(o.due, found...)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// listed has all the Pods looked at again: the ReplicaSets' first list is cached and was taken
// over, so that those that storage has cause no event.
func (o *owners) listed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.due = slices.AppendSeq(o.due, maps.Keys(o.pods))
	clear(o.pods)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run sends the Pods that are due, until ctx ends.
func (o *owners) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		}
		o.mu.Lock()
		due := o.due
		o.due = nil
		o.mu.Unlock()
		for _, pod := range due {
			if err := o.collector.Repair(ctx, pod); err != nil {
				break // the Synchronizer repairs the rest
			}
		}
	}
}
