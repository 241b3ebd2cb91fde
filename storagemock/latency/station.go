package latency

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Station admits requests within a Capacity.
type Station struct {
	cap   Capacity
	clock Clock

	mu       sync.Mutex // guards the rest
	inFlight int
	waiting  int       // in the rate's queue and in line together
	line     list.List // of chan struct{}: waiting for a place in flight, oldest first
	next     time.Time // when the next request may enter by rate
}

// NewStation returns a station on that clock.
func NewStation(c Capacity, clock Clock) *Station {
	return &Station{cap: c, clock: clock}
}

// Enter waits for the request's turn. On success the caller must call Leave once.
// It returns ErrQueueFull at once, or ctx's error while waiting.
func (s *Station) Enter(ctx context.Context) error {
	if s.cap.Rate > 0 {
		if err := s.waitForRate(ctx); err != nil {
			return err
		}
	}
	return s.waitForPlace(ctx)
}

func (s *Station) waitForRate(ctx context.Context) error {
	now := s.clock.Now()
	interval := time.Duration(float64(time.Second) / s.cap.Rate)
	s.mu.Lock()
	// After a pause up to Burst requests may enter together.
	if earliest := now.Add(-time.Duration(s.cap.Burst-1) * interval); s.next.Before(earliest) {
		s.next = earliest
	}
	at := s.next
	if at.After(now) {
		if s.waiting >= s.cap.Queue {
			s.mu.Unlock()
			return ErrQueueFull
		}
		s.waiting++
	}
	s.next = at.Add(interval)
	s.mu.Unlock()
	if !at.After(now) {
		return nil
	}
	err := s.clock.SleepUntil(ctx, at)
	s.mu.Lock()
	s.waiting--
	s.mu.Unlock()
	return err
}

func (s *Station) waitForPlace(ctx context.Context) error {
	s.mu.Lock()
	if s.cap.InFlight == 0 || s.inFlight < s.cap.InFlight {
		s.inFlight++
		s.mu.Unlock()
		return nil
	}
	if s.waiting >= s.cap.Queue {
		s.mu.Unlock()
		return ErrQueueFull
	}
	turn := make(chan struct{})
	el := s.line.PushBack(turn)
	s.waiting++
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	select {
	case <-turn: // the place came at the same moment: pass it on
		s.mu.Unlock()
		s.Leave()
	default:
		s.line.Remove(el)
		s.waiting--
		s.mu.Unlock()
	}
	return ctx.Err()
}

// Leave gives the place to the one that waited longest.
func (s *Station) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.line.Front(); first != nil {
		s.waiting--
		close(s.line.Remove(first).(chan struct{}))
		return
	}
	s.inFlight--
}

// Load is the number of requests in service and waiting.
func (s *Station) Load() (inFlight, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight, s.waiting
}
