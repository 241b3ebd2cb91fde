package watches_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestFirstQueriesShareOneList: 100 at once lead to one list upstream, over real sockets.
func TestFirstQueriesShareOneList(t *testing.T) {
	api := newCluster(t)
	api.put(podsGVR, "a/p", "u1", "")
	h := run(t, api, api.listen(), nil)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			w, err := h.Open(t.Context(), podsGVR, watches.Wait{})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			if got := names(t, w.View); !slices.Equal(got, []string{"a/p"}) {
				t.Errorf("read %v", got)
			}
		})
	}
	all.Wait()
	if n := api.lists(podsGVR); n != 1 {
		t.Errorf("%d lists, want 1", n)
	}
	if s, _ := h.status(podsGVR); s.State != watches.Synced || s.Holders != 0 || s.Objects != 1 || s.Source != watches.Lazy || s.Bytes == 0 || s.ResourceVersion != "101" {
		t.Errorf("%+v", s)
	}
	if n := h.metric("k8swatch_lazy_watches", ""); n != 1 {
		t.Errorf("%v lazy watches counted", n)
	}
	if n := h.metric("k8swatch_lazy_watch_bytes", ""); n <= 0 {
		t.Errorf("%v bytes counted", n)
	}
}

// TestMaskedAndStripped: what is masked for storage is masked for readers, too.
func TestMaskedAndStripped(t *testing.T) {
	api := newCluster(t)
	api.put(podsGVR, "a/p", "u1", `"spec":{"secret":"canary","x":1}`)
	api.put(podsGVR, "a/odd", "u2", `"spec":["canary"]`) // cannot be masked
	h := run(t, api, api.listen(), func(_ *watches.Config, s *watches.Settings) {
		s.Collector.Masks = []object.Mask{{Kind: "Pod", Path: []string{"spec", "secret"}}}
		s.Collector.Namespace, s.Collector.IgnoreNamespaces = "other", []string{"a"} // of the pipeline only
	})
	w := h.open(podsGVR)
	defer w.Close()
	if got := names(t, w.View); !slices.Equal(got, []string{"a/p"}) {
		t.Fatalf("read %v", got)
	}
	s, _ := w.View.Snapshot()
	o, _ := s.Get(view.Name{Namespace: "a", Name: "p"})
	if text := string(o.JSON()); strings.Contains(text, "canary") || strings.Contains(text, "managedFields") || !strings.Contains(text, `"x":1`) {
		t.Error(text)
	}
}

// TestWhatIsNotOpened: each refusal has its error.
func TestWhatIsNotOpened(t *testing.T) {
	api := newCluster(t)
	api.serve(watches.GVR{Group: "x.io", Version: "v1", Resource: "secrets"}, "Secret", true)
	kube := api.listen()
	h := run(t, api, kube, func(c *watches.Config, _ *watches.Settings) { c.MaxWatches = 1 })
	<-h.Known()
	for r, want := range map[watches.GVR]error{
		secretsGVR:                                              watches.ErrDenied,
		{Version: "v2", Resource: "secrets"}:                    watches.ErrDenied, // the same objects, if it were served
		{Version: "v1", Resource: "nothing"}:                    watches.ErrNotServed,
		{Version: "v1", Resource: "bindings"}:                   watches.ErrNotServed,
		{Group: "apps", Version: "v2", Resource: "deployments"}: watches.ErrNotServed,
	} {
		if _, err := h.Open(t.Context(), r, watches.Wait{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", r, err, want)
		}
	}
	h.open(watches.GVR{Group: "x.io", Version: "v1", Resource: "secrets"}).Close()
	var limit *watches.LimitError
	if _, err := h.Open(t.Context(), nodesGVR, watches.Wait{}); !errors.As(err, &limit) || limit.Limit != "resourceWatcher.watches.maxWatches" || limit.Most != 1 {
		t.Errorf("one more than maxWatches: %v", err)
	}
	off := run(t, api, kube, func(c *watches.Config, _ *watches.Settings) { c.Lazy = false; c.Pinned = []string{"v1/nodes"} })
	<-off.Known()
	if _, err := off.Open(t.Context(), podsGVR, watches.Wait{}); !errors.Is(err, watches.ErrNotFollowed) {
		t.Errorf("lazy is off: %v", err)
	}
	off.eventually(5*time.Second, "what is pinned can be opened", func() bool {
		w, err := off.Open(t.Context(), nodesGVR, watches.Wait{})
		if err == nil {
			w.Close()
		}
		return err == nil
	})
}

// TestWaitIsBounded: the first list goes on beyond the wait, and a later query finds it.
func TestWaitIsBounded(t *testing.T) {
	api := newCluster(t)
	release := make(chan struct{})
	api.setFault(func(_ string, r watches.GVR, _ http.ResponseWriter, _ *http.Request) bool {
		if r == podsGVR {
			<-release
		}
		return false
	})
	h := run(t, api, api.listen(), nil)
	<-h.Known()
	var unsynced *watches.UnsyncedError
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	for name, of := range map[string]struct {
		ctx  context.Context
		wait time.Duration
	}{"a wait": {t.Context(), 20 * time.Millisecond}, "a deadline": {ctx, 0}, "none": {t.Context(), -1}} {
		if _, err := h.Open(of.ctx, podsGVR, watches.Wait{For: of.wait}); !errors.As(err, &unsynced) || unsynced.Waited > time.Second {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone := errors.New("gone")
	cancelled, stop := context.WithCancelCause(t.Context())
	stop(gone)
	if _, err := h.Open(cancelled, podsGVR, watches.Wait{}); !errors.Is(err, gone) {
		t.Errorf("cancelled: %v", err)
	}
	if s, _ := h.status(podsGVR); s.State != watches.Starting || s.Holders != 0 {
		t.Errorf("%+v", s)
	}
	close(release)
	h.open(podsGVR).Close()
	if n := api.lists(podsGVR); n != 1 {
		t.Errorf("%d lists, want 1", n)
	}
}

// TestUpstreamRefuses: a 403 is told at once, and tried again by the next query, not by the back-off.
func TestUpstreamRefuses(t *testing.T) {
	api := newCluster(t)
	api.setFault(func(_ string, r watches.GVR, w http.ResponseWriter, _ *http.Request) bool {
		if r == podsGVR {
			refuse(w, 403, "Forbidden")
		}
		return r == podsGVR
	})
	h := run(t, api, api.listen(), nil)
	began := time.Now()
	var unsynced *watches.UnsyncedError
	if _, err := h.Open(t.Context(), podsGVR, watches.Wait{}); !errors.As(err, &unsynced) || unsynced.Err == nil || !strings.Contains(err.Error(), "Forbidden") || time.Since(began) > 4*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	if s, _ := h.status(podsGVR); s.State != watches.Broken || !strings.Contains(s.Error, "Forbidden") {
		t.Errorf("%+v", s)
	}
	api.setFault(nil)
	h.eventually(4*time.Second, "it is followed once it may be", func() bool {
		w, err := h.Open(t.Context(), podsGVR, watches.Wait{})
		if err == nil {
			w.Close()
		}
		return err == nil
	})
}

// TestBeforeWait: it is called once before Open waits, and only then. Its error leaves nothing held.
func TestBeforeWait(t *testing.T) {
	virtual(t, nil, func(t *testing.T, api *cluster, h *harness) {
		begun := make(chan struct{}) // no list of Deployments before: it might be complete before anybody waits
		api.setFault(func(_ string, r watches.GVR, _ http.ResponseWriter, req *http.Request) bool {
			switch r {
			case podsGVR:
				<-req.Context().Done()
			case deployGVR:
				<-begun
			}
			return r == podsGVR
		})
		full := errors.New("no room")
		calls := 0
		open := func(r watches.GVR, err error) error {
			calls = 0
			w, got := h.Open(t.Context(), r, watches.Wait{Begin: func() error {
				if calls++; r == deployGVR {
					close(begun)
				}
				return err
			}})
			if got == nil {
				w.Close()
			}
			return got
		}
		if err := open(podsGVR, full); !errors.Is(err, full) || calls != 1 {
			t.Errorf("refused: %v, %d calls", err, calls)
		}
		if s, ok := h.status(podsGVR); !ok || s.Holders != 0 {
			t.Errorf("%+v", s)
		}
		var unsynced *watches.UnsyncedError
		if err := open(podsGVR, nil); !errors.As(err, &unsynced) || calls != 1 {
			t.Errorf("it waits: %v, %d calls", err, calls)
		}
		if err := open(deployGVR, nil); err != nil || calls != 1 {
			t.Errorf("a first list: %v, %d calls", err, calls)
		}
		if err := open(deployGVR, full); err != nil || calls != 0 {
			t.Errorf("nothing to wait for: %v, %d calls", err, calls)
		}
		if err := open(secretsGVR, full); !errors.Is(err, watches.ErrDenied) || calls != 0 {
			t.Errorf("denied: %v, %d calls", err, calls)
		}
	})
}
