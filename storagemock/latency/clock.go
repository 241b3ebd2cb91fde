package latency

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"
)

// Clock reads the time and sleeps.
type Clock interface {
	Now() time.Time
	// SleepUntil returns nil at t, or ctx's error if that ends first.
	SleepUntil(ctx context.Context, t time.Time) error
}

var (
	_ Clock = SystemClock{}
	_ Clock = (*PreciseClock)(nil)
)

// SystemClock uses the Go runtime's timers, which are up to a millisecond or two
// late. Tests in virtual time use it.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// SleepUntil uses a runtime timer.
func (SystemClock) SleepUntil(ctx context.Context, t time.Time) error {
	wait := time.Until(t)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// alarm is a kernel timer with better than millisecond resolution.
type alarm interface {
	Set(d time.Duration) error // replaces what was set
	Wait() error               // until it expires
	Close() error              // ends Wait with an error
}

// PreciseClock wakes sleepers within about 0.1 ms: the Go runtime rounds its
// waits to whole milliseconds of epoll, a kernel timer's file descriptor does
// not. Run must be running for sleepers to wake.
type PreciseClock struct {
	alarm alarm

	mu       sync.Mutex // guards the rest
	sleepers sleeperHeap
	set      time.Time // when the alarm expires; zero if it is not set
	closed   error
}

// NewPreciseClock returns a clock; on systems without such timers it fails.
func NewPreciseClock() (*PreciseClock, error) {
	a, err := newAlarm()
	if err != nil {
		return nil, fmt.Errorf("creating a precise timer: %w", err)
	}
	return &PreciseClock{alarm: a}, nil
}

// Run wakes sleepers until ctx ends, and then all that are left.
func (c *PreciseClock) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.alarm.Close() })
	defer stop()
	for {
		if err := c.alarm.Wait(); err != nil {
			if ctx.Err() != nil {
				err = nil
			}
			c.wakeAll()
			return err
		}
		c.wakeDue()
	}
}

// Now is time.Now.
func (*PreciseClock) Now() time.Time { return time.Now() }

// SleepUntil sleeps on the kernel timer.
func (c *PreciseClock) SleepUntil(ctx context.Context, t time.Time) error {
	if !t.After(time.Now()) {
		return nil
	}
	s := &sleeper{at: t, wake: make(chan struct{})}
	c.mu.Lock()
	if c.closed != nil {
		c.mu.Unlock()
		return SystemClock{}.SleepUntil(ctx, t)
	}
	heap.Push(&c.sleepers, s)
	c.arm()
	c.mu.Unlock()
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		if s.index >= 0 {
			heap.Remove(&c.sleepers, s.index)
		}
		c.mu.Unlock()
		return ctx.Err()
	}
}

// arm sets the alarm for the earliest sleeper; c.mu is held. A failure leaves the
// earlier setting; setting a valid timer does not fail.
func (c *PreciseClock) arm() {
	if len(c.sleepers) == 0 {
		return
	}
	first := c.sleepers[0].at
	if !c.set.IsZero() && !first.Before(c.set) {
		return
	}
	if err := c.alarm.Set(max(time.Until(first), 1)); err == nil {
		c.set = first
	}
}

func (c *PreciseClock) wakeDue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set = time.Time{}
	now := time.Now()
	for len(c.sleepers) > 0 && !c.sleepers[0].at.After(now) {
		close(heap.Pop(&c.sleepers).(*sleeper).wake)
	}
	c.arm()
}

func (c *PreciseClock) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = context.Canceled
	for len(c.sleepers) > 0 {
		close(heap.Pop(&c.sleepers).(*sleeper).wake)
	}
}

type sleeper struct {
	at    time.Time
	wake  chan struct{}
	index int // in the heap; -1 when woken
}

type sleeperHeap []*sleeper

func (h sleeperHeap) Len() int           { return len(h) }
func (h sleeperHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h sleeperHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *sleeperHeap) Push(x any) {
	s := x.(*sleeper)
	s.index = len(*h)
	*h = append(*h, s)
}

func (h *sleeperHeap) Pop() any {
	old := *h
	s := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	s.index = -1
	return s
}
