package behavior

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// Station admits requests within a Capacity, in the order of their arrival.
type Station struct {
	queue   int64
	places  *semaphore.Weighted // nil without a bound on requests in service
	limiter *rate.Limiter       // nil without a rate
	// mu is held from a reservation until it is kept or cancelled: only the latest one
	// can be cancelled without a loss.
	mu sync.Mutex

	inFlight atomic.Int64
	waiting  atomic.Int64 // for the rate or for a place
}

// NewStation returns an empty station.
func NewStation(c Capacity) *Station {
	s := &Station{queue: int64(c.Queue)}
	if c.Rate > 0 {
		s.limiter = rate.NewLimiter(rate.Limit(c.Rate), 1)
	}
	if c.InFlight > 0 {
		s.places = semaphore.NewWeighted(int64(c.InFlight))
	}
	return s
}

// Enter waits for the request's turn, and reports whether it had to. On success the caller must
// call Leave once. It returns ErrQueueFull at once, or ctx's error while waiting.
func (s *Station) Enter(ctx context.Context) (waited bool, err error) {
	if s.limiter != nil {
		if waited, err = s.waitForRate(ctx); err != nil {
			return waited, err
		}
	}
	if s.places != nil && !s.places.TryAcquire(1) {
		if err := s.join(); err != nil {
			return waited, err
		}
		defer s.waiting.Add(-1)
		if waited, err = true, s.places.Acquire(ctx, 1); err != nil {
			return waited, err
		}
	}
	s.inFlight.Add(1)
	return waited, nil
}

func (s *Station) waitForRate(ctx context.Context) (waited bool, err error) {
	delay, err := s.reserve()
	if delay == 0 || err != nil {
		return false, err
	}
	defer s.waiting.Add(-1)
	return true, lifecycle.Pause(ctx, delay)
}

// reserve returns how long the next request has to wait for the rate. If that is not 0,
// the request has joined the queue.
func (s *Station) reserve() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.limiter.Reserve()
	delay := turn.Delay()
	if delay == 0 {
		return 0, nil
	}
	err := s.join()
	if err != nil {
		turn.Cancel()
	}
	return delay, err
}

// join counts a request as waiting, unless the queue is full.
func (s *Station) join() error {
	if s.waiting.Add(1) > s.queue {
		s.waiting.Add(-1)
		return ErrQueueFull
	}
	return nil
}

// Leave gives the place to the one that waited longest.
func (s *Station) Leave() {
	s.inFlight.Add(-1)
	if s.places != nil {
		s.places.Release(1)
	}
}

// Load is the number of requests in service and waiting.
func (s *Station) Load() (inFlight, waiting int) {
	return int(s.inFlight.Load()), int(s.waiting.Load())
}

// Stations are the queues of one storage instance: one for each rule, and one without
// limit for what no rule matches.
type Stations []Rule[*Station]

// NewStations returns the queues of those rules, all empty.
func NewStations(capacities []Rule[Capacity]) Stations {
	var s Stations
	for _, c := range capacities {
		s = append(s, Rule[*Station]{c.Match, NewStation(c.Value)})
	}
	return append(s, Rule[*Station]{Value: NewStation(Capacity{})})
}

// For is the queue of a request.
func (s Stations) For(method, kind string) *Station { return first(s, method, kind) }

// Load is the number of requests in service and waiting, in all queues.
func (s Stations) Load() (inFlight, waiting int) {
	for _, st := range s {
		a, b := st.Value.Load()
		inFlight, waiting = inFlight+a, waiting+b
	}
	return inFlight, waiting
}
