package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// TestSpare: a backlog that is handed over where there is room to spare keeps storage busy,
// and what the watch delivers meanwhile hardly waits.
func TestSpare(t *testing.T) {
	const latency = 87 * time.Millisecond
	everyStrategy(t, func(t *testing.T, c Config) {
		c.PodQueueNum, c.MaxInFlight = 30, 30
		n := 30
		if c.Strategy == Single {
			n = 1
		}
		backlog := 200 * n
		s := newStore(latency)
		l := start(t, c, s, nil)
		done := make(chan time.Duration)
		go func() {
			begin := time.Now()
			for i := range backlog {
				if err := l.Spare(t.Context(), "Pod"); err != nil {
					t.Error(err)
				}
				l.enqueue(put(fmt.Sprint("backlog-", i), 1))
			}
			done <- time.Since(begin)
		}()
		time.Sleep(10 * time.Second)
		began := time.Since(s.began)
		l.enqueue(put("live", 1))
		took := <-done
		time.Sleep(10 * time.Second)
		l.finish()
		if least := time.Duration(backlog/n) * latency; took > least*10/8 {
			t.Errorf("the backlog took %s, more than at 80 %% of the rate that makes %s", took, least)
		}
		live := s.tries(func(e Event) bool { return e.Key.Name == "live" })
		most := 2 * latency
		if shape := shapeOf(c, "Pod"); shape.partitions > 1 { // its queue may be one of the longer ones
			most = 8 * latency
		}
		if len(live) != 1 {
			t.Fatalf("%d requests for the live change", len(live))
		}
		if took := live[0].end - began; took > most {
			t.Errorf("the live change was stored after %s, want %s at most", took, most)
		}
	})
}

// TestSpareBelowSaturation: a backlog gets only what live changes leave, however little.
func TestSpareBelowSaturation(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		const latency, live, backlog = 100 * time.Millisecond, 18000, 1500
		every := latency * 10 / 9 / 30 // 90 % of what storage takes
		if c.PodQueueNum, c.MaxInFlight = 30, 30; c.Strategy == Single {
			every *= 30
		}
		s := newStore(latency)
		l := start(t, c, s, nil)
		began := map[object.Key]time.Duration{}
		go func() {
			time.Sleep(5 * time.Second)
			for i := range backlog {
				if err := l.Spare(t.Context(), "Pod"); err != nil {
					t.Error(err)
				}
				l.enqueue(put(fmt.Sprint("backlog-", i), 1))
			}
		}()
		for i := range live {
			e := put(fmt.Sprint("live-", i), 1)
			began[e.Key] = time.Since(s.began)
			l.enqueue(e)
			time.Sleep(every)
		}
		time.Sleep(10 * time.Second)
		l.finish()
		var longest time.Duration
		for _, r := range s.tries(nil) {
			if at, ok := began[r.ev.Key]; ok {
				longest = max(longest, r.end-at)
			}
		}
		if sent := len(s.sent()); sent != live+backlog || longest > 15*latency {
			t.Errorf("%d events sent; a live change was stored after %s", sent, longest)
		}
	})
}

// overload is one way in which live changes outrun storage.
type overload struct {
	name    string
	objects int // that change in turn
	queue   int // its length
	full    QueueFull
}

// TestSpareUnderLoad: where the watch alone delivers more than storage takes, a backlog still gets its share, also
// where changes are merged; under Drop, which would lose it, it waits.
func TestSpareUnderLoad(t *testing.T) {
	everyStrategy(t, func(t *testing.T, c Config) {
		for _, o := range []overload{
			{"ever more waits", 1e6, 1e5, Coalesce}, {"merged", 400, 1e5, Coalesce},
			{"blocked", 1e6, 50, Block}, {"dropped", 1e6, 50, Drop},
		} {
			if o.name == "merged" && !shapeOf(c, "Pod").merge {
				continue
			}
			c.QueueFull, c.QueueFullTimeout, c.HandlerQueueLen, c.WriterQueueLen = o.full, time.Second, o.queue, o.queue
			c.PodQueueNum, c.MaxInFlight = 30, 30
			l := start(t, c, newStore(100*time.Millisecond), nil)
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
			order := make(chan struct{}, 1) // one at a time, as the collector does
			enqueue := func(e Event) error {
				order <- struct{}{}
				defer func() { <-order }()
				return l.Enqueue(ctx, e)
			}
			var live sync.WaitGroup
			live.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					_ = enqueue(put(fmt.Sprint("live-", i%o.objects), uint64(i)))
					time.Sleep(time.Second / 600)
				}
			})
			time.Sleep(10 * time.Second)
			before, handed := l.Stats().Sent, uint64(0)
			for l.Spare(ctx, "Pod") == nil && enqueue(put(fmt.Sprint("backlog-", handed), 1)) == nil {
				handed++
			}
			share := (l.Stats().Sent - before) / 4
			if o.full == Drop {
				share = 0
			}
			if least := share / 4; handed < least || handed > share+1 {
				t.Errorf("%s: %d events of the backlog handed over, want %d to %d", o.name, handed, least, share)
			}
			live.Wait()
			cancel()
			l.stop()
			<-l.done
		}
	})
}

// TestSpareEnds: with its context, and with the pipeline.
func TestSpareEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(time.Hour)
		c := config(Single)
		l := start(t, c, s, nil)
		l.enqueue(put("a", 1), put("b", 1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Spare(ctx, "Pod"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Spare returned %v", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- l.Spare(t.Context(), "Pod") }()
		synctest.Wait()
		l.finish()
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("Spare returned %v", err)
		}
	})
}

// TestSpareDuringAnOutage: what failed waits for its backoff and takes no room for ever,
// but a storage that is down is not handed a whole backlog.
func TestSpareDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(10 * time.Millisecond)
		s.fault = func(Event) error { return &storage.TransientError{Err: errors.New("down")} }
		l := start(t, config(Keyed), s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		handed := 0
		for l.Spare(ctx, "Pod") == nil {
			l.enqueue(put(fmt.Sprint("pod-", handed), 1))
			handed++
		}
		if handed > 1000 {
			t.Errorf("%d events handed over in ten minutes to a storage that is down", handed)
		}
		l.finish()
	})
}

// TestTrace: an object is touched from its event on, also when storage has it since.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(time.Second)
		l := start(t, config(Keyed), s, nil)
		before, after, never := put("before", 1), put("after", 1), put("never", 1)
		l.enqueue(before)
		synctest.Wait()
		touched, end := l.Trace("Pod")
		l.enqueue(after)
		for range 2 {
			if !touched(before.Key) || !touched(after.Key) || touched(never.Key) {
				t.Errorf("touched: before %v, after %v, never %v", touched(before.Key), touched(after.Key), touched(never.Key))
			}
			time.Sleep(2 * time.Second)
		}
		end()
		touched, end = l.Trace("Pod")
		if touched(before.Key) {
			t.Error("touched in a trace that began afterwards")
		}
		end()
		l.finish()
	})
}

// TestSpareForSeveral: where one finds room and then has nothing to hand over, the others do
// not wait for a settled event that never comes.
func TestSpareForSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, config(Adaptive), newStore(time.Second), nil)
		l.enqueue(put("a", 1), put("b", 1))
		const several = 16
		var returned atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		for range several {
			go func() {
				if l.Spare(ctx, "Pod") == nil {
					returned.Add(1)
				}
			}()
		}
		time.Sleep(time.Minute)
		if n := returned.Load(); n != several {
			t.Errorf("%d of %d know that nothing waits any more", n, several)
		}
		cancel()
		l.finish()
	})
}
