package runner

import (
	"context"
	"fmt"
	"maps"
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

	mu     sync.Mutex // guards what follows
	states []history.Lease
	now    map[int]history.Lease // by shard
	stop   func()
}

// follow begins once the present Leases were listed, and ends with close.
func (l *leaseLog) follow(ctx context.Context, api *party.APIServer) error {
	client, err := kubernetes.NewForConfig(api.REST)
	if err != nil {
		return fmt.Errorf("follow the replicas' Leases: %w", err)
	}
	source := cache.NewListWatchFromClient(client.CoordinationV1().RESTClient(), "leases", party.LeaseNamespace,
		fields.Everything())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &coordination.Lease{}, Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { l.see(o.(*coordination.Lease)) },
			UpdateFunc: func(_, o any) { l.see(o.(*coordination.Lease)) },
		},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	l.now, l.stop = map[int]history.Lease{}, func() { cancel(); running.Wait() }
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
	nanos := func(t interface{ UnixNano() int64 }) int64 { return t.UnixNano() }
	x := history.Lease{Time: time.Now().UnixNano(), Shard: shard, Instance: -1}
	if s := o.Spec; s.HolderIdentity != nil {
		x.Holder = *s.HolderIdentity
	}
	if s := o.Spec; s.AcquireTime != nil && s.RenewTime != nil && s.LeaseDurationSeconds != nil {
		x.Acquired, x.Renewed = nanos(s.AcquireTime), nanos(s.RenewTime)
		x.Lasts = int64(*s.LeaseDurationSeconds) * int64(time.Second)
	}
	if o.Spec.LeaseTransitions != nil {
		x.Transitions = int(*o.Spec.LeaseTransitions)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = append(l.states, x)
	l.now[shard] = x
}

// close ends the following; it may be called again, and on nil.
func (l *leaseLog) close() {
	if l != nil && l.stop != nil {
		l.stop()
	}
}

// holders are the present holders by shard, without Leases that nobody has.
func (l *leaseLog) holders() map[int]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := map[int]string{}
	for shard, x := range l.now {
		if x.Holder != "" && x.Renewed+x.Lasts > time.Now().UnixNano() {
			held[shard] = x.Holder
		}
	}
	return held
}

// moved reports whether several replicas, one after the other, had a shard: the counters of the former are gone.
func (l *leaseLog) moved() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.states, func(x history.Lease) bool {
		now := l.now[x.Shard]
		return x.Holder != "" && (x.Holder != now.Holder || x.Acquired != now.Acquired)
	})
}

// taken are all states so far, with the instance that each holder writes to.
func (l *leaseLog) taken(replica func(holder string) *party.Watcher) []history.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.states {
		if w := replica(l.states[i].Holder); w != nil {
			l.states[i].Instance = w.Instance
		}
	}
	return slices.Clone(l.states)
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
func (c *site) Holder(shard int) *party.Watcher { return c.replica(c.leases.holders()[shard]) }

// How often it is looked at who holds what, and how long replicas may take to divide the shards among them.
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
		held := map[*party.Watcher]int{}
		for _, holder := range c.leases.holders() {
			held[c.replica(holder)]++
		}
		n := 0
		for _, w := range all {
			n += min(held[w], most)
		}
		if n == c.s.Watcher.Shards {
			break
		}
		if time.Now().After(deadline) {
			return &party.TimeoutError{What: fmt.Sprintf("the division of %d shards among %d replicas (%v)", c.s.Watcher.Shards,
				len(all), slices.Sorted(maps.Values(c.leases.holders()))), After: limit, Log: c.watcher.Log}
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
