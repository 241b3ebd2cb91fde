package watches_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// show is a catalogue in one line.
func show(c *watches.Catalogue) string {
	var all []string
	for _, g := range c.Groups {
		for _, v := range g.Versions {
			var kinds []string
			for _, k := range v.Resources {
				kinds = append(kinds, k.Name)
			}
			all = append(all, strings.TrimPrefix(g.Name+"/"+v.Name, "/")+"="+strings.Join(kinds, ","))
		}
	}
	return strings.Join(all, " ")
}

const builtIn = "v1=nodes,pods apiextensions.k8s.io/v1=customresourcedefinitions apps/v1=deployments"

// things is a custom kind.
func things(version string) watches.GVR {
	return watches.GVR{Group: "x.io", Version: version, Resource: "things"}
}

func TestServed(t *testing.T) {
	api := newCluster(t)
	h := run(t, api, api.listen(), nil)
	if c := h.Served(); c == nil {
		t.Error("nil before it is known")
	}
	<-h.Known()
	if d := cmp.Diff(builtIn, show(h.Served())); d != "" {
		t.Error(d)
	}
	want := watches.Kind{Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"}, Verbs: []string{"get", "list", "watch"}}
	want.Version, want.Name, want.Kind, want.Namespaced = "v1", "pods", "Pod", true
	if got, ok := h.Served().Find(podsGVR); !ok || cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
	if got, ok := h.Served().FindKind("apps", "v1", "Deployment"); !ok || got.Name != "deployments" {
		t.Errorf("%+v", got)
	}
}

// ended waits for the end of a watch.
func ended(t *testing.T, h *harness, w *watches.Watch) {
	t.Helper()
	s := must(w.View.Snapshot())
	cursor := w.View.FollowFrom(s)
	h.eventually(20*time.Second, w.Kind.String()+" ends", func() bool {
		_, _, err := cursor.Poll(make([]view.Change, 0, 99))
		return errors.Is(err, view.ErrEnded)
	})
}

// TestCustomKinds are served soon after somebody asks for them in vain, and end when they are served no more.
func TestCustomKinds(t *testing.T) {
	virtual(t, nil, func(t *testing.T, api *cluster, h *harness) {
		<-h.Known()
		time.Sleep(10 * time.Second)
		api.define(true, "v1beta1", "v1")
		if _, err := h.Open(t.Context(), things("v1"), watches.Wait{}); !errors.Is(err, watches.ErrNotServed) {
			t.Errorf("before discovery: %v", err)
		}
		time.Sleep(3 * time.Second)
		if got := show(h.Served()); strings.Count(got, "=things") != 2 {
			t.Errorf("%s", got)
		}
		beta, stable := h.open(things("v1beta1")), h.open(things("v1"))
		defer beta.Close()
		defer stable.Close()
		api.undefine("v1beta1")
		time.Sleep(10 * time.Second)
		ended(t, h, beta)
		if stable.Health().Broken != nil || beta.View == stable.View {
			t.Error("the watch of the other version has ended")
		}
		api.undefine("v1")
		api.define(false, "v1") // another one under the name
		api.put(things("v1"), "new", "u2", "")
		time.Sleep(time.Minute)
		ended(t, h, stable)
		now := h.open(things("v1"))
		defer now.Close()
		if got := names(t, now.View); now.Kind.Namespaced || !slices.Equal(got, []string{"/new"}) {
			t.Errorf("%+v: %v", now.Kind, got)
		}
	})
}

// TestKindRemovedWhileWaiting: who waits for its first list learns that it is not served.
func TestKindRemovedWhileWaiting(t *testing.T) {
	api := newCluster(t)
	api.define(true, "v1")
	var asked atomic.Bool
	gone := make(chan struct{})
	api.setFault(func(_ string, r watches.GVR, w http.ResponseWriter, req *http.Request) bool {
		if r == things("v1") {
			asked.Store(true)
			select {
			case <-gone:
				refuse(w, 404, "NotFound")
			case <-req.Context().Done():
			}
		}
		return r == things("v1")
	})
	h := run(t, api, api.listen(), nil)
	h.eventually(5*time.Second, "served", func() bool { _, ok := h.Served().Find(things("v1")); return ok })
	opened := make(chan error, 1)
	go func() {
		_, err := h.Open(t.Context(), things("v1"), watches.Wait{For: 20 * time.Second})
		opened <- err
	}()
	h.eventually(5*time.Second, "listed", asked.Load)
	began := time.Now()
	api.undefine("v1")
	close(gone)
	if err := <-opened; !errors.Is(err, watches.ErrNotServed) || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

// TestDiscoveryKeepsUp in virtual time: every minute, at once after a 404, and a group that fails stays what it was.
func TestDiscoveryKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(t)
		api.setFault(func(verb string, _ watches.GVR, w http.ResponseWriter, _ *http.Request) bool {
			if verb == "DISCOVER" {
				refuse(w, 503, "ServiceUnavailable")
			}
			return verb == "DISCOVER"
		})
		h := run(t, api, api.inMemory(), nil)
		defer h.stop()
		time.Sleep(time.Minute)
		var unsynced *watches.UnsyncedError
		if _, err := h.Open(t.Context(), podsGVR, watches.Wait{}); !errors.As(err, &unsynced) || !strings.Contains(err.Error(), "ServiceUnavailable") || unsynced.Waited != 5*time.Second {
			t.Errorf("nothing is known yet: %v", err)
		}
		api.setFault(nil)
		h.open(podsGVR).Close() // within 5 s
		metricsGVR := watches.GVR{Group: "metrics.k8s.io", Version: "v1", Resource: "pods"}
		api.serve(metricsGVR, "PodMetrics", true)
		time.Sleep(61 * time.Second)
		const all = builtIn + " metrics.k8s.io/v1=pods"
		same := h.Served()
		if got := show(h.Served()); got != all {
			t.Errorf("after a minute: %s", got)
		}
		w := h.open(metricsGVR)
		defer w.Close()
		api.mu.Lock()
		api.stale["metrics.k8s.io/v1"], api.stale["apps/v1"] = true, true
		api.mu.Unlock()
		time.Sleep(5 * time.Minute)
		if got := show(h.Served()); got != all || h.Served() != same || w.Health().Broken != nil {
			t.Errorf("while groups fail: %s, %+v", got, w.Health())
		}
		api.mu.Lock()
		clear(api.stale)
		api.mu.Unlock()
		time.Sleep(time.Minute)
		api.mu.Lock()
		api.namesNothing = true // kinds are served all the same: their watches go on
		api.mu.Unlock()
		time.Sleep(61 * time.Second)
		if got := show(h.Served()); got != all {
			t.Errorf("while discovery names nothing: %s", got)
		}
		api.mu.Lock()
		api.namesNothing = false
		api.mu.Unlock()
		time.Sleep(15 * time.Second) // the next look is 45 s or more away
		api.unserve(metricsGVR)      // the watch ends, and its successor gets a 404
		time.Sleep(15 * time.Second)
		if got := show(h.Served()); got != builtIn {
			t.Errorf("after a 404: %s", got)
		}
		s, _ := w.View.Snapshot()
		if _, _, err := w.View.FollowFrom(s).Poll(nil); !errors.Is(err, view.ErrEnded) {
			t.Errorf("its watch: %v", err)
		}
		api.unserve(nodesGVR) // which the catalogue still names
		began := time.Now()
		if _, err := h.Open(t.Context(), nodesGVR, watches.Wait{}); !errors.Is(err, watches.ErrNotServed) || time.Since(began) > 4*time.Second {
			t.Errorf("a 404 to the first list: %v after %s", err, time.Since(began))
		}
	})
}
