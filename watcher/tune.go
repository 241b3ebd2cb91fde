package watcher

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// processors is one: a watcher waits most of the time, and what it does between
	// two waits is short. With two the runtime wakes and parks threads for each event: 5 to
	// 15 % more CPU per change at 150 to 1,000 changes a second, on two cores. One processor
	// carries some ten thousand requests a second.
	processors = 1
	// gcPercent trades CPU for memory: most of the heap is cached objects, which hold
	// no pointers and cost the collector next to nothing to pass over. Against 100 it
	// saves a tenth of the memory at 10,000 Pods.
	gcPercent = 50
)

// Tune sets the Go runtime for a process that is a watcher and nothing else. The
// environment variables GOMAXPROCS, GOGC and GOMEMLIMIT override it.
func Tune(log *slog.Logger) {
	limitMemory(log, memlimit.FromCgroup)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// limitMemory makes the Go runtime keep its memory below nine tenths of the container's
// limit, so that a burst costs collections before it costs the process. What the rest is
// for is not the heap: stacks of the kernel, the program, mapped files.
func limitMemory(log *slog.Logger, limit memlimit.Provider) {
	_, err := memlimit.Set(memlimit.WithProvider(limit))
	if err != nil && !errors.Is(err, memlimit.ErrNoCgroup) && !errors.Is(err, memlimit.ErrCgroupsNotSupported) {
		log.Warn("the container's memory limit is not known, set GOMEMLIMIT to have one", "error", err)
	}
}

// freeMemory returns to the operating system what is not used. It collects twice, as pools keep what they hold for one.
func freeMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}

// patience is how long after the first lists something may be on its way before their memory is released all the same.
// A storage that takes 5,000 objects a second takes half a million in that time; released before, their memory stays.
const patience = 2 * time.Minute

// releaseMemory gives back, once, what the first lists left behind: the runtime would keep
// it for minutes.
func releaseMemory(ctx context.Context, ready, idle func() bool, release func()) error {
	var latest time.Time
	for lifecycle.Pause(ctx, time.Second) == nil {
		switch {
		case !ready():
			continue
		case latest.IsZero():
			latest = time.Now().Add(patience)
		}
		if idle() || time.Now().After(latest) {
			release()
			break
		}
	}
	<-ctx.Done()
	return nil
}
