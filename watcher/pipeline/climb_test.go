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
	return lane.climb.limit
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
		if n := l.limit(); n != firstLimit {
			t.Errorf("limit %d under light load: want it untouched", n)
		}
		s.setFault(down)
		for i := range 2000 {
			l.enqueue(put(fmt.Sprint("pod-", i), 2))
		}
		time.Sleep(time.Minute)
		if n := l.limit(); n != firstLimit {
			t.Errorf("limit %d while storage is down: want it untouched", n)
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
