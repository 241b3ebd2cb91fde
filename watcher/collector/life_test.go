package collector_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

// TestMoveResource: a kind that moves to another version of its API keeps what is cached,
// sends it again, and deletes only what went meanwhile.
func TestMoveResource(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/x", "1", "")
	api.put("pods", "a/y", "2", "")
	v2 := pods
	v2.Version = "v2"
	var held atomic.Bool
	release := make(chan struct{})
	api.fault = func(_ string, _ int, _ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/api/v2/") && !held.Swap(true) {
			<-release
		}
		return false
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/x 1", "put Pod/a/y 2")
	other := v2
	other.Group = "x.io"
	if err := h.MoveResource(other); !errors.Is(err, collector.ErrUnknownKind) {
		t.Errorf("moving to another group: %v", err)
	}
	if err := h.MoveResource(v2); err != nil {
		t.Fatal(err)
	}
	h.eventually("v2 is asked for", held.Load)
	if _, ok := h.Get(object.Key{Kind: "Pod", Namespace: "a", Name: "y"}); !ok || !h.KindSynced("Pod") {
		t.Error("the cache is empty while the kind moves")
	}
	api.delete("pods", "a/y")
	close(release)
	h.expect("put Pod/a/x 1", "delete Pod/a/y 2")
	api.put("pods", "a/z", "3", "")
	h.expect("put Pod/a/z 3")
	if got := h.Resources(); len(got) != 1 || got[0] != v2 {
		t.Errorf("collects %v", got)
	}
}

// TestBrokenLists: an apiserver that begins every list and ends none is not heard of.
func TestBrokenLists(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/x", "1", "")
	api.fault = func(_ string, _ int, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"x"`))
		return true
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, PlainList: true})
	h.eventually("failing", func() bool { return h.States()[0].Failed != nil })
	before := h.States()[0].Silent
	tries := len(api.seen())
	h.eventually("tried again", func() bool { return len(api.seen()) > tries+2 })
	if s := h.States()[0]; s.Failed == nil || s.Silent <= before {
		t.Errorf("silent for %s before, then %+v", before, s)
	}
}

// TestNotFound: a 404 is told, and forgotten when the kind is served again.
func TestNotFound(t *testing.T) {
	api := newFakeAPI(t)
	var gone atomic.Bool
	api.fault = func(_ string, _ int, w http.ResponseWriter, _ *http.Request) bool {
		if gone.Load() {
			fail(w, 404, "NotFound", "the server could not find the requested resource")
		}
		return gone.Load()
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.eventually("synced", func() bool { return h.KindSynced("Pod") })
	if h.NotServed("Pod") {
		t.Error("not served, it says")
	}
	gone.Store(true)
	api.disconnect("pods")
	<-h.NotFound()
	if !h.NotServed("Pod") {
		t.Error("served, it says")
	}
	gone.Store(false)
	h.eventually("served again", func() bool { return !h.NotServed("Pod") })
}
