package synchronizer

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// errUnreadable is returned by a comparison that was not attempted.
var errUnreadable = errors.New("storage cannot be read")

// askWithin is how long storage has to list one record.
const askWithin = 3 * time.Second

// reads decides for all kinds whether storage can be read: after a read that timed out it asks
// for one record, and until that is answered nothing else is read.
type reads struct {
	logger  *slog.Logger
	ask     func(context.Context) error // for a record
	listing chan struct{}               // size Concurrency: a token per kind being read
	asking  chan struct{}               // size 1: held while asking

	mu       sync.Mutex // guards the rest
	answered time.Time  // when a read last was
	bad      bool
	turned   chan struct{} // closed when bad changes
}

func newReads(concurrency int, logger *slog.Logger, ask func(context.Context) error) *reads {
	return &reads{
		logger: logger, ask: ask, listing: make(chan struct{}, concurrency), asking: make(chan struct{}, 1),
		turned: make(chan struct{}),
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

// note takes the outcome of a read, and reports whether others can be read.
func (r *reads) note(ctx context.Context, err error) bool {
	if err == nil {
		r.turn(time.Now(), nil)
	} else if timedOut(err) {
		select {
		case r.asking <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		defer func() { <-r.asking }()
		if bad, _ := r.verdict(); !bad {
			r.try(ctx)
		}
	}
	bad, _ := r.verdict()
	return !bad
}

// try asks for a record; the caller holds the token of asking.
func (r *reads) try(ctx context.Context) {
	begin := time.Now()
	short, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if ctx.Err() != nil {
		return
	}
	if err := r.ask(short); ctx.Err() == nil {
		r.turn(begin, err)
	}
}

// turn records the outcome of a read that began at that time.
func (r *reads) turn(begin time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.answered = time.Now()
	} else if r.answered.After(begin) {
		return // another one was answered meanwhile
	}
	if r.bad == (err != nil) {
		return
	}
	if r.bad = err != nil; r.bad {
		r.logger.Warn("storage cannot be read", "error", err)
	} else {
		r.logger.Info("storage can be read again")
	}
	close(r.turned)
	r.turned = make(chan struct{})
}

// enter waits for a slot to read a kind, freed by leave. While storage cannot be read, patient
// callers wait and keep asking it; others fail.
func (r *reads) enter(ctx context.Context, patient bool) (leave func(), err error) {
	for asked := false; ; {
		bad, turned := r.verdict()
		token := r.listing
		if bad {
			if token = r.asking; !patient && (asked || len(token) > 0) {
				return nil, errUnreadable // somebody has asked
			}
		}
		select {
		case token <- struct{}{}:
		case <-turned:
			continue
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if still, _ := r.verdict(); bad && still {
			r.try(ctx)
			if asked, _ = r.verdict(); asked && patient {
				_ = lifecycle.Pause(ctx, firstPause) // an end of ctx is seen above
			}
		} else if still == bad {
			return func() { <-token }, nil
		}
		<-token
	}
}
