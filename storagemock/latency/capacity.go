package latency

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/expr"
)

// Capacity bounds what the storage serves at once and per second. Requests beyond
// it wait in one queue in the order of their arrival, so that the latency a
// client sees rises under overload.
type Capacity struct {
	InFlight int     // requests in service at once; 0 is unlimited
	Rate     float64 // requests per second that enter service; 0 is unlimited
	Burst    int     // requests that may enter at once after a pause; at least 1
	Queue    int     // requests that may wait; one more is refused
}

// DefaultQueue is the queue's bound when none is given. A waiting request holds a
// connection and a goroutine, about 20 KiB together.
const DefaultQueue = 65536

// ErrQueueFull is the answer to a request that finds Queue others waiting.
var ErrQueueFull = errors.New("the storage's queue is full")

// ParseCapacity reads inflight=300,rate=50/s,burst=1,queue=1000. Empty text, or
// unlimited, is no limit.
func ParseCapacity(text string) (Capacity, error) {
	c := Capacity{Burst: 1, Queue: DefaultQueue}
	if text = strings.TrimSpace(text); text == "" || text == "unlimited" {
		return c, nil
	}
	// The expression grammar wants a call; the name stands for the capacity itself.
	in := "capacity(" + text + ")"
	e, err := expr.Parse(in)
	if err != nil {
		return c, fmt.Errorf("capacity %q: want inflight=300, rate=50/s, burst=1, queue=1000, separated by commas", text)
	}
	r := expr.Read(in, e)
	c.InFlight = r.Int("inflight", 1, 0)
	c.Burst = r.Int("burst", 1, 1)
	c.Queue = r.Int("queue", 0, DefaultQueue)
	if s := r.Text("rate", ""); s != "" {
		if c.Rate, err = parseRate(s); err != nil {
			r.Fail("rate", "rate=%s: %v", s, err)
		}
	}
	if c.Burst > 1 && c.Rate == 0 {
		r.Fail("burst", "burst has a meaning only together with rate")
	}
	if err := r.Err("inflight", "rate", "burst", "queue"); err != nil {
		var ee *expr.Error
		if errors.As(err, &ee) {
			return c, fmt.Errorf("capacity %q: %s", text, ee.Msg)
		}
		return c, err
	}
	return c, nil
}

func parseRate(s string) (float64, error) {
	num, unit, ok := strings.Cut(s, "/")
	per := map[string]float64{"s": 1, "m": 60, "min": 60}[strings.TrimSpace(unit)]
	var f float64
	if _, err := fmt.Sscanf(strings.TrimSpace(num)+" ", "%g ", &f); err != nil || !ok || per == 0 {
		return 0, fmt.Errorf("not a rate; write 50/s or 3000/min")
	}
	if f /= per; !(f >= 0.001 && f <= 1e6) {
		return 0, fmt.Errorf("want 0.001/s to 1000000/s")
	}
	return f, nil
}

// String is the capacity in its grammar.
func (c Capacity) String() string {
	var parts []string
	if c.InFlight > 0 {
		parts = append(parts, fmt.Sprintf("inflight=%d", c.InFlight))
	}
	if c.Rate > 0 {
		parts = append(parts, "rate="+num(c.Rate)+"/s")
	}
	if c.Burst > 1 {
		parts = append(parts, fmt.Sprintf("burst=%d", c.Burst))
	}
	if len(parts) == 0 {
		return "unlimited"
	}
	if c.Queue != DefaultQueue {
		parts = append(parts, fmt.Sprintf("queue=%d", c.Queue))
	}
	return strings.Join(parts, ",")
}

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

// Limit is the highest rate the capacity allows at a mean service time, in
// requests per second, by Little's law; infinite when nothing limits it.
func (c Capacity) Limit(mean time.Duration) float64 {
	limit := math.Inf(1)
	if c.InFlight > 0 && mean > 0 {
		limit = float64(c.InFlight) / mean.Seconds()
	}
	if c.Rate > 0 {
		limit = min(limit, c.Rate)
	}
	return limit
}

// Capacity is what the station was made with.
func (s *Station) Capacity() Capacity { return s.cap }
