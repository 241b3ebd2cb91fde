package notify_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// apiserver lists one Pod and then sends the frames it is given, to whom asks with the
// selector.
type apiserver struct {
	*httptest.Server
	frames chan string

	mu        sync.Mutex
	selectors map[string]int // guarded by mu; of requests
}

func newAPIServer(t *testing.T) *apiserver {
	a := &apiserver{frames: make(chan string), selectors: map[string]int{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() { a.CloseClientConnections(); a.Close() })
	return a
}

func (a *apiserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.selectors[r.URL.Query().Get("labelSelector")]++
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"9","labels":{"app":"x"}}}]}`)
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case f := <-a.frames:
			fmt.Fprintln(w, f)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

type discard struct{}

func (discard) Enqueue(context.Context, pipeline.Event) error { return nil }

// noOpen is a Kinds that must not be asked to open.
type noOpen struct{ *kind }

func (n noOpen) Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error) {
	n.t.Error("a dedicated subscription opened the shared kind")
	return nil, watches.ErrNotServed
}

// TestDedicated: a subscription with a watch of its own asks the apiserver for its objects
// only, and ends that watch at its end.
func TestDedicated(t *testing.T) {
	api := newAPIServer(t)
	r := newReceiver(t, nil)
	made := func(res collector.Resource, v func(collector.Resource) *view.View) (*collector.Collector, error) {
		return collector.New(collector.Config{Resources: []collector.Resource{res}, PlainList: true},
			collector.Settings{Client: &rest.Config{Host: api.URL}, Sink: discard{}, View: v})
	}
	_, stop := run(t, noOpen{newKind(t, view.Config{})}, one(t, r.URL, `"initial":"list","dedicated":true,"labelSelector":"app=x"`), func(s *notify.Settings) { s.Collector = made })
	r.expect("ADDED a 9")
	api.frames <- `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"11","labels":{"app":"x"}}}}`
	api.frames <- `{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"12","labels":{"app":"y"}}}}`
	r.expect("ADDED a 9", "MODIFIED a 11", "DELETED a 12")
	stop()
	api.mu.Lock()
	defer api.mu.Unlock()
	if len(api.selectors) != 1 || api.selectors["app=x"] < 2 {
		t.Errorf("requests by selector: %v", api.selectors)
	}
	if _, err := notify.New(one(t, r.URL, `"dedicated":true,"labelSelector":"a"`), notify.Settings{Kinds: newKind(t, view.Config{})}); err == nil {
		t.Error("without Settings.Collector it was taken")
	}
}
