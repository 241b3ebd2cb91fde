// Package lifecycle runs the parts of a process together and ends them in order.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Stage is one long-lived part: Run blocks until ctx ends and returns after
// everything it started has ended.
type Stage struct {
	Name string
	Run  func(ctx context.Context) error
}

// atOnce is a reason to end without any order.
type atOnce struct{ error }

func (a atOnce) Unwrap() error { return a.error }

// AtOnce wraps err as the cause of a cancellation that ends all stages together, without
// finishing their work.
func AtOnce(err error) error { return atOnce{err} }

// EndedAtOnce reports that ctx has ended so.
func EndedAtOnce(ctx context.Context) bool {
	var a atOnce
	return errors.As(context.Cause(ctx), &a)
}

// Run starts the stages and, when ctx ends or one of them returns, ends them from
// the last to the first, each awaited before the next is cancelled: whoever produces
// stops before whoever consumes. So list consumers first. The error is the first
// failure, named by its stage; the end of ctx is none. An end at once cancels all stages
// before it awaits any.
func Run(ctx context.Context, stages ...Stage) error {
	type running struct {
		cancel context.CancelCauseFunc
		done   chan struct{}
		err    error
	}
	parts := make([]*running, len(stages))
	ended := make(chan int, len(stages)) // one send per stage
	for i, s := range stages {
		// Not derived from ctx: a stage ends when its turn comes, not at once.
		sctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		parts[i] = &running{cancel: cancel, done: make(chan struct{})}
		go func() {
			defer func() { close(parts[i].done); ended <- i }()
			parts[i].err = s.Run(sctx)
		}()
	}
	var first error
	select {
	case <-ctx.Done():
	case i := <-ended:
		first = named(stages[i].Name, parts[i].err)
		if first == nil && ctx.Err() == nil {
			first = fmt.Errorf("%s: ended unasked", stages[i].Name)
		}
	}
	if EndedAtOnce(ctx) {
		for _, p := range parts {
			p.cancel(context.Cause(ctx))
		}
	}
	for i := len(parts) - 1; i >= 0; i-- {
		parts[i].cancel(nil)
		<-parts[i].done
		if err := named(stages[i].Name, parts[i].err); first == nil {
			first = err
		}
	}
	return first
}

func named(name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

type hurryKey struct{}

// WithHurry returns a context whose clean-up, once hurry ends, is to wait for nothing.
func WithHurry(ctx, hurry context.Context) context.Context {
	return context.WithValue(ctx, hurryKey{}, hurry)
}

// Hurry returns the context that WithHurry was given, else one that never ends.
func Hurry(ctx context.Context) context.Context {
	if h, ok := ctx.Value(hurryKey{}).(context.Context); ok {
		return h
	}
	return context.Background()
}

// ErrRunTwice is returned by the second Run of what runs once.
var ErrRunTwice = errors.New("it has been run already; make a new one")

// Signal puts a token into a channel of size 1: one says as much as several.
func Signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Pause waits for d. It returns early with ctx's cause when ctx ends, also where d is
// not positive.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return context.Cause(ctx)
}
