package virtual

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// pods creates n Pods of a size in bytes, each with an owner.
func (w *world) pods(n, size int) {
	w.t.Helper()
	padding := strings.Repeat("x", size-400)
	for i := range n {
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":"web-7d4b9c-%06d","labels":{"app":"web"},`+
			`"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"web","uid":"s","controller":true}]},"spec":{"padding":%q}}`, i, padding)
		if _, err := w.api.Apply(apisim.Pods.Key(), []byte(raw)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// stored waits until storage holds n rows, and gives the time it took.
func (w *world) stored(n int, limit time.Duration) time.Duration {
	w.t.Helper()
	begin := time.Now()
	for w.mock.Store().Live() < n {
		if time.Since(begin) > limit {
			w.t.Fatalf("%d rows after %s, want %d", w.mock.Store().Live(), limit, n)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(begin)
}

func (p *process) value(name string, labels ...string) float64 {
	p.w.t.Helper()
	s, err := p.scrape()
	if err != nil {
		p.w.t.Fatal(err)
	}
	return value(s, name, labels...)
}

// TestBytesOfAComparison: of many Pods of 12 KiB a comparison reads a small part.
func TestBytesOfAComparison(t *testing.T) {
	const size = 12 << 10
	const n = 2000
	stage(t, 5*time.Minute, func(t *testing.T, w *world) {
		w.pods(n, size)
		p := w.launch(func(_ *config.Config, f *config.Filter) { only(f, "Pod") })
		w.stored(n, time.Hour)
		time.Sleep(6 * time.Minute)
		bytes, runs := p.value(metric.NetBytes, "peer", "storage", "direction", "in"), p.value(metric.SyncRuns)
		time.Sleep(20 * time.Minute)
		runs = p.value(metric.SyncRuns) - runs
		each := (p.value(metric.NetBytes, "peer", "storage", "direction", "in") - bytes) / runs
		t.Logf("%.0f comparisons of %d Pods of 12 KiB read %.1f MB each, %.1f %% of the records", runs, n, each/1e6, 100*each/float64(n*size))
		if most := float64(n*size) / 12; runs < 4 || each > most {
			t.Errorf("each of %.0f comparisons read %.0f bytes, want %.0f at most", runs, each, most)
		}
	})
}

// TestLostRows: rows that storage lost are repaired at 80 % of its capacity, the requests
// that the strategy has in flight divided by the latency.
func TestLostRows(t *testing.T) {
	const latency, inFlight = 87 * time.Millisecond, 30
	const n = 5000
	stageAt(t, 5*time.Minute, latency.String(), func(t *testing.T, w *world) {
		w.pods(n, 500)
		w.launch(func(c *config.Config, f *config.Filter) {
			c.BCS.Strategy, c.BCS.PodQueueNum = pipeline.Keyed, inFlight
			only(f, "Pod")
		})
		w.stored(n, time.Hour)
		time.Sleep(7 * time.Minute)
		for i := range n {
			url := fmt.Sprintf("/state?cluster=%s&kind=Pod&namespace=a&name=web-7d4b9c-%06d", cluster, i)
			w.admin.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodDelete, url, nil))
		}
		if left := w.mock.Store().Live(); left > 10 {
			t.Fatalf("%d rows are left", left)
		}
		from := w.mock.Ledger().Len()
		for w.mock.Ledger().Len() == from {
			time.Sleep(10 * time.Millisecond)
		}
		took := w.stored(n, 2*time.Hour)
		best := time.Duration(n) * latency / inFlight
		share := float64(best) / float64(took)
		t.Logf("%d rows in %s: %.0f %% of the capacity, %.0f/s", n, took, 100*share, float64(inFlight)/latency.Seconds())
		if share < 0.8 {
			t.Errorf("repaired at %.0f %% of the capacity, want 80 %%", 100*share)
		}
	})
}

// TestRestartOfAnUnchangedCluster: after a restart next to nothing is written of what storage
// has, readiness comes soon, and changes meanwhile are as fresh as ever.
func TestRestartOfAnUnchangedCluster(t *testing.T) {
	const latency = 87 * time.Millisecond
	const n = 5000
	stageAt(t, 5*time.Minute, latency.String(), func(t *testing.T, w *world) {
		change := func(c *config.Config, f *config.Filter) {
			c.BCS.Strategy, c.BCS.PodQueueNum = pipeline.Keyed, 30
			only(f, "Pod")
		}
		w.pods(n, 500)
		p := w.launch(change)
		w.stored(n, time.Hour)
		time.Sleep(6 * time.Minute)
		p.stop()
		from := w.mock.Ledger().Len() + 1
		live := map[string]bool{}
		// freshness is that of changes for d, by the end of which they are stored.
		freshness := func(d time.Duration) time.Duration {
			type version struct {
				name string
				rv   uint64
			}
			changed := map[version]int64{}
			from := w.mock.Ledger().Len() + 1
			for i := range int(d / (20 * time.Millisecond)) {
				time.Sleep(20 * time.Millisecond)
				name := fmt.Sprintf("web-7d4b9c-%06d", i%(n/200))
				live[name] = true
				was, _ := w.api.Get(apisim.Pods.Key(), "a", name)
				made, err := w.api.Apply(apisim.Pods.Key(), []byte(strings.Replace(string(was.JSON()), `"padding":"`, `"padding":"y`, 1)))
				if err != nil {
					t.Error(err)
				}
				changed[version{name, made.ResourceVersion}] = time.Now().UnixNano()
			}
			time.Sleep(10 * time.Second)
			var all []time.Duration
			for e := range w.mock.Ledger().From(from) {
				if at, known := changed[version{e.Name, e.ResourceVersion}]; known {
					all = append(all, time.Duration(e.Applied-at))
				}
			}
			if len(all) < len(changed)*9/10 {
				t.Errorf("%d of %d changes were stored as such", len(all), len(changed))
			}
			slices.Sort(all)
			return all[(len(all)*99-1)/100]
		}
		begin := time.Now()
		disturbed := make(chan time.Duration)
		go func() {
			time.Sleep(2 * latency) // storage is asked for first
			disturbed <- freshness(20 * time.Second)
		}()
		p = w.launch(change)
		took := time.Since(begin)
		worse := <-disturbed
		usual := freshness(time.Minute)
		written := 0
		for e := range w.mock.Ledger().From(from) {
			if e.Kind == "Pod" && !live[e.Name] {
				written++
			}
		}
		t.Logf("%d Pods: %d written again, ready after %s; freshness p99 %s after the restart, %s later", n, written, took, worse, usual)
		if written > n/100 || took > time.Minute || worse > 2*usual {
			t.Errorf("want %d written at most, ready within a minute, a p99 of %s at most", n/100, 2*usual)
		}
		if repairs := p.value(metric.SyncRepairs); repairs != 0 {
			t.Errorf("%g repairs", repairs)
		}
	})
}
