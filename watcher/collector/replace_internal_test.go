package collector

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/watcher/object"
)

// replaced lists n objects into a store and returns how many bytes one Replace of them takes per object, beyond the
// list itself. again: they are in the store already, but for one that is gone.
func replaced(t testing.TB, n int, again bool) float64 {
	t.Helper()
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{metrics: m, logger: discard, sink: Discard}
	st := c.newKind(Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}).store
	st.ctx = t.Context()
	list := make([]any, n)
	for i := range list {
		list[i] = &item{obj: &object.Object{Key: object.Key{Kind: "Pod", Namespace: "default", Name: fmt.Sprint("pod-", i)}, UID: "u", ResourceVersion: 1}}
	}
	if again {
		if err := st.Replace(list, "1"); err != nil {
			t.Fatal(err)
		}
		list = list[1:]
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := st.Replace(list, "2"); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if st.len() != len(list) {
		t.Fatalf("%d objects, want %d", st.len(), len(list))
	}
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
}

// TestReplaceNeedsNoSecondStore: a list is merged into the store in place.
func TestReplaceNeedsNoSecondStore(t *testing.T) {
	const n = 100_000
	first, again := replaced(t, n, false), replaced(t, n, true)
	t.Logf("bytes per object: first %.0f, again %.0f", first, again)
	// A map of names to objects takes 70 to 90 bytes per object, and what is sent 16.
	if first > 110 {
		t.Errorf("the first list took %.0f bytes per object, want at most 110: the map and what is sent", first)
	}
	if again > 40 {
		t.Errorf("a list of the same objects took %.0f bytes per object, want at most 40", again)
	}
}

// BenchmarkReplace reports the same for a million.
func BenchmarkReplace(b *testing.B) {
	for name, again := range map[string]bool{"first": false, "again": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(replaced(b, 1_000_000, again), "B/object")
			}
		})
	}
}
