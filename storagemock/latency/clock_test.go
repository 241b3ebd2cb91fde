package latency_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/storagemock/latency"
)

func startClock(t *testing.T) *latency.PreciseClock {
	t.Helper()
	c, err := latency.NewPreciseClock()
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestPreciseClockNeverWakesEarly(t *testing.T) {
	c := startClock(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			at := time.Now().Add(time.Duration(i%20) * 517 * time.Microsecond)
			if err := c.SleepUntil(t.Context(), at); err != nil {
				t.Error(err)
			}
			if early := time.Until(at); early > 0 {
				t.Errorf("woke %s early", early)
			}
		})
	}
	wg.Wait()
}

func TestPreciseClockEndsWithItsContext(t *testing.T) {
	c := startClock(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.SleepUntil(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	cancel()
	wg.Wait()
}

func BenchmarkOversleep(b *testing.B) {
	c, err := latency.NewPreciseClock()
	if err != nil {
		b.Skip(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	defer func() { cancel(); <-done }()
	for name, clock := range map[string]latency.Clock{"precise": c, "system": latency.SystemClock{}} {
		b.Run(name, func(b *testing.B) {
			var late time.Duration
			for i := range b.N {
				at := time.Now().Add(3*time.Millisecond + time.Duration(i%10)*100*time.Microsecond)
				_ = clock.SleepUntil(ctx, at)
				late += time.Since(at)
			}
			b.ReportMetric(float64(late.Microseconds())/float64(b.N), "µs-late/op")
		})
	}
}
