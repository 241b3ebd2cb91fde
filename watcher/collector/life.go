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

// life knows when the apiserver was last heard of a kind: by a complete list, the answer to a watch, what came on it,
// or its orderly end. On a quiet watch only a bookmark a minute comes: its silence is older than an outage.
type life struct {
	start  time.Time               // of the clock
	last   atomic.Int64            // of the last sign of life, since start
	failed atomic.Pointer[failure] // what ended the last try; nil while there is nothing
	// refused is set while the apiserver shows an older state than was seen; then nothing counts as a sign of life.
	refused atomic.Bool
	asks    func() // called at a 404
}

// failure records the error of the last try, and when tries began to fail.
type failure struct {
	err   error
	since time.Time
}

func newLife(asks func()) *life { return &life{start: time.Now(), asks: asks} }

// sign notes a sign of life; 0 is that there was none.
func (l *life) sign() {
	if l.refused.Load() {
		return
	}
	l.last.Store(max(1, int64(time.Since(l.start))))
	if l.failed.Load() != nil {
		l.failed.Store(nil)
	}
}

// refuse notes that what the apiserver shows cannot be taken, until accept.
func (l *life) refuse(ctx context.Context, err error) {
	l.refused.Store(true)
	l.fail(ctx, err)
}

// accept notes a list that was taken.
func (l *life) accept() {
	l.refused.Store(false)
	l.sign()
}

// fail notes what ended a try. The end of ctx itself says nothing of the apiserver.
func (l *life) fail(ctx context.Context, err error) {
	if ctx.Err() != nil && context.Cause(ctx) != errIdle { //nolint:errorlint // a cause is not wrapped
		return
	}
	f := &failure{err, time.Now()}
	if before := l.failed.Load(); before != nil {
		f.since = before.since
	}
	l.failed.Store(f)
	if apierrors.IsNotFound(err) {
		l.asks()
	}
}

// age is the time since the last sign of life, or since the start.
func (l *life) age() time.Duration { return time.Since(l.start) - time.Duration(l.last.Load()) }

// error returns the error of the last try; nil if it has not failed.
func (l *life) error() error {
	if f := l.failed.Load(); f != nil {
		return f.err
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
	return fmt.Sprintf("the watch of %s fails and has been silent for %s: %v", e.Resource, e.For.Round(time.Second), e.Err)
}

// Unwrap returns what ended the last try.
func (e *LostError) Unwrap() error { return e.Err }

// Lost returns a *LostError for each kind that is lost, sorted by key: that was not heard of
// for LostAfter, or of which the apiserver shows an older state than was seen.
func (c *collected) Lost() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lost []error
	for _, k := range c.snapshot() {
		l := k.source.life
		if err, age := l.error(), l.age(); err != nil && (age >= LostAfter || l.refused.Load()) {
			lost = append(lost, &LostError{k.resource, age, err})
		}
	}
	return lost
}

// NotServed reports whether the apiserver last answered a list or watch of the kind with
// 404.
func (c *collected) NotServed(key string) bool {
	k := c.kind(key)
	return k != nil && apierrors.IsNotFound(k.source.life.error())
}

// Follows reports whether all objects of a kind are cached and its watch goes on.
func (c *collected) Follows(key string) bool {
	k := c.kind(key)
	return k != nil && k.resource.LabelSelector == "" && k.synced() && k.source.life.error() == nil
}

// Bounds of the wait for another kind's first list.
const (
	afterAtMost  = 30 * time.Second
	afterFailing = 5 * time.Second // while its list fails
)

// waitFor returns when the first list of a kind is complete, the kind is not collected, or the wait takes too long.
func (c *collected) waitFor(ctx context.Context, key string, logger *slog.Logger) {
	for start := time.Now(); ; {
		k := c.kind(key)
		if k == nil || k.synced() {
			return
		}
		err := k.source.life.error()
		if waited := time.Since(start); waited >= afterAtMost || err != nil && waited >= afterFailing {
			logger.Warn("not waiting for the first list of another kind any longer", "other", key, "waited",
				waited.Round(time.Second), "error", err)
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
