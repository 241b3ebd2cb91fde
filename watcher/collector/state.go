package collector

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/watcher/view"
)

// State is how a kind is followed at one moment.
type State struct {
	Key      string
	Resource Resource
	View     *view.View // nil: nobody reads it
	Whole    bool       // all objects are cached: no selector, namespace or shard limits them
	Synced   bool       // the first list of this version of the API is cached
	// Broken is the error that ended the last list or watch; nil while one goes on.
	Broken  error
	Heard   time.Time     // when the apiserver was last heard of the kind; zero: never
	Silent  time.Duration // since then, or since the start
	Relists int64         // lists after the first
	Failed  error         // of the last list or watch; nil: it has not failed
	Since   time.Time     // of the first failure after the last sign of life
}

// Refused reports whether the apiserver answered, with a status of 400 to 499.
func (s *State) Refused() bool {
	var answer apierrors.APIStatus
	return errors.As(s.Failed, &answer) && answer.Status().Code/100 == 4
}

// errPaused is Broken between the end of a watch, whatever ended it, and the next list.
var errPaused = errors.New("the watch has ended; the next list begins after a pause")

func (k *kind) state() State {
	l := k.source.life
	s := State{
		Key: k.store.kind, Resource: k.resource, View: k.store.view.Load(),
		Whole:  k.whole,
		Synced: k.synced() && !k.store.renew.Load(), Silent: l.age(), Relists: k.store.metrics.relisted.Load(),
	}
	if f := l.failed.Load(); f != nil {
		s.Broken, s.Failed, s.Since = f.err, f.err, f.since
	} else if k.pauses.under.Load() {
		s.Broken = errPaused
	}
	if last := l.last.Load(); last > 0 {
		s.Heard = l.start.Add(time.Duration(last))
	}
	return s
}

// State returns that of the kind with a key; false where it is not collected.
func (c *collected) State(key string) (State, bool) {
	k := c.kind(key)
	if k == nil {
		return State{}, false
	}
	return k.state(), true
}

// Find is State by what the apiserver calls the resource.
func (c *collected) Find(group, version, resource string) (State, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kinds {
		if r := &k.resource; r.Name == resource && r.Group == group && r.Version == version {
			return k.state(), true
		}
	}
	return State{}, false
}

// States returns those of all kinds, sorted by key.
func (c *collected) States() []State {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]State, 0, len(c.kinds))
	for _, k := range c.snapshot() {
		all = append(all, k.state())
	}
	return all
}

// Retry ends the pause that a kind makes after a failure, if it makes one: it is listed or
// watched at once. It does so at most once a second for a kind.
func (c *collected) Retry(key string) {
	if k := c.kind(key); k != nil {
		k.pauses.end()
	}
}

// retryLeast is the least time between two pauses that Retry ends.
const retryLeast = time.Second

// pauses are those between the tries of a kind. Each waits for a context, which ends with the run or before that.
type pauses struct {
	under atomic.Bool // one outside of the reflector is under way

	mu     sync.Mutex
	run    context.Context // guarded by mu; nil before the start
	now    context.Context // guarded by mu
	cancel func()          // guarded by mu
	ended  time.Time       // guarded by mu
}

func (p *pauses) begin(run context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run = run
	p.now, p.cancel = context.WithCancel(run)
}

func (p *pauses) context() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *pauses) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil || !p.ended.IsZero() && time.Since(p.ended) < retryLeast {
		return
	}
	p.ended = time.Now()
	p.cancel()
	p.now, p.cancel = context.WithCancel(p.run)
}
