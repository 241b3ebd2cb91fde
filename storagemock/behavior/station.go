package behavior

import (
	"container/heap"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Stations are the queues of one storage instance, one for each rule. They know a request's whole course as it arrives,
// so that a server in real time and a simulation in virtual time share them. They are safe for concurrent use.
type Stations struct {
	model *Model

	mu       sync.Mutex // guards what follows
	stations []Rule[*station]
	last     time.Duration // arrival
}

// station is one queue. Both of its waits are in the order of arrival, so that the request that is next knows when its
// turn comes.
type station struct {
	places  int
	queue   int
	limiter *rate.Limiter
	leaving times   // when the last request of each place leaves; as long as places were used
	turns   []int64 // when those that wait enter service, ascending
}

// NewStations returns idle queues.
func NewStations(m *Model, capacities []Rule[Capacity]) *Stations {
	v := &Stations{model: m}
	for _, c := range append(capacities, Rule[Capacity]{Value: Capacity{Queue: DefaultQueue}}) {
		s := &station{places: c.Value.InFlight, queue: c.Value.Queue}
		if c.Value.Rate > 0 {
			s.limiter = rate.NewLimiter(rate.Limit(c.Value.Rate), 1)
		}
		v.stations = append(v.stations, Rule[*station]{c.Match, s})
	}
	return v
}

// Serve returns how long a request takes that arrives now, from its arrival to its answer: waiting, latency and what
// more says, which is asked unless the error is ErrQueueFull. An arrival before the last one counts as simultaneous
// with it.
func (v *Stations) Serve(method, kind, name string, now time.Duration,
	more func() time.Duration) (time.Duration, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = max(v.last, now)
	s := first(v.stations, method, kind)
	turn, err := s.enter(int64(v.last))
	if err != nil {
		return 0, err
	}
	end := turn + int64(v.model.Sample(method, kind, name, at(turn))+more())
	if s.places > 0 {
		s.leave(end)
	}
	return time.Duration(end) - now, nil
}

// Waiting is the number of requests whose turn comes later than now.
func (v *Stations) Waiting(now time.Duration) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.stations {
		for _, turn := range r.Value.turns {
			if turn > int64(now) {
				n++
			}
		}
	}
	return n
}

func at(ns int64) time.Time { return time.Unix(0, ns) }

// enter returns when a request that arrives now enters service.
func (s *station) enter(now int64) (int64, error) {
	turn := now
	var turns *rate.Reservation
	if s.limiter != nil {
		turns = s.limiter.ReserveN(at(now), 1)
		turn += int64(turns.DelayFrom(at(now)))
	}
	n := 0
	for n < len(s.turns) && s.turns[n] <= now {
		n++
	}
	s.turns = s.turns[n:]
	if s.full() {
		turn = max(turn, s.leaving[0])
	}
	if turn > now {
		if len(s.turns) >= s.queue {
			if turns != nil {
				turns.CancelAt(at(now))
			}
			return 0, ErrQueueFull
		}
		s.turns = append(s.turns, turn)
	}
	return turn, nil
}

func (s *station) full() bool { return s.places > 0 && len(s.leaving) >= s.places }

// leave notes the end of the request whose turn came last: it has a new place, or that of the one that leaves first.
func (s *station) leave(end int64) {
	if !s.full() {
		heap.Push(&s.leaving, end)
		return
	}
	s.leaving[0] = end
	heap.Fix(&s.leaving, 0)
}

// times are a min-heap.
type times []int64

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(int64)) }
func (t *times) Pop() any          { panic("a place stays") }
