package pipeline

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/storage"
)

func (l *line) resize(to Queues) {
	l.t.Helper()
	if err := l.Resize(to); err != nil {
		l.t.Errorf("resize to %+v: %v", to, err)
	}
}

// anyQueues draws numbers that are far apart, 0 among them.
func anyQueues(r *rand.Rand) Queues {
	return Queues{
		PodQueueNum:     []int{0, 1, 2, 5, 16, 131}[r.IntN(6)],
		HandlerQueueLen: []int{1, 4, 1000}[r.IntN(3)],
		WriterQueueLen:  []int{1, 8, 1000}[r.IntN(3)],
	}
}

// inFlightAt counts the requests under way at a time, all of which have ended by now.
func (s *store) inFlightAt(at time.Duration) (n int) {
	for _, r := range s.tries(nil) {
		if r.start <= at && at < r.end {
			n++
		}
	}
	return n
}

// longestGap is the longest time between two beginnings of requests within a time.
func (s *store) longestGap(from, to time.Duration) (longest time.Duration) {
	starts := []time.Duration{from, to}
	for _, r := range s.tries(nil) {
		if r.start > from && r.start < to {
			starts = append(starts, r.start)
		}
	}
	slices.Sort(starts)
	for i := 1; i < len(starts); i++ {
		longest = max(longest, starts[i]-starts[i-1])
	}
	return longest
}

// workersOf counts the worker goroutines of a kind's queues and how many there may be.
func (l *line) workersOf(kind string) (started, allowed int) {
	lane := (*l.lanes.Load())[kind]
	lane.mu.Lock()
	defer lane.mu.Unlock()
	for _, q := range lane.parts {
		started, allowed = started+q.started, allowed+q.workers
	}
	return started, allowed
}

// Under a backlog the new number of requests is in flight one latency after a Resize,
// and at no time does nothing begin for longer than a latency.
func TestResizeUnderLoad(t *testing.T) {
	const latency, step = 50 * time.Millisecond, 500 * time.Millisecond
	everyStrategy(t, func(t *testing.T, c Config) {
		c.PodQueueNum, c.MaxInFlight, c.DrainTimeout = 1, 8, time.Hour
		s := newStore(latency)
		l := start(t, c, s, nil)
		const events = 2000
		for i := range events {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		at := 10 * time.Millisecond // requests are under way
		time.Sleep(at)
		for _, n := range []int{16, 2, 30, 5} {
			l.resize(Queues{n, c.HandlerQueueLen, c.WriterQueueLen})
			time.Sleep(step)
			want := n
			if c.Strategy == Single {
				want = 1
			}
			for _, after := range []time.Duration{latency, 2 * latency, 5 * latency} {
				// Adaptive has its own idea of how many are worth it.
				if got := s.inFlightAt(at + after); got != want && c.Strategy != Adaptive {
					t.Errorf("%s after the change to %d: %d requests in flight, want %d", after, n, got, want)
				}
			}
			if gap := s.longestGap(max(0, at-latency), at+step-latency); gap > latency {
				t.Errorf("change to %d: no request began for %s, want at most %s", n, gap, latency)
			}
			if started, allowed := l.workersOf("Pod"); started > allowed {
				t.Errorf("change to %d: %d workers, want at most %d", n, started, allowed)
			}
			at += step
		}
		if st := l.finish(); st.Sent != events {
			t.Errorf("%+v", st)
		}
		checkOrder(t, s)
	})
}

// A key in flight, one that waits behind a backoff, one that is parked and one with
// events in the Writer are what they were after all queues have changed.
func TestResizeKeepsStates(t *testing.T) {
	ordered(t, func(t *testing.T, c Config) {
		c.PodQueueNum, c.HandlerQueueLen = 3, 5
		c.QueueFull, c.DrainTimeout = Block, time.Hour
		s := newStore(20 * time.Millisecond)
		s.fault = func(e Event) error {
			switch {
			case e.Key.Name == "refused" && e.ResourceVersion == 1:
				return &storage.PermanentError{Err: errBroken}
			case e.Key.Name == "lost" && time.Since(s.began) < 30*time.Millisecond:
				return &storage.UnknownOutcomeError{Err: errBroken}
			}
			return nil
		}
		l := start(t, c, s, nil)
		l.enqueue(put("refused", 1))
		time.Sleep(30 * time.Millisecond)
		l.enqueue(put("lost", 1))
		s.mu.Lock()
		s.began = time.Now()
		s.mu.Unlock()
		time.Sleep(30 * time.Millisecond)
		for v := 1; v <= 6; v++ { // more than fit into a queue
			for k := range 10 {
				l.enqueue(put(fmt.Sprint("pod-", k), uint64(v)))
			}
			l.resize(Queues{[]int{16, 2}[v%2], c.HandlerQueueLen, c.WriterQueueLen})
			if st := l.KindStats("Pod"); st.Parked != 1 || !st.Balanced() {
				t.Fatalf("%+v", st)
			}
		}
		time.Sleep(2 * time.Second)
		if n := len(s.tries(func(e Event) bool { return e.Key.Name == "lost" })); n != 1 {
			t.Errorf("%d requests of the fenced key, want none after the first before the fence ends", n-1)
		}
		l.enqueue(put("refused", 2))
		st := l.finish()
		checkOrder(t, s)
		if st.Parked != 0 || s.rows[put("refused", 0).Key].version != 2 || s.rows[put("lost", 0).Key].version != 1 {
			t.Errorf("%+v, rows %v", st, s.rows)
		}
	})
}

// Shorter queues give no room before what they hold is sent, longer ones at once.
func TestResizeLengths(t *testing.T) {
	for _, c := range []Config{config(Keyed), config(Partitioned), config(Single), config(Adaptive)} {
		t.Run(string(c.Strategy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.PodQueueNum, c.MaxInFlight, c.QueueFull, c.DrainTimeout = 1, 1, Block, time.Hour
				c.HandlerQueueLen, c.WriterQueueLen = 100, 100
				const latency = 10 * time.Millisecond
				s := newStore(latency)
				l := start(t, c, s, nil)
				synctest.Wait()
				next := 0
				fill := func(n int) {
					for range n {
						l.enqueue(put(fmt.Sprint("pod-", next), 1))
						next++
					}
				}
				fill(1)
				synctest.Wait() // it is in flight
				fill(200)       // both queues are full
				l.resize(Queues{1, 10, 20})
				began := time.Now()
				fill(1) // finds room once the Writer has become as short as it may be
				if waited := time.Since(began); waited < 160*latency || waited > 190*latency {
					t.Errorf("room came after %s, want it once about 170 events were sent", waited)
				}
				done := make(chan time.Time, 1)
				fill(0)
				go func() {
					fill(1)
					done <- time.Now()
				}()
				synctest.Wait()
				began = time.Now()
				l.resize(Queues{1, 100, 100})
				if got := <-done; !got.Equal(began) {
					t.Errorf("room came %s after the change to longer queues, want at once", got.Sub(began))
				}
				if st := l.finish(); st.Sent != uint64(next) {
					t.Errorf("%+v, want %d sent", st, next)
				}
			})
		})
	}
}

// With fewer workers the keys that have failed may be as many as shut the gate, and with
// more of them it is open again: either way events get through once storage answers.
func TestResizeDuringOutage(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		for _, numbers := range [][2]int{{16, 2}, {2, 16}, {30, 1}, {1, 30}} {
			for _, failing := range []int{1, 2, 5, 40} {
				c.PodQueueNum, c.DrainTimeout = numbers[0], time.Hour
				s := newStore(10 * time.Millisecond)
				s.fault = down
				l := start(t, c, s, nil)
				for k := range failing {
					l.enqueue(put(fmt.Sprint("pod-", k), 1))
				}
				time.Sleep(15 * time.Millisecond)
				l.resize(Queues{numbers[1], c.HandlerQueueLen, c.WriterQueueLen})
				time.Sleep(time.Second)
				for k := range 40 {
					l.enqueue(put(fmt.Sprint("late-", k), 1))
				}
				s.setFault(up)
				time.Sleep(20 * time.Second) // the longest backoffs, twice, and 40 requests
				if st := l.Stats(); st.Sent != uint64(failing+40) {
					t.Errorf("%d failing, %v: %+v", failing, numbers, st)
				}
				l.finish()
			}
		}
	})
}

// The series of a queue end with it.
func TestResizeMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10 * time.Millisecond)
		registry := prometheus.NewPedanticRegistry()
		c := config(Partitioned)
		c.PodQueueNum, c.DrainTimeout = 0, time.Hour
		p, err := New(c, Settings{Sender: s, Registry: registry})
		if err != nil {
			t.Fatal(err)
		}
		l := run(t, p, s)
		events := 0
		for _, n := range []int{0, 1, 3, 2} {
			l.resize(Queues{n, 50 + n, c.WriterQueueLen})
			for i := range 30 {
				l.enqueue(put(fmt.Sprint("pod-", i), uint64(events+1)), put(fmt.Sprint("node-", i), uint64(events+1)).of("Node"))
				events++
			}
			synctest.Wait()
			got := scrape(t, registry)
			want := []string{"Node", "writer_normal_queue"}
			if n == 0 {
				want = append(want, "Pod")
			}
			for i := range n {
				want = append(want, fmt.Sprint("Pod_", i))
			}
			slices.Sort(want)
			for _, name := range []string{metric.QueueDepth, metric.QueueCapacity, metric.QueueHandled} {
				if have := slices.Sorted(maps.Keys(got[name])); !slices.Equal(have, want) {
					t.Errorf("%s of %v, want %v", name, have, want)
				}
			}
			depth := 0.0
			for queue, v := range got[metric.QueueDepth] {
				if strings.HasPrefix(queue, "Pod") {
					depth += v
				}
			}
			if queued := got[metric.EventsQueued]["Pod"] - float64(l.KindStats("Pod").InFlight); depth != queued {
				t.Errorf("%d queues: depths add up to %g, want the %g events that wait", n, depth, queued)
			}
			if v := got[metric.QueueCapacity]["Node"]; v != float64(50+n) {
				t.Errorf("capacity %g, want %d", v, 50+n)
			}
		}
		if st := l.finish(); st.Sent+st.Coalesced != uint64(2*events) { // full queues merge
			t.Errorf("%+v", st)
		}
	})
}

// A change may come before Run, while it drains, and after it.
func TestResizeAtAnyTime(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		c.DrainTimeout = time.Minute
		s := newStore(10 * time.Millisecond)
		p, err := New(c, Settings{Sender: s})
		if err != nil {
			t.Fatal(err)
		}
		fill := func() {
			for i := range 100 {
				if err := p.Enqueue(t.Context(), put(fmt.Sprint("pod-", i), 1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		fill()
		l := &line{Pipeline: p, store: s, t: t, done: make(chan error, 1)}
		l.resize(Queues{2, 10, 10})
		ctx, cancel := context.WithCancel(t.Context())
		l.stop = cancel
		go func() { l.done <- p.Run(ctx) }()
		synctest.Wait()
		cancel()
		for _, n := range []int{16, 1, 7} {
			time.Sleep(15 * time.Millisecond)
			l.resize(Queues{n, 1000, 1000})
		}
		if st := l.finish(); st.Sent != 100 || st.Dropped != 0 {
			t.Errorf("%+v", st)
		}
		l.resize(Queues{3, 1000, 1000})
		l.checkQueues()
	})
}

// The drain's deadline ends workers of queues that are no more, and what they carried is
// counted.
func TestResizeBeforeDeadline(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		c.DrainTimeout = 2 * time.Second
		s := newStore(time.Hour)
		l := start(t, c, s, nil)
		const events = 200
		for i := range events {
			l.enqueue(put(fmt.Sprint("pod-", i), 1))
		}
		synctest.Wait()
		l.resize(Queues{1, 10, 10})
		began := time.Now()
		if st := l.finish(); st.Dropped != events {
			t.Errorf("%+v", st)
		}
		if took := time.Since(began); took != c.DrainTimeout {
			t.Errorf("it took %s, want %s", took, c.DrainTimeout)
		}
	})
}
