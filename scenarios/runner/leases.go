package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// leaseLog follows the Leases by which a cell's replicas elect, from before the first of them starts.
type leaseLog struct {
	names []string // of the Leases, by shard; none without an election
	stop  func()   // nil while nothing is followed

	mu     sync.Mutex
	states []history.Lease // guarded by mu
}

// followLeases begins the record of the replicas' Leases.
func (c *site) followLeases(ctx context.Context) error {
	if !c.s.Watcher.LeaderElection {
		return nil
	}
	name := faults.Lease(c.Run())
	c.leases.names = []string{name}
	if c.s.Watcher.Divided() {
		c.leases.names = nil
		for shard := range c.s.Watcher.Shards {
			c.leases.names = append(c.leases.names, fmt.Sprintf("%s-%d", name, shard))
		}
	}
	return c.leases.follow(ctx, c.api)
}

// follow returns once the present Leases were listed; close ends it.
func (l *leaseLog) follow(ctx context.Context, api *party.APIServer) error {
	client, err := kubernetes.NewForConfig(api.REST)
	if err != nil {
		return fmt.Errorf("follow the replicas' Leases: %w", err)
	}
	see := func(o any) { l.see(o.(*coordination.Lease)) }
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoordinationV1().RESTClient(), "leases", party.LeaseNamespace,
			fields.Everything()),
		ObjectType: &coordination.Lease{},
		Handler:    cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }},
	})
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(following) })
	l.stop = func() { cancel(); running.Wait() }
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return context.Cause(ctx)
	}
	return nil
}

// see notes a state of a Lease in names; those of members are not.
func (l *leaseLog) see(o *coordination.Lease) {
	shard, never := slices.Index(l.names, o.Name), metav1.NewMicroTime(time.Unix(0, 0))
	if shard < 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = append(l.states, history.Lease{
		Time: time.Now().UnixNano(), Shard: shard, Holder: ptr.Deref(o.Spec.HolderIdentity, ""), Instance: -1,
		Acquired: ptr.Deref(o.Spec.AcquireTime, never).UnixNano(), Renewed: ptr.Deref(o.Spec.RenewTime, never).UnixNano(),
		Lasts:       int64(time.Duration(ptr.Deref(o.Spec.LeaseDurationSeconds, 0)) * time.Second),
		Transitions: int(ptr.Deref(o.Spec.LeaseTransitions, 0)),
	})
}

// close ends the following; it may be called again.
func (l *leaseLog) close() {
	if l.stop != nil {
		l.stop()
	}
}

// latest returns the present states by shard, and whether a shard has changed hands: its former counters are gone.
func (l *leaseLog) latest() (now []history.Lease, moved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now = make([]history.Lease, len(l.names))
	for _, x := range l.states {
		before := now[x.Shard]
		moved = moved || before.Time != 0 && x.Holder != before.Holder
		now[x.Shard] = x
	}
	return now, moved
}

// saveLeases saves who held which Lease when, and to which instance of storage the holder writes.
func (c *site) saveLeases() error {
	if c.leases.names == nil {
		return nil
	}
	c.leases.mu.Lock()
	defer c.leases.mu.Unlock()
	for i := range c.leases.states {
		if w := c.replica(c.leases.states[i].Holder); w != nil {
			c.leases.states[i].Instance = w.Instance
		}
	}
	return history.SaveLines(c.dir, history.FileLeases, c.leases.states)
}

// replica returns the watcher with an identity, nil if none of the cell's has it.
func (c *site) replica(identity string) *party.Watcher {
	i := slices.IndexFunc(c.all, func(w *party.Watcher) bool { return w.Named(identity) })
	if i < 0 {
		return nil
	}
	return c.all[i]
}

// Holder is the replica that holds a shard's Lease, nil if none of the cell's does.
func (c *site) Holder(shard int) *party.Watcher {
	now, _ := c.leases.latest()
	return c.replica(now[shard].Holder)
}

// Polling period of Divided, and how long replicas may take.
const (
	dividePoll  = 50 * time.Millisecond
	divideLimit = 2 * time.Minute
)

// Divided waits until the replicas hold all shards, none more than its part, and have listed them.
func (c *site) Divided(ctx context.Context) error {
	all, shards := append([]*party.Watcher{c.watcher}, c.others...), c.s.Watcher.Shards
	most := (shards + len(all) - 1) / len(all)
	what := fmt.Sprintf("the division of %d shards among %d replicas", shards, len(all))
	err := c.watcher.Await(ctx, what, dividePoll, divideLimit+c.patience(0), func(context.Context) bool {
		held, n := map[*party.Watcher]int{}, 0
		for shard := range shards {
			held[c.Holder(shard)]++
		}
		for _, w := range all {
			n += min(held[w], most)
		}
		return n == shards
	})
	for _, w := range all {
		if err == nil {
			err = w.AwaitReady(ctx)
		}
	}
	return err
}
