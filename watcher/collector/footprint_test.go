package collector_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"encoding/pem"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/view"
)

// childEnv makes the test binary a process that only collects: memory and CPU can
// then be charged to the collector alone. Its value is a childOrder.
const childEnv = "COLLECTOR_FOOTPRINT_CHILD"

// childOrder is what the child shall do.
type childOrder struct {
	Host, CA string
	Config   collector.Config
	Want     int  // pods to wait for
	View     bool // somebody may read
}

// footprint is what the child measured of itself.
type footprint struct {
	BaseRSS int64   // bytes, before the first request
	RSS     int64   // after the sync and a rest
	CPU     float64 // seconds from the first request to the sync, user and system
}

func TestMain(m *testing.M) {
	if order := os.Getenv(childEnv); order != "" {
		child(order)
		return
	}
	goleak.VerifyTestMain(m)
}

// counter is a Sink that keeps nothing.
type counter struct{ puts atomic.Int64 }

func (c *counter) Enqueue(_ context.Context, e pipeline.Event) error {
	c.puts.Add(1)
	return nil
}

func child(text string) {
	var order childOrder
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	check(json.Unmarshal([]byte(text), &order))
	debug.SetGCPercent(50)
	cfg := &rest.Config{Host: order.Host}
	cfg.CAData = []byte(order.CA)
	sink := &counter{}
	col, err := collector.New(order.Config, collector.Settings{Client: cfg, Sink: sink, View: func(collector.Resource) *view.View {
		if order.View {
			return view.New(view.Config{})
		}
		return nil
	}})
	check(err)
	var fp footprint
	fp.BaseRSS = rss()
	cpu := cpuSeconds()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- col.Run(ctx) }()
	check(col.WaitForSync(ctx))
	for sink.puts.Load() < int64(order.Want) {
		time.Sleep(time.Millisecond)
	}
	fp.CPU = cpuSeconds() - cpu
	time.Sleep(200 * time.Millisecond)
	fp.RSS = rss()
	cancel()
	check(<-done)
	check(json.NewEncoder(os.Stdout).Encode(fp))
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func rss() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	_, _ = fmt.Sscan(string(text), &size, &resident)
	return resident * int64(os.Getpagesize())
}

// measure runs a child.
func measure(t testing.TB, order childOrder) footprint {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("child: %v\n%s", err, errs.String())
	}
	var fp footprint
	if err := json.NewDecoder(io.LimitReader(&out, 1<<20)).Decode(&fp); err != nil {
		t.Fatalf("child said %q: %v", out.String(), err)
	}
	return fp
}

func (fp footprint) String() string {
	const mib = 1 << 20
	return fmt.Sprintf("rss %.1f MiB (base %.1f), cpu %.3f s", float64(fp.RSS)/mib, float64(fp.BaseRSS)/mib, fp.CPU)
}

func bulkOrder(t testing.TB, n int) childOrder { return newBulkAPI(n).order(t) }

func (a *bulkAPI) order(t testing.TB) childOrder {
	srv := a.serve(t)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	return childOrder{Host: srv.URL, CA: string(ca), Want: a.n + a.updates, Config: collector.Config{Resources: []collector.Resource{pods}, Pack: true}}
}

// Bounds of TestFootprint, about twice what an idle two-core machine needs. The
// figures meant are those of the whole watcher: 60 MiB and 0.6 s.
const (
	maxRSS     = 75 << 20 // of 55 MiB, 17 of them the test binary
	maxSyncCPU = 0.6      // times what encoding/json needs to decode the same pods; 0.23 to 0.33 measured
	maxGrowth  = 1.10     // memory per object at ten times the objects
)

// decoding is the CPU that encoding/json needs for n pods here and now: the machine's speed varies.
func decoding(t *testing.T, n int) float64 {
	var pod bytes.Buffer
	out := bufio.NewWriter(&pod)
	newBulkAPI(1).pod(out, 0, true)
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	began := cpuSeconds()
	for range n {
		var o map[string]any
		if err := json.Unmarshal(pod.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
	}
	return cpuSeconds() - began
}

// TestFootprint holds the cost of the first sync of 10,000 pods of 3 KiB, and of 100,000.
func TestFootprint(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("starts processes that cache 100,000 objects; their figures say nothing under the race detector")
	}
	before := decoding(t, 10_000)
	small := measure(t, bulkOrder(t, 10_000))
	yardstick := (before + decoding(t, 10_000)) / 2
	t.Logf(" 10,000: %s", small)
	if small.RSS > maxRSS {
		t.Errorf("10,000 pods: resident %d MiB, want at most %d", small.RSS>>20, maxRSS>>20)
	}
	t.Logf("first sync: %.2f times the CPU of encoding/json", small.CPU/yardstick)
	if small.CPU > maxSyncCPU*yardstick {
		t.Errorf("10,000 pods: first sync took %.3f s CPU, encoding/json %.3f s", small.CPU, yardstick)
	}
	large := measure(t, bulkOrder(t, 100_000))
	t.Logf("100,000: %s", large)
	perObject := func(fp footprint, n int64) int64 { return (fp.RSS - fp.BaseRSS) / n }
	a, b := perObject(small, 10_000), perObject(large, 100_000)
	t.Logf("resident per object: %d and %d bytes", a, b)
	if float64(b) > maxGrowth*float64(a) {
		t.Errorf("100,000 pods take %d bytes each, 10,000 take %d: want at most 10 %% more", b, a)
	}
}

// BenchmarkWatch is the cost of one change at 1,000 changes a second, without and with a view.
func BenchmarkWatch(b *testing.B) {
	const n, updates = 100, 3000
	quiet := newBulkAPI(n)
	busy := newBulkAPI(n)
	busy.updates, busy.every = updates, time.Millisecond
	base, order := quiet.order(b), busy.order(b)
	for _, view := range []bool{false, true} {
		b.Run(fmt.Sprintf("view=%t", view), func(b *testing.B) {
			base.View, order.View = view, view
			var cpu float64
			runs := 0
			for b.Loop() {
				cpu += measure(b, order).CPU - measure(b, base).CPU
				runs++
			}
			b.ReportMetric(cpu/float64(runs)/updates*1e6, "cpu-µs/event")
		})
	}
}
