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

var tenMillion = flag.Bool("ten-million", false, "simulate ten million events, and a million Pods, within 60 s of CPU time and 2 GiB")

// TestTenMillion: 10,000,000 events at 100,000/s and 2,000 requests in flight, a million Pods.
// It asserts CPU time, so that what else the machine does is not in it.
func TestTenMillion(t *testing.T) {
	if !*tenMillion {
		t.Skip("takes up to a minute for each strategy; use -ten-million")
	}
	for name, sets := range map[string][]string{
		"keyed": nil, "partitioned": {"watcher.strategy=partitioned"}, "dedup": {"watcher.strategy=dedup"}, "adaptive": {"watcher.strategy=adaptive"},
		"backlog": {"watcher.podQueueNum=500"}, // storage takes a quarter of what comes
	} {
		t.Run(name, func(t *testing.T) {
			s := large(t, sets...)
			var most uint64
			began, cpu := time.Now(), cpuTime(t)
			o := run(t, s, Options{Progress: func(int64, int64) {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.Sys)
			}})
			took := cpuTime(t) - cpu
			t.Logf("%s of CPU time, %s in all, for %d events, %d requests, at most %d MiB; drain %.1f s, %.0f requests/s, %d in flight", took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), o.Events, o.Requests, most>>20, o.DrainSeconds, o.StorageQPS, o.MaxInFlight)
			if took > time.Minute || most > 2<<30 || o.Events < 9_900_000 {
				t.Errorf("%s, %d MiB, %d events", took, most>>20, o.Events)
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
	return scenario(t, append([]string{"load.rate=100000", "load.duration=100s", "storage.latency=lognormal(p50=18ms,p99=40ms)", "storage.capacity={inflight: 4096}",
		"watcher.podQueueNum=2000", "load.arrival=constant"}, sets...)...)
}
