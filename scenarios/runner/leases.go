package runner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// leaseLog follows the Leases by which a cell's replicas elect, from before the first of them starts.
type leaseLog struct {
	name    string // of the Lease
	divided bool   // each shard has one: name-0, name-1, …

	mu     sync.Mutex
	states []history.Lease // guarded by mu
	stop   func()
}

// follow begins once the present Leases were listed, and ends with close.
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

// see notes a state of a Lease of the election; those of members are none.
func (l *leaseLog) see(o *coordination.Lease) {
	number, ours := strings.CutPrefix(o.Name, l.name+"-")
	shard, err := strconv.Atoi(number)
	if !l.divided {
		ours, shard, err = o.Name == l.name, 0, nil
	}
	if !ours || err != nil {
		return
	}
	x, spec := history.Lease{Time: time.Now().UnixNano(), Shard: shard, Instance: -1}, o.Spec
	if spec.HolderIdentity != nil {
		x.Holder = *spec.HolderIdentity
	}
	if spec.AcquireTime != nil {
		x.Acquired = spec.AcquireTime.UnixNano()
	}
	if spec.RenewTime != nil && spec.LeaseDurationSeconds != nil {
		x.Renewed, x.Lasts = spec.RenewTime.UnixNano(), int64(*spec.LeaseDurationSeconds)*int64(time.Second)
	}
	if spec.LeaseTransitions != nil {
		x.Transitions = int(*spec.LeaseTransitions)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = append(l.states, x)
}

// close ends the following; it may be called again, and on nil.
func (l *leaseLog) close() {
	if l != nil && l.stop != nil {
		l.stop()
	}
}

// latest are the present states by shard, and whether a shard has had several holders: the counters of the former are
// gone.
func (l *leaseLog) latest() (now map[int]history.Lease, moved bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now = map[int]history.Lease{}
	for _, x := range l.states {
		before, known := now[x.Shard]
		moved = moved || known && x.Holder != before.Holder
		now[x.Shard] = x
	}
	return now, moved
}

// followLeases begins the record of the replicas' Leases.
func (c *site) followLeases(ctx context.Context) error {
	if !c.s.Watcher.LeaderElection {
		return nil
	}
	c.leases = &leaseLog{name: faults.Lease(c.Run()), divided: c.s.Watcher.Divided()}
	return c.leases.follow(ctx, c.api)
}

// replica is the one with an identity, nil if it is none of the cell's.
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
	all := append([]*party.Watcher{c.watcher}, c.others...)
	most := (c.s.Watcher.Shards + len(all) - 1) / len(all)
	limit := divideLimit + c.patience(0)
	for deadline := time.Now().Add(limit); ; {
		held, n := map[*party.Watcher]int{}, 0
		for shard := range c.s.Watcher.Shards {
			held[c.Holder(shard)]++
		}
		for _, w := range all {
			n += min(held[w], most)
		}
		if n == c.s.Watcher.Shards {
			break
		}
		if time.Now().After(deadline) {
			what := fmt.Sprintf("the division of %d shards among %d replicas", c.s.Watcher.Shards, len(all))
			return &party.TimeoutError{What: what, After: limit, Log: c.watcher.Log}
		}
		if err := lifecycle.Pause(ctx, dividePoll); err != nil {
			return err
		}
	}
	for _, w := range all {
		if err := w.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}
