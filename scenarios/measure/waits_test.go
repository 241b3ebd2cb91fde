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

// TestQueuesAgainstTheRecord: a meter that agrees with itself is held to what stands before
// and behind the watcher.
func TestQueuesAgainstTheRecord(t *testing.T) {
	// 300 events, two of each deletion, wait one after the other for a sender of 100 ms.
	const held = 300. * 299 / 2 * 0.1
	apart := metric.EventsCoalesced + `{kind="Pod"} 0` + "\n"
	merged := metric.EventsCoalesced + `{kind="Pod"} 7` + "\n"
	for _, tc := range []struct {
		name   string
		depth  float64 // by the handler queue's meter
		writer float64 // and by the Writer's
		more   string  // metrics
		change func(*spec.Scenario)
		want   string // part of the reason; "" is valid, "-" is not judged
	}{
		{"right", held, 0, apart, nil, ""},
		{"right, most of it in the Writer", held / 4, held * 3 / 4, apart, nil, ""},
		{"half", held / 2, 0, apart, nil, "the queues held 2242.5 event-seconds by the watcher"},
		{"nothing", 0, 0, apart, nil, "the queues held 0.0 event-seconds by the watcher"},
		{"twice", 2 * held, 0, apart, nil, "the queues held 8970.0 event-seconds by the watcher"},
		{"milliseconds for seconds", held * 1000, 0, apart, nil, "event-seconds by the watcher"},
		{"less where events were merged", held / 2, 0, merged, nil, ""},
		{"too little even so", held / 20, 0, merged, nil, "event-seconds by the watcher"},
		{"a watch that delivers late", held / 2, 0, apart, func(s *spec.Scenario) { s.Watch.Faults = []string{"stall"} }, "-"},
		{"repairs make events of their own", 2 * held, 0, metric.SyncRepairs + `{kind="Pod"} 3` + "\n", nil, "-"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := deletions(100)
			if tc.change != nil {
				tc.change(&e.cell.Scenario)
			}
			var text strings.Builder
			for _, name := range []string{metric.QueueHandled, metric.QueueDepthTime, metric.QueueWaitSeconds} {
				fmt.Fprintf(&text, "# TYPE %[1]s counter\n%[1]s{queue=\"Pod\"} %[2]g\n%[1]s{queue=\"%[3]s\"} %[4]g\n", name, tc.depth, metric.WriterQueueHandler, tc.writer)
			}
			c := e.scraped(t, "a_total 1\n", text.String()+tc.more)
			switch got := fmt.Sprint(c.InvalidReasons); {
			case tc.want == "-" && c.Handler.QueuedSeconds != nil:
				t.Errorf("judged: %v", *c.Handler.QueuedSeconds)
			case tc.want == "" && (!c.Valid || c.Handler.QueuedSeconds == nil):
				t.Errorf("refused: %s", got)
			case len(tc.want) > 1 && (len(c.InvalidReasons) != 1 || !strings.Contains(got, tc.want)):
				t.Errorf("%s, want %q", got, tc.want)
			}
		})
	}
}

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
	c, err := f.Cell(check.Changes(e.ops, e.entries))
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
	c := e.scraped(t, text(50, 10, 40, 3), text(150, 30, 140, 8))
	approx(t, "latency", c.Storage.WatcherMeanMs, 200, 1e-6)
	approx(t, "requests per event", c.Storage.RequestsPerEvent, 1, 1e-6)
	approx(t, "connections", c.Storage.ConnectionsOpened, 5, 0)
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
