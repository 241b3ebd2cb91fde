package behavior

import (
	"time"

	"golang.org/x/time/rate"
)

// Virtual is one storage instance in virtual time: the same rules, distributions and
// capacity as a server's, where a request's whole course is known as it arrives. It is not
// safe for concurrent use.
type Virtual struct {
	model    *Model
	stations []Rule[*virtualStation]
	overhead time.Duration
}

// virtualStation is a Station in virtual time. Both of its waits are in the order of
// arrival, so that the request that is next knows when its turn comes.
type virtualStation struct {
	places  int
	queue   int
	limiter *rate.Limiter
	leaving []int64 // a min-heap: when the last request of each place leaves; as long as places were used
	turns   []int64 // when those that wait enter service, ascending
}

// NewVirtual returns an idle storage. The overhead is added to each request's latency.
func NewVirtual(m *Model, capacities []Rule[Capacity], overhead time.Duration) *Virtual {
	v := &Virtual{model: m, overhead: overhead}
	for _, c := range append(capacities, Rule[Capacity]{Value: Capacity{Queue: DefaultQueue}}) {
		s := &virtualStation{places: c.Value.InFlight, queue: c.Value.Queue}
		if c.Value.Rate > 0 {
			s.limiter = rate.NewLimiter(rate.Limit(c.Value.Rate), 1)
		}
		v.stations = append(v.stations, Rule[*virtualStation]{c.Match, s})
	}
	return v
}

// Serve returns how long a request takes that arrives now, from its arrival to its answer:
// waiting, latency and overhead. Calls are in the order of time. The error is ErrQueueFull.
func (v *Virtual) Serve(method, kind, name string, now time.Duration) (time.Duration, error) {
	s := first(v.stations, method, kind)
	turn, err := s.enter(int64(now))
	if err != nil {
		return v.overhead, err
	}
	end := turn + int64(v.model.Sample(method, kind, name, at(turn))+v.overhead)
	if s.places > 0 {
		s.leave(end)
	}
	return time.Duration(end) - now, nil
}

func at(ns int64) time.Time { return time.Unix(0, ns) }

// enter returns when a request that arrives now enters service.
func (s *virtualStation) enter(now int64) (int64, error) {
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

func (s *virtualStation) full() bool { return s.places > 0 && len(s.leaving) >= s.places }

// leave notes the end of the request whose turn came last: it has a new place, or that of the
// one that leaves first.
func (s *virtualStation) leave(end int64) {
	h := s.leaving
	if !s.full() {
		i := len(h)
		h = append(h, end)
		for ; i > 0 && h[(i-1)/2] > end; i = (i - 1) / 2 {
			h[i] = h[(i-1)/2]
		}
		h[i] = end
		s.leaving = h
		return
	}
	i := 0
	for c := 1; c < len(h); c = 2*i + 1 {
		if c+1 < len(h) && h[c+1] < h[c] {
			c++
		}
		if h[c] >= end {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = end
}
