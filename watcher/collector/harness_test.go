package collector_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

var (
	pods    = collector.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	nodes   = collector.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
	secrets = collector.Resource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true}
	events  = collector.Resource{Version: "v1", Name: "events", Kind: "Event", Namespaced: true}
)

// sink hands events to the test, which takes them one by one.
type sink chan pipeline.Event

func (s sink) Enqueue(ctx context.Context, e pipeline.Event) error {
	select {
	case s <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// show is an event in one line.
func show(e pipeline.Event) string {
	verb := "put"
	if e.Action == pipeline.Delete {
		verb = "delete"
	}
	return fmt.Sprintf("%s %s %s", verb, e.Key, e.UID)
}

// harness is a running collector and what it sees.
type harness struct {
	*collector.Collector
	t    *testing.T
	api  *fakeAPI
	sink sink
	reg  *prometheus.Registry
	log  *logged
	stop func()
}

func start(t *testing.T, api *fakeAPI, c collector.Config) *harness {
	t.Helper()
	return startWith(t, api, c, nil)
}

func startWith(t *testing.T, api *fakeAPI, c collector.Config, first func(kind string) bool) *harness {
	t.Helper()
	h := &harness{t: t, api: api, sink: make(sink), reg: prometheus.NewRegistry(), log: &logged{}}
	col, err := collector.New(c, collector.Settings{Client: &rest.Config{Host: api.url}, Sink: h.sink, Registry: h.reg, First: first, Logger: slog.New(slog.NewTextHandler(h.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	collector.FastRetry(col)
	h.Collector = col
	h.stop = runs(t, col)
	return h
}

// runs runs a collector until the function that it returns is called, or the test ends.
func runs(t *testing.T, col *collector.Collector) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- col.Run(ctx) }()
	end = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		done <- nil
	}
	t.Cleanup(end)
	return end
}

// logged is what a collector logs, without debugging.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// next takes one event.
func (h *harness) next() pipeline.Event {
	h.t.Helper()
	select {
	case e := <-h.sink:
		return e
	case <-time.After(15 * time.Second):
		h.t.Fatalf("no event; requests so far:\n%s", strings.Join(h.api.seen(), "\n"))
		return pipeline.Event{}
	}
}

// expect takes as many events as there are lines, in any order within one call.
func (h *harness) expect(want ...string) {
	h.t.Helper()
	var got []string
	for range want {
		got = append(got, show(h.next()))
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		h.t.Fatalf("events (-want +got):\n%s", d)
	}
}

// eventually waits for a state that no event announces.
func (h *harness) eventually(what string, ok func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("never: %s; requests:\n%s", what, strings.Join(h.api.seen(), "\n"))
		}
	}
}

// metric is the value of a series, summed over the labels that are not named.
func (h *harness) metric(name string, labels ...string) float64 {
	h.t.Helper()
	families, err := h.reg.Gather()
	if err != nil {
		h.t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			match := 0
			for _, l := range m.GetLabel() {
				if slices.Contains(labels, l.GetName()+"="+l.GetValue()) {
					match++
				}
			}
			if match == len(labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func (h *harness) filtered(kind, reason string) float64 {
	return h.metric("k8swatch_events_filtered_total", "kind="+kind, "reason="+reason)
}
