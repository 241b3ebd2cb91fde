package synchronizer

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/watchbench/watchbench/watcher/storage"
)

// errUnreadable is the error of a comparison that was not tried.
var errUnreadable = errors.New("storage cannot be read")

// reads decides, for all kinds together, whether storage can be read. While it cannot, one
// kind at a time tries.
type reads struct {
	logger  *slog.Logger
	listing chan struct{} // size Concurrency: a token for each kind that is read
	trying  chan struct{} // size 1: the token while storage cannot be read

	mu       sync.Mutex // guards the rest
	answered time.Time  // when a list last was
	failing  time.Time  // when the first read began that has failed since; zero: none has
	bad      bool
	turned   chan struct{}  // closed when bad changes
	smaller  map[string]int // first pages that got no answer: the size to try next
}

func newReads(concurrency int, logger *slog.Logger) *reads {
	return &reads{
		logger: logger, listing: make(chan struct{}, concurrency), trying: make(chan struct{}, 1),
		turned: make(chan struct{}), smaller: map[string]int{},
	}
}

// verdict reports whether storage cannot be read; turned is closed when that changes.
func (r *reads) verdict() (bad bool, turned <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bad, r.turned
}

// timedOut reports whether a read was given up.
func timedOut(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

// note takes the outcome of a read that began at that time. One that hangs while no other is
// answered is enough for the verdict; errors must last for firstPatience.
func (r *reads) note(begin time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	bad := false
	switch {
	case err == nil:
		r.answered, r.failing = time.Now(), time.Time{}
	case r.answered.After(begin), errors.Is(err, storage.ErrTooLong):
		return // it is that read alone
	default:
		if r.failing.IsZero() {
			r.failing = begin
		}
		bad = r.bad || timedOut(err) || time.Since(r.failing) >= firstPatience
	}
	if bad == r.bad {
		return
	}
	if r.bad = bad; bad {
		r.logger.Warn("storage cannot be read", "error", err)
	} else {
		r.logger.Info("storage can be read again")
	}
	close(r.turned)
	r.turned = make(chan struct{})
}

// enter waits for a kind's turn to be read, until leave. While storage cannot be read only
// patient callers wait.
func (r *reads) enter(ctx context.Context, patient bool) (leave func(), err error) {
	for {
		bad, turned := r.verdict()
		token := r.listing
		if bad {
			token = r.trying
		}
		if bad && !patient {
			select {
			case token <- struct{}{}:
				return r.leaveTrial, nil
			default:
				return nil, errUnreadable
			}
		}
		select {
		case token <- struct{}{}:
			if still, _ := r.verdict(); still != bad {
				<-token
			} else if bad {
				return r.leaveTrial, nil
			} else {
				return func() { <-token }, nil
			}
		case <-turned:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// leaveTrial lets the next one try, after a pause if this one failed.
func (r *reads) leaveTrial() {
	if bad, _ := r.verdict(); bad {
		time.AfterFunc(firstPause, func() { <-r.trying })
	} else {
		<-r.trying
	}
}

// pageSize is that of a kind's first page: less than usual where such a page got no answer.
func (r *reads) pageSize(kind string, usual int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if size, is := r.smaller[kind]; is {
		return size
	}
	return usual
}

// first notes whether a kind's first page of that size was answered.
func (r *reads) first(kind string, size int, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answered {
		delete(r.smaller, kind)
	} else {
		r.smaller[kind] = max(leastRows, size/2)
	}
}
