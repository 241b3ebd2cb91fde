package churn

import (
	"context"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// clock gives Unix nanoseconds that never step: the wall clock as it was at the start, moved on by the monotonic one.
type clock struct {
	start time.Time
	base  int64
}

func newClock() clock {
	now := time.Now()
	return clock{start: now, base: now.UnixNano()}
}

func (c clock) now() int64 { return c.base + int64(time.Since(c.start)) }

// sleepUntil returns at the given time, or false when ctx ended first.
func (c clock) sleepUntil(ctx context.Context, at int64) bool {
	return lifecycle.Pause(ctx, time.Duration(at-c.now())) == nil
}
