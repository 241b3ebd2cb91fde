package collector

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// LostAfter is how long a kind's watch may be without a sign of life, once its last try
// failed, before the kind is reported as lost.
const LostAfter = 15 * time.Second

// life knows when the apiserver was last heard of a kind: by a list that came to its end, by
// the answer to a watch, or by what came on it.
type life struct {
	start  time.Time // of the clock
	logger *slog.Logger
	last   atomic.Int64          // of the last sign of life, since start
	failed atomic.Pointer[error] // what ended the last try; nil while there is nothing
	said   atomic.Bool           // the log says that the kind is lost
	asks   func()                // called at a 404
}

func newLife(logger *slog.Logger, asks func()) *life {
	return &life{start: time.Now(), logger: logger, asks: asks}
}

// sign notes a sign of life.
func (l *life) sign() {
	now := int64(time.Since(l.start))
	last := l.last.Swap(now)
	if l.failed.Load() == nil {
		return
	}
	l.failed.Store(nil)
	if l.said.Swap(false) {
		l.logger.Info("watch is back", "after", time.Duration(now-last).Round(time.Millisecond))
	}
}

// fail notes what ended a try. The end of ctx itself says nothing of the apiserver.
func (l *life) fail(ctx context.Context, err error) {
	if ctx.Err() != nil && context.Cause(ctx) != errIdle { //nolint:errorlint // a cause is not wrapped
		return
	}
	l.failed.Store(&err)
	if age := l.age(); age >= LostAfter && !l.said.Swap(true) {
		l.logger.Warn("watch is lost", "for", age.Round(time.Millisecond), "error", err)
	}
	if apierrors.IsNotFound(err) {
		l.asks()
	}
}

// age is the time since the last sign of life, or since the start.
func (l *life) age() time.Duration { return time.Since(l.start) - time.Duration(l.last.Load()) }

// error is what ended the last try, nil while nothing did.
func (l *life) error() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// LostError says that the apiserver has not been heard of a kind for longer than
// LostAfter. It unwraps to what ended the last try.
type LostError struct {
	Resource Resource
	For      time.Duration
	Err      error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the watch of %s is dead for %s: %v", e.Resource, e.For.Round(time.Second), e.Err)
}

// Unwrap returns what ended the last try.
func (e *LostError) Unwrap() error { return e.Err }

// Lost returns a *LostError for each kind that is lost, sorted by key.
func (c *Collector) Lost() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lost []error
	for _, k := range c.snapshot() {
		if err, age := k.source.life.error(), k.source.life.age(); err != nil && age >= LostAfter {
			lost = append(lost, &LostError{k.resource, age, err})
		}
	}
	return lost
}

// Silence is how long ago the apiserver was last heard of a kind.
type Silence struct {
	Key     string
	For     time.Duration
	Failing bool // the last try failed: the silence is no calm
}

// Silences returns one per kind, sorted by key.
func (c *Collector) Silences() []Silence {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Silence
	for _, k := range c.snapshot() {
		all = append(all, Silence{k.store.kind, k.source.life.age(), k.source.life.error() != nil})
	}
	return all
}

// NotServed reports whether the apiserver last answered a list or watch of the kind with
// 404.
func (c *Collector) NotServed(key string) bool {
	k := c.kind(key)
	return k != nil && apierrors.IsNotFound(k.source.life.error())
}

// Follows reports whether all objects of a kind are cached and its watch goes on.
func (c *Collector) Follows(key string) bool {
	k := c.kind(key)
	return k != nil && k.resource.LabelSelector == "" && k.synced() && k.source.life.error() == nil
}

// Bounds of the wait for another kind's first list.
const (
	afterAtMost  = 30 * time.Second
	afterFailing = 5 * time.Second // while its list fails
)

// waitFor returns when the first list of a kind is complete, the kind is not collected, or
// the wait takes too long.
func (c *Collector) waitFor(ctx context.Context, key string, logger *slog.Logger) {
	for start := time.Now(); ; {
		k := c.kind(key)
		if k == nil || k.synced() {
			return
		}
		err := k.source.life.error()
		if waited := time.Since(start); waited >= afterAtMost || err != nil && waited >= afterFailing {
			logger.Warn("not waiting for the first list of another kind any longer", "other", key, "waited", waited.Round(time.Second), "error", err)
			return
		}
		select {
		case <-k.store.synced:
		case <-time.After(afterFailing / 5):
		case <-ctx.Done():
			return
		}
	}
}

// NotFound gets a token when a list or watch is answered with 404: the kind is not served
// any more, or not in its version.
func (c *Collector) NotFound() <-chan struct{} { return c.notFound }
