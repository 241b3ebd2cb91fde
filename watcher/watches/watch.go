package watches

import (
	"errors"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/watcher/view"
)

// Watch is a kind that is followed, held by one reader until it calls Close: as long as
// somebody holds it, it does not end because it is unused.
type Watch struct {
	Kind   Kind
	View   *view.View
	Health func() Health
	Close  func() // may be called more than once
}

// Health says how well a kind is followed.
type Health struct {
	// Broken is the error that ended the last list or watch; nil while it goes on.
	Broken error
	// Heard is when the apiserver was last heard of the kind.
	Heard time.Time
}

var (
	// ErrNotServed says that the cluster has no such resource: 404.
	ErrNotServed = errors.New("the cluster does not serve it")
	// ErrDenied says that the configuration withholds the resource: 403.
	ErrDenied = errors.New("the configuration withholds it")
	// ErrNotFollowed says that the kind is not followed and lazy watches are off: 403.
	ErrNotFollowed = errors.New("it is not followed, and resourceWatcher.watches.lazy is off: " +
		"pin it in resourceWatcher.watches.pinned")
)

// LimitError says that no more can be followed: 503.
type LimitError struct {
	Limit string // the key of the configuration
	Most  int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is %d, and as much is in use", e.Limit, e.Most)
}

// UnsyncedError says that the first list was not complete in time: 503 with Retry-After.
type UnsyncedError struct {
	Waited time.Duration
	Err    error // why, as far as it is known; nil: it only takes its time
}

func (e *UnsyncedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("the first list was not complete after %s", e.Waited.Round(time.Millisecond))
	}
	return fmt.Sprintf("the first list was not complete after %s: %v", e.Waited.Round(time.Millisecond), e.Err)
}

// Unwrap returns why.
func (e *UnsyncedError) Unwrap() error { return e.Err }
