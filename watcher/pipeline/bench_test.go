package pipeline

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// nothing is a storage that answers at once.
type nothing struct{ n atomic.Int64 }

func (s *nothing) Send(context.Context, Event) error { s.n.Add(1); return nil }

// BenchmarkThrough measures the whole path of an event through the pipeline, Enqueue
// to settlement, with a storage that costs nothing. Keys are many, as in a sync.
func BenchmarkThrough(b *testing.B) {
	for _, strategy := range Strategies() {
		b.Run(string(strategy), func(b *testing.B) {
			c := config(strategy)
			c.DrainTimeout = time.Minute
			p, err := New(c, Settings{Sender: &nothing{}})
			if err != nil {
				b.Fatal(err)
			}
			events := make([]Event, 10_000)
			for i := range events {
				events[i] = put(fmt.Sprint("pod-", i), 1)
			}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error)
			go func() { done <- p.Run(ctx) }()
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				e := events[i%len(events)]
				e.ResourceVersion = uint64(i)
				_ = p.Enqueue(ctx, e)
			}
			cancel()
			<-done
			b.StopTimer()
			if st := p.Stats(); st.Sent+st.Coalesced != uint64(b.N) {
				b.Fatalf("%+v", st)
			}
		})
	}
}

// BenchmarkQueue measures the engine without goroutines: one event in, one out.
func BenchmarkQueue(b *testing.B) {
	for _, backlog := range []int{0, 100_000} {
		for _, strategy := range Strategies() {
			b.Run(fmt.Sprintf("backlog=%d/%s", backlog, strategy), func(b *testing.B) {
				c := config(strategy)
				c.HandlerQueueLen = 1 << 20
				p, err := New(c, Settings{Sender: &nothing{}})
				if err != nil {
					b.Fatal(err)
				}
				l := p.lane("Pod")
				events := make([]Event, backlog+10_000)
				for i := range events {
					events[i] = put(fmt.Sprint("pod-", i), 1)
				}
				for _, e := range events[:backlog] {
					_ = p.Enqueue(b.Context(), e)
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					e := events[(backlog+i)%len(events)]
					_ = p.Enqueue(b.Context(), e)
					q := l.parts[PartitionOf(e.Key.Namespace, e.Key.Name, len(l.parts))]
					s, probe := l.take(q, p.now())
					l.finish(s, probe, nil, p.now())
				}
			})
		}
	}
}

// BenchmarkWaitingEvent reports the memory of one waiting event.
func BenchmarkWaitingEvent(b *testing.B) {
	const events = 100_000
	list := make([]Event, events)
	for i := range list {
		list[i] = put(fmt.Sprint("pod-", i), 1)
	}
	for b.Loop() {
		p, err := New(config(Keyed), Settings{Sender: &nothing{}})
		if err != nil {
			b.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for _, e := range list {
			_ = p.Enqueue(b.Context(), e)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/events, "B/event")
		runtime.KeepAlive(p)
	}
}

// BenchmarkResize measures a change of the number of queues with a backlog: for so long
// a kind stands still.
func BenchmarkResize(b *testing.B) {
	const events = 100_000
	c := config(Partitioned)
	p, err := New(c, Settings{Sender: &nothing{}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range events {
		_ = p.Enqueue(b.Context(), put(fmt.Sprint("pod-", i), 1))
	}
	b.ResetTimer()
	for i := range b.N {
		if err := p.Resize(Queues{[]int{1, 16, 2}[i%3], c.HandlerQueueLen, c.WriterQueueLen}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}
