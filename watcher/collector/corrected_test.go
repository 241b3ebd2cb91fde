package collector_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

// quietFor fails if an event comes within d.
func (h *harness) quietFor(d time.Duration) {
	h.t.Helper()
	select {
	case e := <-h.sink:
		h.t.Errorf("unexpected %s at %d", show(e), e.ResourceVersion)
	case <-time.After(d):
	}
}

// isRead reports whether a request reads part of a list, as a comparison does.
func isRead(r *http.Request) bool {
	q := r.URL.Query()
	return q.Get("watch") == "" && q.Get("limit") != ""
}

// isVersion reports whether a request asks for the apiserver's version.
func isVersion(r *http.Request) bool { return isRead(r) && r.URL.Query().Get("limit") == "1" }

// TestRestoredWithUnreadable: what a restored cluster has in an unreadable form stays as it was,
// until it can be read: though its version is lower then than in the history that is no more.
func TestRestoredWithUnreadable(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent=", silent), func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t)
			for range 600 {
				api.put("pods", "a/x", "x1", "")
			}
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Verify: often})
			h.expect("put Pod/a/x x1")
			time.Sleep(1100 * time.Millisecond)
			api.restore(200, false)
			api.set("pods", "a/x", `{"metadata":{"namespace":"a","name":7}}`)
			h.eventually("listed again", func() bool { return h.filtered("Pod", "unreadable") > 0 && len(h.Lost()) == 0 })
			put := func() { api.put("pods", "a/x", "x1", "") }
			if silent {
				api.silently(put)
			} else {
				put()
			}
			if e := h.next(); show(e) != "put Pod/a/x x1" || e.ResourceVersion > 210 || !e.Older {
				t.Errorf("got %s at %d, older: %v", show(e), e.ResourceVersion, e.Older)
			}
		})
	}
}

// TestRestoredDeletes: the deletion of what a restored cluster does not have is no newer than
// its list, or a pipeline would take what follows for older.
func TestRestoredDeletes(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	for range 600 {
		api.put("pods", "a/x", "x1", "")
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/x x1")
	time.Sleep(1100 * time.Millisecond)
	api.restore(200, false)
	if e := h.next(); show(e) != "delete Pod/a/x x1" || e.ResourceVersion != 200 {
		t.Errorf("got %s at %d", show(e), e.ResourceVersion)
	}
}

// TestUnreadableHidesOnlyItself: a lost deletion is found beside an object that cannot be read.
func TestUnreadableHidesOnlyItself(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	for _, p := range []string{"a/x", "b/bad", "c/x"} {
		api.put("pods", p, p, "")
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Verify: often})
	h.expect("put Pod/a/x a/x", "put Pod/b/bad b/bad", "put Pod/c/x c/x")
	api.set("pods", "b/bad", `{"metadata":{"namespace":"b","name":"bad","uid":{},"resourceVersion":"5"}}`)
	api.set("pods", "c/bad", `{"metadata":{"namespace":"c","name":7}}`)
	api.silently(func() {
		api.delete("pods", "a/x")
		api.delete("pods", "c/x")
	})
	h.expect("delete Pod/a/x a/x")
	h.quietFor(time.Second)
}

// TestNamelessUnreadableIsForgotten: once a comparison can read everything.
func TestNamelessUnreadableIsForgotten(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Verify: often})
	h.expect("put Pod/a/x x1")
	api.set("pods", "a/bad", `{"metadata":null}`)
	api.send("pods", `{"type":"MODIFIED","object":{"kind":"Pod","metadata":null}}`+"\n")
	left := object.Key{Kind: "Pod", Namespace: "b", Name: "left"}
	h.eventually("an unreadable object", func() bool { return h.Unreadable(left) })
	had := h.metric("k8swatch_cache_checks_total", "kind=Pod")
	h.eventually("some comparisons", func() bool { return h.metric("k8swatch_cache_checks_total", "kind=Pod") > had+6 })
	if !h.Unreadable(left) {
		t.Error("forgotten while it is there")
	}
	api.set("pods", "a/bad", "")
	h.eventually("it is forgotten", func() bool { return !h.Unreadable(left) })
}

// TestUnorderedVersions: lists without a version, or at one below their objects' own, are no
// sign of a restored cluster.
func TestUnorderedVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0", "3", "opaque"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t)
			const x = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"a","uid":"x1","resourceVersion":"7"}}`
			api.fault = func(_ string, n int, w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("watch") != "true" {
					_, _ = fmt.Fprintf(w, `{"kind":"PodList","metadata":{"resourceVersion":%q},"items":[%s]}`, version, x)
					return true
				}
				_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", x)
				if n > 1 { // a version of its own
					_, _ = fmt.Fprintln(w, `{"type":"ADDED","object":`+strings.NewReplacer(`"x"`, `"new"`, `"x1"`, `"n1"`, `"7"`, `"2"`).Replace(x)+`}`)
				}
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(300 * time.Millisecond):
				}
				return true
			}
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, PlainList: true})
			h.expect("put Pod/a/x x1")
			h.expect("put Pod/a/new n1")
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
				select {
				case <-h.sink: // the object comes and goes with the watches
				case <-time.After(5 * time.Millisecond):
				}
				if lost := h.Lost(); len(lost) > 0 {
					t.Fatal(lost)
				}
			}
			if n := h.differences("restored"); n != 0 {
				t.Errorf("%v restores counted", n)
			}
		})
	}
}

// TestOneLowerVersion: one lower answer proves no restore: the second may not come, or be of a
// server that has caught up.
func TestOneLowerVersion(t *testing.T) {
	t.Parallel()
	for _, second := range []string{"fails", "is higher"} {
		t.Run(second, func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t)
			api.put("pods", "a/x", "x1", "")
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
			h.expect("put Pod/a/x x1")
			var asked atomic.Int32
			api.mu.Lock()
			api.fault = func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
				if !isVersion(r) {
					return false
				}
				switch n := asked.Add(1); {
				case n == 1:
					_, _ = fmt.Fprint(w, `{"kind":"PodList","metadata":{"resourceVersion":"50"},"items":[]}`)
					return true
				case n == 2 && second == "fails":
					fail(w, http.StatusForbidden, "Forbidden", "no")
					return true
				}
				return false
			}
			api.mu.Unlock()
			api.send("pods", bookmarkFrame("Pod", 50, false)) // a reason to ask
			h.eventually("the version is asked for twice", func() bool { return asked.Load() >= 2 })
			h.quietFor(500 * time.Millisecond)
			if n := h.differences("restored"); n != 0 || len(h.Lost()) > 0 {
				t.Errorf("%v restores counted, lost %v", n, h.Lost())
			}
			if lists := h.metric("k8swatch_relists_total", "kind=Pod"); (second == "is higher") != (lists == 1) {
				t.Errorf("listed again %v times", lists)
			}
		})
	}
}

// TestRestoredRacesPast: a restored apiserver that has passed what was seen when it is asked again
// is listed, and the content decides.
func TestRestoredRacesPast(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", `"labels":{"from":"before"}`)
	api.put("pods", "a/y", "y1", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/x x1", "put Pod/a/y y1")
	var asked atomic.Int32
	api.mu.Lock()
	api.fault = func(_ string, _ int, w http.ResponseWriter, r *http.Request) bool {
		if isVersion(r) && asked.Add(1) == 1 {
			_, _ = fmt.Fprint(w, `{"kind":"PodList","metadata":{"resourceVersion":"50"},"items":[]}`)
			return true
		}
		return false
	}
	api.mu.Unlock()
	time.Sleep(1100 * time.Millisecond)
	api.restore(100, false)
	api.silently(func() { api.put("pods", "a/x", "x1", `"labels":{"from":"after"}`) }) // at the same version
	for range 3 {
		api.silently(func() { api.put("pods", "a/z", "z1", "") })
	}
	h.expect("put Pod/a/x x1", "put Pod/a/z z1", "delete Pod/a/y y1")
}

// TestVersionsWithoutSelectors: an apiserver looks through all of etcd for the one object that a
// selector lets through.
func TestVersionsWithoutSelectors(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	api.put("pods", "a/x", "x1", "")
	var asked atomic.Int32
	api.fault = func(_ string, _ int, _ http.ResponseWriter, r *http.Request) bool {
		if isVersion(r) {
			if asked.Add(1); r.URL.Query().Get("labelSelector") != "" {
				t.Error("the version was asked for with a selector")
			}
		}
		return false
	}
	selected := pods
	selected.LabelSelector = "app=x"
	h := start(t, api, collector.Config{Resources: []collector.Resource{selected}, Verify: often})
	h.expect("put Pod/a/x x1")
	h.eventually("the version is asked for", func() bool { return asked.Load() > 0 })
}
