package access

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// mostQueued requests of one user may wait for a seat, and mostWaits of all users together.
	mostQueued = 500
	mostWaits  = 4 * mostQueued
	// mostBegun requests of one user may be under way: each keeps the state that it shows in memory.
	mostBegun = 16
	// queueWait is how long a request waits for its first seat.
	queueWait = 10 * time.Second
)

// ErrNoSeat says that too many expensive requests wait, or that one waited for too long: 429.
var ErrNoSeat = fmt.Errorf("too many lists and relations: at most %d of one user are under way; %d of one user and %d "+
	"of all wait, each for %s; please try again later", mostBegun, mostQueued, mostWaits, queueWait)

// Seats are for requests that take more than a moment of a processor: lists, relations, indexes.
// Few have a seat at a time, and they pause as long as they work. The others wait in one FIFO queue
// per user, and users take turns slice by slice. The terms are API Priority and Fairness's.
type Seats struct {
	mu    sync.Mutex
	free  int     // guarded by mu
	last  uint64  // guarded by mu; number of the latest request
	flows []*flow // guarded by mu; of users who have requests, the next one's first
}

// flow holds the requests of one user; its fields are guarded by Seats.mu.
type flow struct {
	user    string
	begun   int
	waiting []*Seat // by number
}

// Seat lets one request work. It is for one goroutine.
type Seat struct {
	all    *Seats
	flow   *flow // nil after Leave
	number uint64
	begun  bool          // guarded by Seats.mu
	ready  chan struct{} // capacity 1: a token is the seat
	seated bool
	work   lifecycle.Work
}

// NewSeats makes one seat for every two processors, at least one.
func NewSeats() *Seats { return &Seats{free: max(1, runtime.GOMAXPROCS(0)/2)} }

// Waiting is how many requests wait for a seat, also those that had one before.
func (s *Seats) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting()
}

func (s *Seats) waiting() (n int) {
	for _, f := range s.flows {
		n += len(f.waiting)
	}
	return n
}

// Take waits for a seat, which the caller must Leave. Its error is ErrNoSeat or the cause of
// ctx's end. Nil Seats bound nothing.
func (s *Seats) Take(ctx context.Context, u User) (*Seat, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	i := slices.IndexFunc(s.flows, func(f *flow) bool { return f.user == u.Name })
	if i >= 0 && len(s.flows[i].waiting) >= mostQueued || s.waiting() >= mostWaits {
		s.mu.Unlock()
		return nil, ErrNoSeat
	}
	if i < 0 {
		i = len(s.flows)
		s.flows = append(s.flows, &flow{user: u.Name})
	}
	s.last++
	seat := &Seat{all: s, flow: s.flows[i], number: s.last, ready: make(chan struct{}, 1)}
	seat.queue()
	s.mu.Unlock()
	limited, cancel := context.WithTimeoutCause(ctx, queueWait, ErrNoSeat)
	defer cancel()
	if err := seat.sit(limited); err != nil {
		return nil, err
	}
	return seat, nil
}

// queue inserts t into its user's queue, by number. The caller holds mu.
func (t *Seat) queue() {
	at, _ := slices.BinarySearchFunc(t.flow.waiting, t.number, func(w *Seat, n uint64) int {
		return cmp.Compare(w.number, n)
	})
	t.flow.waiting = slices.Insert(t.flow.waiting, at, t)
	t.all.give()
}

func (t *Seat) sit(ctx context.Context) error {
	select {
	case <-t.ready:
	case <-ctx.Done():
		t.all.mu.Lock()
		defer t.all.mu.Unlock()
		if i := slices.Index(t.flow.waiting, t); i >= 0 {
			t.flow.waiting = slices.Delete(t.flow.waiting, i, i+1)
			t.all.forget(t.flow)
			return context.Cause(ctx)
		}
		<-t.ready // given meanwhile
	}
	t.seated = true
	t.work.Go()
	return nil
}

// forget drops a flow without requests. The caller holds mu.
func (s *Seats) forget(f *flow) {
	if f.begun == 0 && len(f.waiting) == 0 {
		s.flows = slices.DeleteFunc(s.flows, func(x *flow) bool { return x == f })
	}
}

// give hands out the free seats. The caller holds mu.
func (s *Seats) give() {
	for s.free > 0 {
		i := slices.IndexFunc(s.flows, func(f *flow) bool { return f.next() != nil })
		if i < 0 {
			return
		}
		f := s.flows[i]
		t := f.next()
		f.waiting = f.waiting[1:]
		if !t.begun {
			t.begun = true
			f.begun++
		}
		s.free--
		s.pass(f)
		t.ready <- struct{}{}
	}
}

// pass moves f behind the other flows. The caller holds mu.
func (s *Seats) pass(f *flow) {
	i := slices.Index(s.flows, f)
	s.flows = append(slices.Delete(s.flows, i, i+1), f)
}

// next returns the request that gets the flow's next seat, nil for none.
func (f *flow) next() *Seat {
	if len(f.waiting) == 0 || !f.waiting[0].begun && f.begun >= mostBegun {
		return nil
	}
	return f.waiting[0]
}

// Leave ends the request. It may be called more than once, and on a nil Seat.
func (t *Seat) Leave() {
	if t == nil || t.flow == nil {
		return
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	if t.seated {
		t.all.free++
	}
	t.flow.begun--
	t.all.forget(t.flow)
	t.seated, t.flow = false, nil
	t.all.give()
}

// Step must be called between steps of a few microseconds. It pauses after each slice, and then yields the seat if it
// is another request's turn. Its error is the cause of ctx's end. A nil Seat bounds nothing.
func (t *Seat) Step(ctx context.Context) error {
	switch {
	case t == nil || !t.work.Step():
		return nil
	case t.yields():
		return t.Without(ctx, func() error { return nil })
	}
	return context.Cause(ctx)
}

// Rest is Step for callers that hold a lock other seats may need: it pauses without yielding.
func (t *Seat) Rest() {
	if t != nil {
		t.work.Step()
	}
}

// yields reports whether another user's request, or an earlier one, should go first.
func (t *Seat) yields() bool {
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	return slices.ContainsFunc(t.all.flows, func(f *flow) bool {
		n := f.next()
		return n != nil && (f != t.flow || n.number < t.number)
	})
}

// Without runs do, which may wait, such as for a client, without the seat. Its error is do's or
// the cause of ctx's end; after an error the request no longer has a seat.
func (t *Seat) Without(ctx context.Context, do func() error) error {
	if t == nil || !t.seated {
		return do()
	}
	t.all.mu.Lock()
	t.seated = false
	t.all.free++
	t.all.pass(t.flow)
	t.all.give()
	t.all.mu.Unlock()
	err := do()
	t.work.Stop()
	if err != nil {
		return err
	}
	t.all.mu.Lock()
	t.queue()
	t.all.mu.Unlock()
	return t.sit(ctx)
}
