package collector_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
)

// often compares all the time, and gives a watch half a second.
var often = collector.Verify{Period: 20 * time.Millisecond, Grace: 500 * time.Millisecond}

func (h *harness) differences(what string) float64 {
	h.t.Helper()
	return h.metric("k8swatch_cache_differences_total", "kind=Pod", "difference="+what)
}

// TestRestoredCluster: a cluster that is put back to an earlier version is listed again and taken as it is, when its
// watches break or end, though the watch at the old version is opened and silent there.
func TestRestoredCluster(t *testing.T) {
	for _, tc := range []struct {
		name  string
		plain bool
		lasts time.Duration // of the watch before: after a short one the reflector lists again
		order bool          // it ends in order, after it has brought something
	}{
		{"watch", false, 1100 * time.Millisecond, false}, {"list", false, 0, false}, {"plain watch", true, 1100 * time.Millisecond, false},
		{"in order", false, 1100 * time.Millisecond, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t)
			api.plain = tc.plain
			for range 600 {
				api.put("pods", "a/changed", "c1", "")
			}
			api.put("pods", "a/gone", "g1", "")
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, PlainList: tc.plain})
			h.expect("put Pod/a/changed c1", "put Pod/a/gone g1")
			api.put("pods", "a/later", "l1", "")
			h.expect("put Pod/a/later l1")
			time.Sleep(tc.lasts)
			api.restore(200, tc.order)
			api.put("pods", "a/changed", "c1", "")
			api.put("pods", "a/missing", "m1", "")
			h.expect("put Pod/a/changed c1", "put Pod/a/missing m1", "delete Pod/a/gone g1", "delete Pod/a/later l1")
			api.put("pods", "a/missing", "m1", "") // the watch goes on from there
			h.expect("put Pod/a/missing m1")
			if n := h.differences("restored"); n != 1 {
				t.Errorf("%v restores counted", n)
			}
			h.eventually("no longer lost", func() bool { return len(h.Lost()) == 0 })
		})
	}
}

// TestRestoredClusterThatHoldsWatches: a real apiserver does not even answer a watch from a version that
// it does not have yet.
func TestRestoredClusterThatHoldsWatches(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/gone", "g1", "")
	var restored atomic.Bool
	api.fault = func(_ string, _ int, _ http.ResponseWriter, r *http.Request) bool {
		q := r.URL.Query()
		if v, _ := strconv.Atoi(q.Get("resourceVersion")); q.Get("watch") != "true" || v < 100 || !restored.Load() {
			return false
		}
		<-r.Context().Done()
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/gone g1")
	time.Sleep(1100 * time.Millisecond) // after a shorter watch the reflector lists again
	restored.Store(true)
	api.restore(50, false)
	api.put("pods", "a/x", "x1", "")
	h.expect("put Pod/a/x x1", "delete Pod/a/gone g1")
}

// TestRecreatedCluster: another cluster behind the same address has other uids.
func TestRecreatedCluster(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/x x1")
	time.Sleep(1100 * time.Millisecond)
	api.restore(50, false)
	api.put("pods", "a/x", "x2", "")
	if e := h.next(); e.UID != "x2" || e.ResourceVersion != 51 || !e.Older {
		t.Errorf("got %+v", e)
	}
}

// TestLowerBookmark: a bookmark below what was seen makes the collector ask.
func TestLowerBookmark(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	api.put("pods", "a/y", "y1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/x x1", "put Pod/a/y y1")
	api.mu.Lock()
	api.rv = 50
	delete(api.objects["pods"], "a/y")
	api.mu.Unlock()
	api.send("pods", bookmarkFrame("Pod", 50, false))
	h.expect("delete Pod/a/y y1")
}

// TestBookmarkIsSeen: a version that a bookmark has brought was seen.
func TestBookmarkIsSeen(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Verify: often})
	h.expect("put Pod/a/x x1")
	api.mu.Lock()
	api.rv = 900
	api.mu.Unlock()
	api.send("pods", bookmarkFrame("Pod", 900, false))
	time.Sleep(200 * time.Millisecond)
	api.mu.Lock()
	api.rv = 500 // at which nothing has changed
	api.mu.Unlock()
	h.eventually("restored", func() bool { return h.differences("restored") > 0 })
}

// TestRefusedListsAreNoLife: while only older lists come, the kind is lost.
func TestRefusedListsAreNoLife(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Verify: collector.Verify{Period: -1}})
	h.expect("put Pod/a/x x1")
	api.restore(50, false)
	h.eventually("lost", func() bool { return len(h.Lost()) == 1 })
	for range 200 { // whatever the apiserver answers meanwhile
		if len(h.Lost()) != 1 {
			t.Fatal("an answer that was refused counts as a sign of life")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLostChanges: what a watch never brought is found, and handed over once, in order.
func TestLostChanges(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.page = 2
	for i := range 5 {
		api.put("pods", fmt.Sprint("a/p", i), fmt.Sprint("u", i), "")
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Verify: often})
	h.expect("put Pod/a/p0 u0", "put Pod/a/p1 u1", "put Pod/a/p2 u2", "put Pod/a/p3 u3", "put Pod/a/p4 u4")
	api.silently(func() { api.delete("pods", "a/p3") })
	h.expect("delete Pod/a/p3 u3")
	var version int
	api.silently(func() { version = api.put("pods", "a/p1", "u1", `"labels":{"a":"b"}`) })
	if e := h.next(); show(e) != "put Pod/a/p1 u1" || e.ResourceVersion != uint64(version) {
		t.Errorf("got %s of version %d, want %d", show(e), e.ResourceVersion, version)
	}
	api.silently(func() { api.put("pods", "a/new", "n1", "") })
	h.expect("put Pod/a/new n1")
	api.silently(func() {
		api.delete("pods", "a/p4")
		api.put("pods", "a/p4", "u9", "")
	})
	h.expect("put Pod/a/p4 u9")
	api.put("pods", "a/p1", "u1", "") // and the watch goes on
	h.expect("put Pod/a/p1 u1")
	time.Sleep(time.Second)
	for what, want := range map[string]float64{"lost": 4, "restored": 0} {
		if got := h.differences(what); got != want {
			t.Errorf("%s: %v counted, want %v", what, got, want)
		}
	}
	received, filtered := h.metric("k8swatch_events_received_total", "kind=Pod"), h.metric("k8swatch_events_filtered_total", "kind=Pod")
	if received-filtered != 10 {
		t.Errorf("received %v, filtered %v, handed over 10", received, filtered)
	}
}

// TestLostChangesOfASelection: an object that left the selection is gone, though it exists.
func TestLostChangesOfASelection(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	var left atomic.Bool
	api.fault = func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
		q := r.URL.Query()
		if q.Get("labelSelector") == "" || !left.Load() || q.Get("watch") == "true" {
			return false
		}
		_, _ = fmt.Fprint(w, `{"kind":"PodList","metadata":{"resourceVersion":"150"},"items":[]}`)
		return true
	}
	selected := pods
	selected.LabelSelector = "app=x"
	h := start(t, api, collector.Config{Resources: []collector.Resource{selected}, PlainList: true, Verify: often})
	h.expect("put Pod/a/x x1")
	left.Store(true)
	h.expect("delete Pod/a/x x1")
}

// TestSlowWatchIsNoLoss: a watch that is behind the list by less than the grace brings its
// changes itself; and what changes all the time is no difference.
func TestSlowWatchIsNoLoss(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Verify: often})
	h.expect("put Pod/a/x x1")
	for i := range 10 {
		api.mu.Lock()
		first := len(api.history)
		api.mu.Unlock()
		api.silently(func() {
			api.put("pods", "a/x", "x1", "")
			api.put("pods", "a/new", "n1", "")
		})
		time.Sleep(150 * time.Millisecond)
		api.mu.Lock() // the watch catches up
		for _, key := range []string{"a/x", "a/new"} {
			api.history = append(api.history[:first:first], api.history[first:]...)
			api.history = append(api.history, change{rv: api.rv, plural: "pods", kind: "MODIFIED", key: key, object: api.objects["pods"][key]})
		}
		api.notify()
		api.mu.Unlock()
		h.expect("put Pod/a/x x1", "put Pod/a/new n1")
		if i%2 == 1 {
			api.delete("pods", "a/new")
			h.expect("delete Pod/a/new n1")
		}
	}
	for _, what := range []string{"lost", "restored"} {
		if n := h.differences(what); n != 0 {
			t.Errorf("%s: %v counted", what, n)
		}
	}
}

// TestOpaqueVersionsAreComparedByUID: nothing else can be said of them.
func TestOpaqueVersionsAreComparedByUID(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	var object atomic.Value
	object.Store(`{"metadata":{"name":"x","namespace":"a","uid":"x1","resourceVersion":"v-one"}}`)
	api.fault = func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("watch") == "true" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		}
		_, _ = fmt.Fprintf(w, `{"kind":"PodList","metadata":{"resourceVersion":"opaque"},"items":[%s]}`, object.Load())
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, PlainList: true, Verify: often})
	h.expect("put Pod/a/x x1")
	object.Store(`{"metadata":{"name":"x","namespace":"a","uid":"x2","resourceVersion":"v-two"}}`)
	h.expect("put Pod/a/x x2")
	object.Store("")
	h.expect("delete Pod/a/x x2")
}

// TestComparisonPastAnExpiredPage: a comparison whose list expires between two pages goes on with the token that it
// is given.
func TestComparisonPastAnExpiredPage(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.page = 2
	for i := range 5 {
		api.put("pods", fmt.Sprintf("a/p%d", i), fmt.Sprintf("u%d", i), "")
	}
	var expired atomic.Int64
	api.fault = func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
		if !isRead(r) || r.URL.Query().Get("continue") != "2" || expired.Add(1) != 1 {
			return false
		}
		w.WriteHeader(http.StatusGone)
		_, _ = fmt.Fprint(w, strings.Replace(statusJSON(410, "Expired", "too old"), `"metadata":{}`, `"metadata":{"continue":"1"}`, 1))
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Verify: often})
	h.expect("put Pod/a/p0 u0", "put Pod/a/p1 u1", "put Pod/a/p2 u2", "put Pod/a/p3 u3", "put Pod/a/p4 u4")
	api.silently(func() { api.delete("pods", "a/p4") })
	h.expect("delete Pod/a/p4 u4")
	if expired.Load() == 0 {
		t.Error("no page has expired")
	}
}
