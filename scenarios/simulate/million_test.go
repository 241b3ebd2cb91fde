//go:build unix

package simulate

import (
	"flag"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/spec"
)

var tenMillion = flag.Bool("ten-million", false,
	"simulate ten million events of each strategy, each within 60 s and 2 GiB; needs a machine that does nothing else")

// TestTenMillion: 10,000,000 events at 100,000/s and 2,000 requests in flight, a million Pods,
// within a minute by the clock. single, which has one request in flight, gets as many events at
// 120/s, and storage that takes a quarter of the time. On a machine that does something else, judge by the CPU time that is logged: the
// simulation has one thread, and the garbage collector beside it.
func TestTenMillion(t *testing.T) {
	if !*tenMillion {
		t.Skip("takes most of a minute for each strategy; use -ten-million")
	}
	for _, load := range []struct {
		name string
		sets []string
	}{
		{"single", []string{"watcher.strategy=single", "load.rate=120", "load.duration=83300s",
			"storage.latency=lognormal(p50=4ms,p99=9ms)"}},
		{"partitioned", []string{"watcher.strategy=partitioned"}},
		{"keyed", nil},
		{"dedup", []string{"watcher.strategy=dedup"}},
		{"adaptive", []string{"watcher.strategy=adaptive"}},
		{"backlog", []string{"watcher.podQueueNum=500"}}, // storage takes a quarter of what comes
	} {
		t.Run(load.name, func(t *testing.T) {
			s := large(t, load.sets...)
			runtime.GC() // what the one before left is not this one's
			began, cpu := time.Now(), cpuTime(t)
			o := run(t, s, Options{})
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most := m.Sys // it does not shrink
			used, took := (cpuTime(t) - cpu).Round(time.Millisecond), time.Since(began).Round(time.Millisecond)
			t.Logf("%s, of CPU time %s, for %d events, %d requests, at most %d MiB; drain %.1f s, %.0f requests/s, %d in flight",
				took, used, o.Events, o.Requests, most>>20, *o.DrainSeconds, *o.StorageQPS, o.MaxInFlight)
			if took > time.Minute || most > 2<<30 || o.Events < 9_900_000 {
				t.Errorf("%s, of CPU time %s, %d MiB, %d events; want at most 1m0s, 2 GiB, and 9,900,000 or more", took, used,
					most>>20, o.Events)
			}
		})
	}
}

// cpuTime is what this process has used.
func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func large(t testing.TB, sets ...string) *spec.Scenario {
	return scenario(t, append([]string{"load.rate=100000", "load.duration=100s",
		"storage.latency=lognormal(p50=18ms,p99=40ms)", "storage.capacity={inflight: 4096}",
		"watcher.podQueueNum=2000", "load.arrival=constant"}, sets...)...)
}
