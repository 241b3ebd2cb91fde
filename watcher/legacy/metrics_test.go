package legacy

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/watchbench/watchbench/internal/metric"
)

// A golden scrape in virtual time: three events of one pod and one of another, of which
// one was merged, one is in flight and one waits.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	run(t, func(c *Config, s *Settings) {
		c.ClusterID, c.PodQueueNum, s.Registry = "c", 1, reg
	}, func(c *cluster, f *fake) {
		f.answerBy(func(k call) error {
			time.Sleep(2 * time.Second)
			if k.at == 0 {
				return errDown // comes back within 5 s
			}
			return nil
		})
		c.put(pod("a"))
		synctest.Wait()
		c.put(pod("b"))
		synctest.Wait()
		time.Sleep(3 * time.Second) // a has failed, b is in flight
		c.put(event("e"))
		synctest.Wait()
		want := `
# HELP k8swatch_events_sent_total Events acknowledged by storage.
# TYPE k8swatch_events_sent_total counter
k8swatch_events_sent_total{kind="Event"} 0
k8swatch_events_sent_total{kind="Pod"} 0
# HELP k8swatch_events_queued Events accepted and not settled.
# TYPE k8swatch_events_queued gauge
k8swatch_events_queued{kind="Event"} 1
k8swatch_events_queued{kind="Pod"} 2
# HELP k8swatch_inflight_requests Storage calls under way.
# TYPE k8swatch_inflight_requests gauge
k8swatch_inflight_requests 2
# HELP k8swatch_oldest_unsent_seconds Age of the oldest change that storage lacks.
# TYPE k8swatch_oldest_unsent_seconds gauge
k8swatch_oldest_unsent_seconds{kind="Event"} 0
k8swatch_oldest_unsent_seconds{kind="Pod"} 3
# HELP bkbcs_k8swatch_queue_handler_discard_events Items dropped because the queue stayed full.
# TYPE bkbcs_k8swatch_queue_handler_discard_events counter
bkbcs_k8swatch_queue_handler_discard_events{cluster_id="c",handler="Event_0"} 0
bkbcs_k8swatch_queue_handler_discard_events{cluster_id="c",handler="Event_1"} 0
bkbcs_k8swatch_queue_handler_discard_events{cluster_id="c",handler="Event_2"} 0
bkbcs_k8swatch_queue_handler_discard_events{cluster_id="c",handler="Event_3"} 0
bkbcs_k8swatch_queue_handler_discard_events{cluster_id="c",handler="Pod_0"} 0
# HELP bcs_k8s_watch_queue_watcher_queue_num Keys in the eventQueue.
# TYPE bcs_k8s_watch_queue_watcher_queue_num gauge
bcs_k8s_watch_queue_watcher_queue_num{watcher="Event"} 0
bcs_k8s_watch_queue_watcher_queue_num{watcher="Pod"} 0
`
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), metric.EventsSent, metric.EventsQueued, metric.InFlight,
			metric.OldestUnsent, metric.HandlerDiscards, metric.WatcherQueue); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if problems, err := testutil.GatherAndLint(reg); err != nil {
			t.Error(err)
		} else {
			for _, p := range problems {
				if !strings.HasPrefix(p.Metric, "bkbcs_") && !strings.HasPrefix(p.Metric, "bcs_") {
					t.Errorf("%s: %s", p.Metric, p.Text)
				}
			}
		}
	})
}

// Every queue obeys Little's law: depth over time equals the time spent in it.
func TestLittle(t *testing.T) {
	run(t, func(c *Config, _ *Settings) { c.PodQueueNum, c.HandlerQueueLen = 3, 4 }, func(c *cluster, f *fake) {
		f.answerBy(func(call) error { time.Sleep(700 * time.Millisecond); return nil })
		for i := range 100 {
			c.put(pod(fmt.Sprint(i)))
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		s := c.p.Stats()
		if s.Dropped == 0 || s.Queued != 0 {
			t.Errorf("%+v, want some dropped and none queued", s)
		}
		var discards, handled uint64
		for _, h := range c.p.kind("Pod").handlers {
			h.mu.Lock()
			if h.meter.Wait == 0 || h.meter.Area != h.meter.Wait || len(h.items) != 0 {
				t.Errorf("%s: %+v, want the same, positive area and wait", h.name, h.meter)
			}
			discards, handled = discards+h.discards, handled+h.meter.Handled
			h.mu.Unlock()
		}
		if discards != s.Dropped || handled != s.Sent {
			t.Errorf("%d discarded and %d handled by the queues, but %+v", discards, handled, s)
		}
	})
}
