package collector_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
)

// TestFirstWatchesEndApart: 20 kinds that begin together do not come back together, whether
// their watch is a streaming list that falls silent or was asked for with a time.
func TestFirstWatchesEndApart(t *testing.T) {
	const kinds, idle = 20, 6 * time.Second
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t)
			var mu sync.Mutex
			began, lasted := map[string]time.Time{}, map[string]float64{} // seconds
			api.fault = func(plural string, n int, w http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				first, seen := began[plural]
				switch {
				case n == 0: // a list
				case plain && lasted[plural] == 0:
					lasted[plural], _ = strconv.ParseFloat(r.URL.Query().Get("timeoutSeconds"), 64)
				case !seen:
					began[plural] = time.Now()
				case lasted[plural] == 0:
					lasted[plural] = time.Since(first).Seconds()
				}
				return false
			}
			var all []collector.Resource
			for i := range kinds {
				r := collector.Resource{Group: "x.io", Version: "v1", Name: fmt.Sprintf("k%ds", i), Kind: fmt.Sprint("K", i)}
				all = append(all, r)
			}
			c := collector.Config{Resources: all, PlainList: plain, WatchIdle: idle}
			if plain {
				c.WatchIdle = collector.DefaultWatchIdle
			}
			h := start(t, api, c)
			h.eventually("the first watches have ended", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(lasted) == kinds
			})
			mu.Lock()
			defer mu.Unlock()
			var times []float64
			for _, s := range lasted {
				times = append(times, s/c.WatchIdle.Seconds())
			}
			slices.Sort(times)
			t.Log(strings.Trim(fmt.Sprintf("%.2f", times), "[]"))
			if spread := times[kinds-2] - times[1]; spread < 0.25 {
				t.Errorf("18 of 20 first watches end within %.0f %% of the longest silence", 100*spread)
			}
			if longest := times[kinds-1]; plain && longest > 0.9 {
				t.Errorf("one was asked for with %.0f %% of the longest silence", 100*longest)
			}
		})
	}
}
