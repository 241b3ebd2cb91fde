package virtual

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/watcher/collector"
)

// TestDeadWatchTells: a watch that is dead after the first sync makes the watcher unready, with the reason, and its lag
// grows; one log line says that it is lost and one that it is back. The others are not touched.
func TestDeadWatchTells(t *testing.T) {
	for _, fault := range []string{"403(kind=configmaps)", "404(kind=configmaps)", "blackhole(kind=configmaps)", "503(kind=configmaps,retry-after=5s)"} {
		t.Run(fault, func(t *testing.T) {
			stage(t, time.Hour, func(t *testing.T, w *world) {
				w.apply(apisim.ConfigMaps, "a", "c")
				p := w.launch(noSynchronizer)
				time.Sleep(5 * time.Second)
				if err := w.api.Faults().Add(fault); err != nil {
					t.Fatal(err)
				}
				if err := w.api.CloseWatches(""); err != nil {
					t.Fatal(err)
				}
				time.Sleep(collector.LostAfter / 2)
				if err := p.ready(time.Second); err != nil {
					t.Errorf("after half of the bound: %v", err)
				}
				time.Sleep(time.Minute)
				if err := p.ready(time.Second); err == nil || !strings.Contains(err.Error(), "the watch of v1/ConfigMap fails and has been silent for 1m") {
					t.Errorf("readiness says %v", err)
				}
				if _, err := p.get(p.port-1, "/healthz"); err != nil {
					t.Errorf("it lives, but %v", err)
				}
				for _, name := range []string{metric.WatchSilent, metric.Lag} {
					if got := p.value(name, "kind", "ConfigMap"); got < 60 || got > 80 {
						t.Errorf("%s %g s", name, got)
					}
				}
				if silent, lag := p.value(metric.WatchSilent, "kind", "Pod"), p.value(metric.Lag, "kind", "Pod"); silent > 55 || lag != 0 {
					t.Errorf("of the Pods: silent %g s, lag %g s", silent, lag)
				}
				w.heal()
				time.Sleep(time.Minute)
				if err := p.ready(time.Second); err != nil {
					t.Error(err)
				}
				if lag := p.value(metric.Lag, "kind", "ConfigMap"); lag != 0 {
					t.Errorf("lag %g s when it is back", lag)
				}
				for _, line := range []string{"watch is lost", "watch is back"} {
					if n := w.said(line); n != 1 {
						t.Errorf("%d log lines that the %s", n, line)
					}
				}
			})
		})
	}
}

// TestQuietIsNotDead: a quarter of an hour without a change.
func TestQuietIsNotDead(t *testing.T) {
	stage(t, time.Hour, func(t *testing.T, w *world) {
		p := w.launch(noSynchronizer)
		for range 80 {
			time.Sleep(11 * time.Second)
			if err := p.ready(200 * time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if got := p.value(metric.WatchSilent, "kind", "ConfigMap"); got > 56 || p.value(metric.Lag, "kind", "ConfigMap") != 0 {
				t.Fatalf("silent %g s", got)
			}
		}
		if w.said("watch is lost") > 0 {
			t.Error("a watch is said to be lost")
		}
	})
}

// TestLagCountsParked: a change that was given up is a change that storage lacks.
func TestLagCountsParked(t *testing.T) {
	stage(t, time.Hour, func(t *testing.T, w *world) {
		w.apply(apisim.ConfigMaps, "a", "bad")
		if err := w.mock.AddFaults("413(kind=ConfigMap,method=" + http.MethodPut + ")"); err != nil {
			t.Fatal(err)
		}
		p := w.launch(noSynchronizer)
		time.Sleep(time.Minute)
		if n, lag := p.value(metric.EventsParked, "kind", "ConfigMap"), p.value(metric.Lag, "kind", "ConfigMap"); n != 1 || lag < 55 {
			t.Errorf("%g parked, lag %g s", n, lag)
		}
	})
}
