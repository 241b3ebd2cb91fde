package watcher

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestLimitMemory(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "") // restores it
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	const container = 100 << 20
	broken := errors.New("unreadable")
	for _, tt := range []struct {
		name, env string
		provider  memlimit.Provider
		want      int64
		warns     bool
	}{
		{name: "container", provider: memlimit.Limit(container), want: container / 10 * 9},
		{name: "user's own", env: "50MiB", provider: memlimit.Limit(container), want: math.MaxInt64},
		{name: "no limit", provider: func() (uint64, error) { return 0, memlimit.ErrNoLimit }, want: math.MaxInt64},
		{name: "no cgroup", provider: func() (uint64, error) { return 0, memlimit.ErrNoCgroup }, want: math.MaxInt64},
		{name: "broken", provider: func() (uint64, error) { return 0, broken }, want: math.MaxInt64, warns: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			if t.Setenv("GOMEMLIMIT", tt.env); tt.env == "" {
				_ = os.Unsetenv("GOMEMLIMIT")
			}
			var log bytes.Buffer
			limitMemory(slog.New(slog.NewTextHandler(&log, nil)), tt.provider)
			if got := debug.SetMemoryLimit(-1); got != tt.want {
				t.Errorf("limit %d, want %d", got, tt.want)
			}
			if warned := strings.Contains(log.String(), "level=WARN"); warned != tt.warns {
				t.Errorf("logged %q", log.String())
			}
		})
	}
}

// TestReleaseMemory: once, when the first lists are dealt with and nothing is on its way, or
// when something has been for long.
func TestReleaseMemory(t *testing.T) {
	for _, tc := range []struct{ ready, idle, want time.Duration }{
		{5 * time.Second, 0, 5 * time.Second},
		{5 * time.Second, time.Minute, time.Minute},
		{5 * time.Second, time.Hour, 5*time.Second + patience},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			after := func(d time.Duration) func() bool { return func() bool { return time.Since(began) >= d } }
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			var released []time.Duration
			err := releaseMemory(ctx, after(tc.ready), after(tc.idle), func() { released = append(released, time.Since(began)) })
			if err != nil || len(released) != 1 || released[0] < tc.want || released[0] > tc.want+2*time.Second {
				t.Errorf("%+v: released after %v, %v", tc, released, err)
			}
		})
	}
}
