package watcher

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// processors is one: a watcher waits most of the time, and what it does between
	// two waits is short. With more the runtime wakes and parks threads for each
	// event: a fifth more CPU per request at 300 requests a second (measured on two
	// cores). One processor carries some ten thousand requests a second.
	processors = 1
	// gcPercent trades CPU for memory: most of the heap is cached objects, which hold
	// no pointers and cost the collector next to nothing to pass over. Against 100 it
	// saves a tenth of the memory at 10,000 Pods.
	gcPercent = 50
)

// Tune sets the Go runtime for a process that is a watcher and nothing else. The
// environment variables GOMAXPROCS and GOGC override it.
func Tune() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(processors)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
