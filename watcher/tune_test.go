package watcher

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"

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
