package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/storage"
)

// feed keeps a pipeline busy with new keys for a while of virtual time and returns the
// requests per second that were answered in its last third.
func feed(l *line, d time.Duration) float64 {
	began, counted, from := time.Now(), uint64(0), time.Now()
	for time.Since(began) < d {
		for n := l.Stats().Queued; n < 2000; n++ {
			l.enqueue(put(fmt.Sprint("pod-", l.lane("Pod").received), 1))
		}
		time.Sleep(200 * time.Millisecond)
		if counted == 0 && time.Since(began) > d*2/3 {
			counted, from = l.Stats().Sent, time.Now()
		}
	}
	return float64(l.Stats().Sent-counted) / time.Since(from).Seconds()
}

func (l *line) limit() int {
	lane := (*l.lanes.Load())["Pod"]
	lane.mu.Lock()
	defer lane.mu.Unlock()
	return lane.share.limit
}

// TestAdaptiveFindsTheKnee gives it storages that serve so many requests at a time and
// let the others wait; nobody tells it how many.
func TestAdaptiveFindsTheKnee(t *testing.T) {
	const base = 87 * time.Millisecond
	for _, capacity := range []int{1, 10, 60} {
		for _, spread := range []float64{0.1, 0.5} { // of the logarithm of the latency
			t.Run(fmt.Sprintf("capacity=%d/spread=%v", capacity, spread), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(capacity), 1))
					s := newStore(0)
					s.latency = func(Event) time.Duration {
						crowd := max(1, float64(s.now)/float64(capacity))
						return time.Duration(float64(base) * crowd * math.Exp(spread*r.NormFloat64()-spread*spread/2))
					}
					c := config(Adaptive)
					c.DrainTimeout = time.Hour
					l := start(t, c, s, nil)
					rate := feed(l, time.Minute)
					limit := l.limit()
					most := float64(capacity) / base.Seconds()
					if rate < 0.85*most {
						t.Errorf("%.0f requests/s of %.0f, with %d in flight", rate, most, limit)
					}
					if limit > 2*capacity+4 {
						t.Errorf("%d in flight: %d are enough", limit, capacity)
					}
					l.finish()
				})
			})
		}
	}
}

func TestAdaptiveFollowsStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		capacity := 100
		s := newStore(0)
		s.latency = func(Event) time.Duration {
			return time.Duration(float64(50*time.Millisecond) * max(1, float64(s.now)/float64(capacity)))
		}
		c := config(Adaptive)
		c.DrainTimeout = time.Hour
		l := start(t, c, s, nil)
		feed(l, 20*time.Second)
		if n := l.limit(); n < 75 || n > 200 {
			t.Errorf("%d in flight into a storage that serves 100", n)
		}
		s.mu.Lock()
		capacity = 20
		s.mu.Unlock()
		feed(l, 2*time.Minute)
		if n := l.limit(); n < 15 || n > 45 {
			t.Errorf("%d in flight into a storage that now serves 20", n)
		}
		l.finish()
	})
}

func TestAdaptiveDoesNotGrowWithoutNeedOrAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10 * time.Millisecond)
		l := start(t, config(Adaptive), s, nil)
		for i := range 2000 { // never more than one waits
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
			time.Sleep(5 * time.Millisecond)
		}
		light := l.limit()
		if light > firstLimit {
			t.Errorf("limit %d under light load, want at most %d", light, firstLimit)
		}
		s.setFault(down)
		for i := range 2000 {
			l.enqueue(put(fmt.Sprint("pod-", i), 2))
		}
		time.Sleep(time.Minute)
		if n := l.limit(); n != light {
			t.Errorf("limit %d while storage is down, want %d as before", n, light)
		}
		s.setFault(func(Event) error {
			return &storage.ThrottledError{RetryAfter: time.Second, Err: errBroken}
		})
		time.Sleep(time.Minute)
		if n := l.limit(); n != leastLimit {
			t.Errorf("limit %d while storage throttles: want %d", n, leastLimit)
		}
		s.setFault(up)
		time.Sleep(time.Minute)
		l.finish()
	})
}

// A kind begins with one request; one that is busy has firstLimit after three latencies.
func TestAdaptiveBeginsWithOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency = 80 * time.Millisecond
		s := newStore(latency)
		c := config(Adaptive)
		c.DrainTimeout = time.Hour
		l := start(t, c, s, nil)
		for i := range 200 {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		l.finish()
		for i, want := range []int{1, 2, 4, 8} {
			if got := s.inFlightAt(time.Duration(i)*latency + latency/2); got != want {
				t.Errorf("%d in flight after %d latencies, want %d", got, i, want)
			}
		}
	})
}

// MaxInFlight bounds all kinds together, and none of them waits for another.
func TestAdaptiveBoundOverAllKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency, kinds, most = 50 * time.Millisecond, 10, 40
		s := newStore(latency)
		c := config(Adaptive)
		c.MaxInFlight, c.DrainTimeout = most, time.Hour
		l := start(t, c, s, nil)
		for i := range kinds * 2000 {
			e := put(fmt.Sprint("o-", i), 1)
			e.Key.Kind = fmt.Sprint("Kind", i%kinds)
			l.enqueue(e)
		}
		time.Sleep(5 * time.Second)
		late := put("late", 1)
		late.Key.Kind = "Late"
		began := time.Since(s.began)
		l.enqueue(late)
		time.Sleep(latency + time.Millisecond)
		if r := s.tries(func(e Event) bool { return e.Key.Kind == "Late" }); len(r) != 1 || r[0].start != began {
			t.Errorf("a change of another kind was sent %v, want at once", r)
		}
		l.finish()
		if s.max > most+kinds+1 || s.max < most {
			t.Errorf("%d in flight, want %d and at most one more of each kind", s.max, most)
		}
	})
}

// podQueueNum bounds each kind, and may change while the pipeline runs.
func TestAdaptiveWithinPodQueueNum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const latency = 50 * time.Millisecond
		s := newStore(latency)
		c := config(Adaptive)
		c.PodQueueNum, c.DrainTimeout = 20, time.Hour
		l := start(t, c, s, nil)
		most := func() int { // since the last call
			s.mu.Lock()
			defer s.mu.Unlock()
			n := s.max
			s.max = s.now
			return n
		}
		feed(l, 30*time.Second)
		if n := most(); n != 20 {
			t.Errorf("%d in flight, want 20", n)
		}
		for _, to := range []int{5, 60, 1} {
			l.resize(Queues{to, c.HandlerQueueLen, c.WriterQueueLen})
			time.Sleep(2 * latency)
			most()
			feed(l, 30*time.Second)
			if n := most(); n > to || n < to*3/4 {
				t.Errorf("%d in flight after a change to %d", n, to)
			}
		}
		l.finish()
	})
}
