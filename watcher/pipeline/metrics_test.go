package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/storage"
)

// scrape reads a registry: metric name → label values, comma-joined in the order of
// the label names → value (a histogram's count).
func scrape(t *testing.T, r prometheus.Gatherer) map[string]map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]float64{}
	for _, f := range families {
		series := map[string]float64{}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			series[strings.Join(labels, ",")] = value(m)
		}
		out[f.GetName()] = series
	}
	return out
}

func value(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	}
	return float64(m.GetHistogram().GetSampleCount())
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(100 * time.Millisecond)
		s.fault = func(e Event) error {
			if e.Key.Name == "bad" {
				return &storage.PermanentError{Err: errBroken}
			}
			return nil
		}
		c := config(Keyed)
		c.PodQueueNum, c.HandlerQueueLen, c.WriterQueueLen = 1, 2, 1
		registry := prometheus.NewPedanticRegistry()
		p, err := New(c, Settings{Sender: s, Registry: registry, ClusterID: "BCS-K8S-00000"})
		if err != nil {
			t.Fatal(err)
		}
		p.AddKind("Node")
		if problems, err := testutil.GatherAndLint(registry); err != nil {
			t.Fatal(err)
		} else {
			for _, l := range problems {
				if !strings.HasPrefix(l.Metric, "bkbcs_") { // the original's names are what they are
					t.Errorf("%s: %s", l.Metric, l.Text)
				}
			}
		}
		zero := scrape(t, registry)
		for _, name := range []string{
			metric.EventsSent, metric.EventsCoalesced, metric.EventsDropped, metric.EventsRetried,
			metric.EventsParked, metric.EventsQueued, metric.OldestUnsent, metric.Freshness,
		} {
			if v, ok := zero[name]["Node"]; !ok || v != 0 {
				t.Errorf("%s of a kind just added: %v %v, want 0", name, v, ok)
			}
		}

		l := run(t, p, s)
		l.enqueue(put("bad", 1))
		time.Sleep(time.Second)
		l.enqueue(put("a", 1), put("b", 1), put("c", 1), put("d", 1), put("d", 2), put("e", 1))
		synctest.Wait() // a in flight, b and c in the queue, d (merged) and e in the Writer
		time.Sleep(50 * time.Millisecond)
		got := scrape(t, registry)
		for name, series := range map[string]map[string]float64{
			metric.EventsSent:      {"Pod": 0, "Node": 0},
			metric.EventsCoalesced: {"Pod": 1},
			metric.EventsParked:    {"Pod": 1},
			metric.EventsQueued:    {"Pod": 5},
			metric.QueueDepth:      {"Pod": 2, metric.WriterQueueHandler: 2},
			metric.QueueCapacity:   {"Pod": 2, metric.WriterQueueHandler: 1},
			metric.HandlerQueue:    {"BCS-K8S-00000,Pod": 2, "BCS-K8S-00000,writer_normal_queue": 2},
			metric.HandlerDiscards: {"BCS-K8S-00000,Pod": 0, "BCS-K8S-00000,writer_normal_queue": 0},
			metric.QueueLatency:    {"BCS-K8S-00000,Pod,Pod,success": 2, "BCS-K8S-00000,Pod,Pod,failure": 0},
			metric.InFlight:        {"": 1},
			metric.OldestUnsent:    {"Pod": 0.05, "Node": 0},
			metric.WriterFull:      {"": 0.05},
		} {
			for labels, want := range series {
				if v, ok := got[name][labels]; !ok || v != want {
					t.Errorf("%s{%s} is %v (%v): want %v", name, labels, v, ok, want)
				}
			}
		}

		time.Sleep(time.Second)
		got = scrape(t, registry)
		for name, series := range map[string]map[string]float64{
			metric.EventsSent:   {"Pod": 5},
			metric.EventsQueued: {"Pod": 0},
			metric.Freshness:    {"Pod": 5},
			metric.QueueHandled: {"Pod": 6, metric.WriterQueueHandler: 6},
			metric.OldestUnsent: {"Pod": 0},
		} {
			for labels, want := range series {
				if v := got[name][labels]; v != want {
					t.Errorf("%s{%s} is %v: want %v", name, labels, v, want)
				}
			}
		}
		for _, q := range []string{"Pod", metric.WriterQueueHandler} {
			if wait, area := got[metric.QueueWaitSeconds][q], got[metric.QueueDepthTime][q]; wait <= 0 || wait-area > 1e-9 || area-wait > 1e-9 {
				t.Errorf("%s: waits %v s, depth integral %v s (Little's law)", q, wait, area)
			}
		}

		p.RetireKind("Pod")
		if n := scrape(t, registry)[metric.EventsSent]["Pod"]; n != 5 {
			t.Errorf("a retired kind has sent %v events, want 5 as before: the sum over the kinds must not change", n)
		}
		l.finish()
	})
}

func TestQueueNamesOfPartitions(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	c := config(Partitioned)
	c.PodQueueNum = 2
	p, err := New(c, Settings{Sender: newStore(0), Registry: registry})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Pod", "Event", "Node"} {
		p.AddKind(kind)
	}
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprint("Event_", i))
	}
	names = append(names, "Node", "Pod_0", "Pod_1", metric.WriterQueueHandler)
	got := scrape(t, registry)[metric.QueueDepth]
	for _, name := range names {
		if _, ok := got[name]; !ok {
			t.Errorf("no queue %s", name)
		}
	}
	if len(got) != len(names) {
		t.Errorf("queues %v: want %v", got, names)
	}
	if _, err := New(c, Settings{Sender: newStore(0), Registry: registry}); err == nil {
		t.Error("two pipelines share one registry")
	}
}
