package measure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// scraped goes through the record with the watcher's metrics.
func (e *evidence) scraped(t *testing.T, before, after string) result.Cell {
	t.Helper()
	return e.with(t, scrapeOf(t, before), scrapeOf(t, after))
}

func (e *evidence) with(t *testing.T, before, after history.Scrape) result.Cell {
	t.Helper()
	f := New(&e.cell, before, after, e.samples)
	for i := range e.ops {
		f.Operation(&e.ops[i])
	}
	for i := range e.entries {
		f.Request(&e.entries[i])
	}
	c, err := f.Cell(check.Changes(&check.Meta{}, e.ops, e.entries))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWatchersSide: what only the watcher's metrics tell.
func TestWatchersSide(t *testing.T) {
	text := func(events, sum, count, conns int) string {
		labels := `cluster_id="c",handler="h",resource_type="%s",method="%s",status="%s"`
		var b strings.Builder
		fmt.Fprintf(&b, "%s{kind=\"Pod\"} %d\n%s{kind=\"ConfigMap\"} 900\n%s %d\n", metric.EventsReceived, events, metric.EventsReceived, metric.StorageConns, conns)
		fmt.Fprintf(&b, "# TYPE %s histogram\n", metric.StorageLatency)
		for _, s := range []struct {
			kind, method, status string
			sum, count           int
		}{{"Pod", "PUT", "success", sum, count}, {"Pod", "DELETE", "success", sum, count}, {"Pod", "PUT", "failure", 77, 5}, {"Pod", "GET", "success", 88, 5}, {"ConfigMap", "PUT", "success", 99, 5}} {
			l := fmt.Sprintf(labels, s.kind, s.method, s.status)
			fmt.Fprintf(&b, "%[1]s_bucket{%[2]s,le=\"+Inf\"} %[3]d\n%[1]s_sum{%[2]s} %[4]d\n%[1]s_count{%[2]s} %[3]d\n", metric.StorageLatency, l, s.count, s.sum)
		}
		return b.String()
	}
	e := backlog(0)
	for i := range e.entries {
		e.entries[i].Bytes = 256
	}
	c := e.scraped(t, text(50, 10, 40, 3), text(150, 30, 140, 8))
	approx(t, "latency", c.Storage.WatcherMeanMs, 200, 1e-6)
	approx(t, "requests per event", c.Storage.RequestsPerEvent, 1, 1e-6)
	approx(t, "connections", c.Storage.ConnectionsOpened, 5, 0)
	approx(t, "bytes per event", c.Storage.BytesPerEvent, float64(len(e.entries)*256)/100, 1e-6)
	e.cell.Watcher.Restarts = 1
	if c = e.scraped(t, text(50, 10, 40, 3), text(150, 30, 140, 8)); c.Storage.RequestsPerEvent != nil || c.Watcher.CPUMicrosPerEvent != nil {
		t.Error("the requests of all processes were divided by the events of the last")
	}
	if c.Storage.ConnectionsOpened != nil {
		t.Errorf("%v connections of all processes, by the counter of the last", *c.Storage.ConnectionsOpened)
	}
	if c = backlog(0).figures(t); c.Storage.WatcherMeanMs != nil || c.Storage.ConnectionsOpened != nil || c.Storage.RequestsPerEvent != nil {
		t.Errorf("a watcher without metrics has %+v", c.Storage)
	}
}

// TestAllocations: what the Go runtime allocated between the two readings, over the events between them; unknown
// without either counter, and of a watcher that was restarted.
func TestAllocations(t *testing.T) {
	text := func(events, mallocs, bytes int) string {
		return fmt.Sprintf("%s{kind=\"Pod\"} %d\n%s{kind=\"ConfigMap\"} %d\n# TYPE go_memstats_mallocs_total counter\ngo_memstats_mallocs_total %d\n# TYPE go_memstats_alloc_bytes_total counter\ngo_memstats_alloc_bytes_total %d\n",
			metric.EventsReceived, events, metric.EventsReceived, events, mallocs, bytes)
	}
	e := backlog(0)
	c := e.scraped(t, text(50, 1000, 64_000), text(150, 7000, 264_000))
	approx(t, "allocations", c.Watcher.AllocsPerEvent, 30, 1e-9)
	approx(t, "allocated bytes", c.Watcher.AllocBytesPerEvent, 1000, 1e-9)
	if c = e.scraped(t, watcherMetrics(50), watcherMetrics(150)); c.Watcher.AllocsPerEvent != nil || c.Watcher.AllocBytesPerEvent != nil {
		t.Errorf("a watcher without metrics of the Go runtime allocated %v", *c.Watcher.AllocsPerEvent)
	}
	e.cell.Watcher.Restarts = 1
	if c = e.scraped(t, text(50, 1000, 64_000), text(150, 7000, 264_000)); c.Watcher.AllocsPerEvent != nil {
		t.Error("the allocations of the last process were divided")
	}
}

// TestEventsOfOther: where a watcher gives no account of its events, those that a simulated API server told are
// counted; of a real one nobody knows.
func TestEventsOfOther(t *testing.T) {
	e := backlog(0)
	e.cell.Scenario.Cluster.Provider = spec.ProviderSimulated
	c := e.figures(t)
	approx(t, "requests per event", c.Storage.RequestsPerEvent, float64(len(e.entries))/float64(c.Load.Done), 1e-6)
	if c.Watcher.CPUMicrosPerEvent == nil || c.Watcher.AllocsPerEvent != nil || c.Watcher.Lists != nil {
		t.Errorf("CPU %v, allocations %v, lists %v per event", c.Watcher.CPUMicrosPerEvent, c.Watcher.AllocsPerEvent, c.Watcher.Lists)
	}
	e.cell.Watcher.Lists, e.cell.Watcher.Watches = new(int64(3)), new(int64(2))
	if c = e.figures(t); *c.Watcher.Lists != 3 || *c.Watcher.Watches != 2 {
		t.Errorf("%d lists, %d watches", *c.Watcher.Lists, *c.Watcher.Watches)
	}
	e.cell.Watcher.Restarts = 1
	if c = e.figures(t); c.Storage.RequestsPerEvent != nil {
		t.Error("a restarted watcher's requests are divided by the events of the load")
	}
}
