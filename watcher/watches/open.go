package watches

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/view"
)

// lookAtList is how often a kind that is waited for is looked at: whether its list fails, and
// whether the pipeline still collects it.
const lookAtList = 50 * time.Millisecond

// laterError says that a kind is not ready yet.
type laterError struct{ why error } // nil: it only takes its time

func (e *laterError) Error() string { return fmt.Sprint("not yet: ", e.why) }

var (
	// errAgain ends what is followed in another way now: readers take hold anew.
	errAgain error = &laterError{errors.New("the kind is followed in another way now")}
	// errLooking is why nothing is known before the first discovery.
	errLooking = errors.New("what the cluster serves is not known yet")
)

// Wait is how Open may wait for a first list. The zero value is Config.Wait.
type Wait struct {
	For   time.Duration // at most MaxWait; 0 is Config.Wait, less is not at all
	Begin func() error  // called before Open waits for anything; its error is Open's. May be nil
}

// hold is a kind that is held: until release, it does not end because it is unused.
type hold struct {
	kind    Kind
	view    *view.View
	from    *collector.Collector
	key     string // there
	lazy    *lazy  // nil: it is the pipeline's
	release func() // may be called more than once
}

// state returns the kind's state; false where its collector has it no more.
func (h *hold) state() (collector.State, bool) {
	s, ok := h.from.State(h.key)
	return s, ok && s.View == h.view
}

func (h *hold) health() Health {
	s, ok := h.state()
	if !ok {
		return Health{Broken: view.ErrEnded}
	}
	return Health{Broken: s.Broken, Heard: s.Heard}
}

func (h *hold) watch() *Watch {
	return &Watch{Kind: h.kind, View: h.view, Health: h.health, Close: h.release}
}

// Open returns a kind for a reader, who must Close it: from the pipeline's collector, or else from a watch that the
// first to ask starts. It waits for the first list for as long as allowed says, and no longer than ctx. A watch that
// is broken is tried again at once; what was cached can be read meanwhile.
//
// Errors are ErrDenied, ErrNotServed, ErrNotFollowed, *LimitError, *UnsyncedError (also where ctx's deadline ends the
// wait), and the cause of ctx's cancellation.
func (w *Watches) Open(ctx context.Context, r GVR, allowed Wait) (*Watch, error) {
	limit := time.Duration(w.config.Wait)
	if allowed.For != 0 {
		limit = min(max(allowed.For, 0), MaxWait)
	}
	began := time.Now()
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	for first := true; ; first = false {
		h, err := w.hold(r)
		var changed <-chan struct{} // at the latest after lookAtList
		if h != nil {
			if err = w.ready(h); err == nil {
				return h.watch(), nil
			}
			changed = h.view.Synced()
		}
		later := (*laterError)(nil)
		if again := errors.As(err, &later); again && first && allowed.Begin != nil {
			err = allowed.Begin()
		} else if again {
			err = nil
		}
		if err == nil {
			select {
			case <-changed:
			case <-time.After(lookAtList):
			case <-w.ending:
			case <-waiting.Done():
				if err = context.Cause(ctx); !errors.Is(ctx.Err(), context.Canceled) {
					err = &UnsyncedError{Err: later.why}
				}
			}
		}
		if h != nil {
			h.release()
		}
		if unsynced := (*UnsyncedError)(nil); errors.As(err, &unsynced) {
			err = &UnsyncedError{time.Since(began), unsynced.Err} // that one is others', too
		}
		if err != nil {
			return nil, err
		}
	}
}

// ready is nil where the first list of what is held is there and fits.
func (w *Watches) ready(h *hold) error {
	if h.lazy != nil && h.lazy.ended() {
		return h.lazy.why
	}
	s, ok := h.state()
	if s.Broken != nil {
		h.from.Retry(h.key)
	}
	switch {
	case h.view.IsSynced() && h.lazy != nil:
		return w.weigh(h.lazy)
	case h.view.IsSynced():
		return nil
	case !ok && h.lazy == nil:
		return errAgain
	case apierrors.IsForbidden(s.Broken) || apierrors.IsUnauthorized(s.Broken) || apierrors.IsMethodNotSupported(s.Broken):
		return &UnsyncedError{Err: s.Broken}
	}
	return &laterError{s.Broken}
}

// hold takes hold of a kind, starting its watch if need be.
func (w *Watches) hold(r GVR) (*hold, error) {
	if w.deny.has(r.Group, r.Resource) {
		return nil, ErrDenied
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	kind, served := w.Served().Find(r)
	select {
	case <-w.ending:
		return nil, &UnsyncedError{Err: errEnded}
	default:
	}
	if c, s := w.pipelines(r); c != nil {
		if !served {
			kind = Kind{Resource: s.Resource}
			kind.KeyKind = ""
		}
		return &hold{kind: kind, view: s.View, from: c, key: s.Resource.Key(), release: func() {}}, nil
	}
	l := w.lazy[r]
	var err error
	switch {
	case l != nil && l.ended():
		err = errAgain
	case l != nil:
	case !served:
		if err = w.incomplete(); err != nil {
			return nil, &laterError{err}
		}
		if _, now := w.Served().Find(r); now { // discovery answered since
			return nil, errAgain
		}
		lifecycle.Signal(w.soon) // it may be a custom kind of a moment ago
		err = ErrNotServed
	case !w.config.Lazy:
		err = ErrNotFollowed
	default:
		l, err = w.start(kind)
	}
	if err != nil {
		return nil, err
	}
	l.holders++
	return &hold{kind: l.kind, view: l.view, from: w.own, key: l.key, lazy: l, release: sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		l.holders--
		l.used = time.Now()
	})}, nil
}

// pipelines returns the pipeline's collector if it has all of a resource for readers.
func (w *Watches) pipelines(r GVR) (*collector.Collector, collector.State) {
	c := w.collected
	if c == nil {
		return nil, collector.State{}
	}
	s, ok := c.Find(r.Group, r.Version, r.Resource)
	if !ok || !s.Whole || s.View == nil {
		return nil, collector.State{}
	}
	return c, s
}
