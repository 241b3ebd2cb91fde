package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// small is a configuration whose queues fill at once.
func small(s Strategy, full QueueFull) Config {
	c := config(s)
	c.QueueFull = full
	c.PodQueueNum = 2
	c.HandlerQueueLen = 4
	c.WriterQueueLen = 8
	c.QueueFullTimeout = 300 * time.Millisecond
	return c
}

func everyPolicy(t *testing.T, test func(t *testing.T, c Config)) {
	for _, full := range QueueFulls() {
		t.Run(string(full), func(t *testing.T) {
			everyStrategy(t, func(t *testing.T, c Config) { test(t, small(c.Strategy, full)) })
		})
	}
}

// TestOverflow keeps the queues full and looks at what each policy promises: who waits,
// who is lost, how much is kept.
func TestOverflow(t *testing.T) {
	everyPolicy(t, func(t *testing.T, c Config) {
		c.DrainTimeout = time.Hour
		s := newStore(200 * time.Millisecond)
		l := start(t, c, s, nil)
		const keys, events = 100, 1000
		final := map[string]uint64{}
		bound := 0
		for i := range events {
			name := fmt.Sprint("pod-", (i*7)%keys)
			final[name] = uint64(i + 1)
			l.enqueue(put(name, uint64(i+1)))
			bound = max(bound, l.Stats().Queued)
		}
		fed := time.Since(s.began)
		st := l.finish()
		shape := shapeOf(c, "Pod")
		places := shape.partitions*(c.HandlerQueueLen+2*shape.workers) + c.WriterQueueLen + 1
		switch c.QueueFull {
		case Coalesce:
			if fed != 0 {
				t.Errorf("enqueueing took %s: want no wait", fed)
			}
			if limit := keys + places; bound > limit {
				t.Errorf("%d events were queued: limit %d", bound, limit)
			}
		case Block:
			if fed == 0 {
				t.Error("enqueueing never waited")
			}
			if bound > places {
				t.Errorf("%d events were queued: limit %d", bound, places)
			}
		case Drop:
			if bound > places {
				t.Errorf("%d events were queued: limit %d", bound, places)
			}
			if st.Dropped == 0 && !shape.merge {
				t.Error("nothing was dropped")
			}
		}
		if c.QueueFull == Drop {
			if discarded := l.discards(); st.Dropped != discarded {
				t.Errorf("%d events dropped, %d discards counted", st.Dropped, discarded)
			}
			return
		}
		if st.Dropped != 0 {
			t.Errorf("%d events dropped", st.Dropped)
		}
		if c.Strategy == Unordered {
			return
		}
		checkOrder(t, s)
		for name, v := range final {
			if got := s.rows[put(name, 0).Key].version; got != v {
				t.Errorf("%s ends at %d: want %d", name, got, v)
			}
		}
	})
}

func (l *line) discards() uint64 {
	n := l.writer.discards
	for _, lane := range *l.lanes.Load() {
		for _, q := range lane.parts {
			n += q.discards
		}
	}
	return n
}

// TestKindsAreIsolated fills everything that Pods can fill; Nodes must not notice.
func TestKindsAreIsolated(t *testing.T) {
	everyPolicy(t, func(t *testing.T, c Config) {
		s := newStore(0)
		s.latency = func(e Event) time.Duration {
			if e.Key.Kind == "Pod" {
				return time.Hour
			}
			return 5 * time.Millisecond
		}
		c.DrainTimeout = 0
		l := start(t, c, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		fed := make(chan struct{})
		go func() {
			defer close(fed)
			for i := range 500 {
				if l.Enqueue(ctx, put(fmt.Sprint("pod-", i), 1)) != nil {
					return
				}
			}
		}()
		synctest.Wait()
		time.Sleep(10 * time.Second)
		for i := range 50 {
			began := time.Now()
			l.enqueue(put(fmt.Sprint("node-", i%5), uint64(i+1)).of("Node"))
			for l.KindStats("Node").Queued > 0 {
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(began); took > 10*time.Millisecond {
				t.Fatalf("a Node took %s beside stuck Pods", took)
			}
		}
		if c.QueueFull != Drop {
			if full := l.fullSeconds(); full < 10 {
				t.Errorf("the Writer was full for %.1f s: want all the time", full)
			}
		}
		cancel()
		<-fed
		l.finish()
	})
}

func (l *line) fullSeconds() float64 {
	w := &l.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	w.account(l.Pipeline.now())
	return float64(w.full) / 1e9
}

func TestBlockedEnqueueEnds(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		c = small(c.Strategy, Block)
		c.DrainTimeout = 0
		s := newStore(time.Hour)
		l := start(t, c, s, nil)
		fill := func(ctx context.Context) error {
			for i := 0; ; i++ {
				if err := l.Enqueue(ctx, put(fmt.Sprint("pod-", i), 1)); err != nil {
					return err
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := fill(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("enqueue with an ended context: %v", err)
		}
		result := make(chan error, 1)
		go func() { result <- fill(t.Context()) }()
		synctest.Wait()
		l.stop()
		synctest.Wait()
		st := l.finish()
		if err := <-result; !errors.Is(err, ErrClosed) {
			t.Errorf("enqueue at shutdown: %v", err)
		}
		if st.Dropped != st.Received {
			t.Errorf("%+v", st)
		}
	})
}
