package watches_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// virtual runs a test in virtual time.
func virtual(t *testing.T, change func(*watches.Config, *watches.Settings), test func(t *testing.T, api *cluster, h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(t)
		h := run(t, api, api.inMemory(), change)
		defer h.stop()
		<-h.Known()
		test(t, api, h)
	})
}

// followed reports whether a kind is followed.
func (h *harness) followed(r watches.GVR) bool { _, ok := h.status(r); return ok }

// TestIdleWatchesEnd after the TTL, counted from the last use; who holds one keeps it.
func TestIdleWatchesEnd(t *testing.T) {
	virtual(t, func(c *watches.Config, _ *watches.Settings) { c.Pinned = []string{"v1/nodes"} }, func(t *testing.T, api *cluster, h *harness) {
		held, idle := h.open(podsGVR), h.open(deployGVR)
		idle.Close()
		time.Sleep(9 * time.Minute)
		again := h.open(deployGVR)
		again.Close()
		again.Close() // twice: nothing more is let go
		idle.Close()
		time.Sleep(9 * time.Minute)
		if !h.followed(deployGVR) {
			t.Error("it was used within the TTL")
		}
		time.Sleep(2 * time.Minute)
		if h.followed(deployGVR) || !h.followed(podsGVR) || !h.followed(nodesGVR) {
			t.Errorf("after the TTL: %+v", h.List())
		}
		if s, _ := h.status(podsGVR); s.Holders != 1 {
			t.Errorf("%+v", s)
		}
		if s, _ := h.status(nodesGVR); !s.Pinned || s.State != watches.Synced {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Hour)
		held.Close()
		time.Sleep(9 * time.Minute)
		if !h.followed(podsGVR) {
			t.Error("the TTL does not begin with the end of use")
		}
		time.Sleep(2 * time.Minute)
		if h.followed(podsGVR) {
			t.Error("it does not end")
		}
		if n := api.lists(nodesGVR); n != 1 {
			t.Errorf("what is pinned was listed %d times", n)
		}
		lists := api.lists(podsGVR)
		h.open(podsGVR).Close()
		if n := api.lists(podsGVR); n != lists+1 {
			t.Errorf("%d lists more for a new watch", n-lists)
		}
	})
}

// TestCancelledQueriesLeaveNothing but one watch, which ends in time.
func TestCancelledQueriesLeaveNothing(t *testing.T) {
	virtual(t, nil, func(t *testing.T, api *cluster, h *harness) {
		api.setFault(func(_ string, r watches.GVR, _ http.ResponseWriter, req *http.Request) bool {
			if r == podsGVR {
				<-req.Context().Done()
			}
			return r == podsGVR
		})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := h.Open(ctx, podsGVR, watches.Wait{}); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if s, _ := h.status(podsGVR); s.Holders != 100 {
			t.Errorf("%+v", s)
		}
		cancel()
		all.Wait()
		if s, ok := h.status(podsGVR); !ok || s.Holders != 0 || s.State != watches.Starting {
			t.Errorf("%+v", s)
		}
		time.Sleep(11 * time.Minute)
		if h.followed(podsGVR) {
			t.Error("it does not end")
		}
	})
}

// TestUpstreamHangs: the wait is the configured one, then the one that was asked for, and no more than 30 s.
func TestUpstreamHangs(t *testing.T) {
	virtual(t, nil, func(t *testing.T, api *cluster, h *harness) {
		api.setFault(func(_ string, r watches.GVR, _ http.ResponseWriter, req *http.Request) bool {
			if r == podsGVR {
				<-req.Context().Done()
			}
			return r == podsGVR
		})
		for asked, want := range map[time.Duration]time.Duration{0: 5 * time.Second, time.Second: time.Second, time.Hour: 30 * time.Second} {
			began := time.Now()
			var unsynced *watches.UnsyncedError
			if _, err := h.Open(t.Context(), podsGVR, watches.Wait{For: asked}); !errors.As(err, &unsynced) || time.Since(began) != want || unsynced.Waited != want {
				t.Errorf("asked for %s: %v after %s", asked, err, time.Since(began))
			}
		}
	})
}

// TestOpenDuringShutdown: who waits is told, and nothing is opened afterwards.
func TestOpenDuringShutdown(t *testing.T) {
	virtual(t, nil, func(t *testing.T, api *cluster, h *harness) {
		w := h.open(nodesGVR)
		api.setFault(func(_ string, r watches.GVR, _ http.ResponseWriter, req *http.Request) bool {
			if r == podsGVR {
				<-req.Context().Done()
			}
			return r == podsGVR
		})
		failed := make(chan error, 1)
		go func() {
			_, err := h.Open(t.Context(), podsGVR, watches.Wait{})
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		h.stop()
		var unsynced *watches.UnsyncedError
		if err := <-failed; !errors.As(err, &unsynced) || time.Since(began) > time.Second {
			t.Errorf("waiting: %v", err)
		}
		for _, r := range []watches.GVR{podsGVR, nodesGVR, deployGVR} {
			if _, err := h.Open(t.Context(), r, watches.Wait{}); !errors.As(err, &unsynced) {
				t.Errorf("%s afterwards: %v", r, err)
			}
		}
		s := must(w.View.Snapshot())
		if _, _, err := w.View.FollowFrom(s).Poll(nil); !errors.Is(err, view.ErrEnded) {
			t.Errorf("a cursor: %v", err)
		}
		w.Close()
		if err := h.Run(t.Context()); !errors.Is(err, lifecycle.ErrRunTwice) {
			t.Error(err)
		}
	})
}

// noise does not compress.
func noise(bytes int) string {
	var b strings.Builder
	for i := uint64(1); b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "%016x", i*0x9e3779b97f4a7c15)
	}
	return fmt.Sprintf(`"spec":{"x":%q}`, b.String())
}

// TestListBeyondRoom: a first list that does not fit is ended while it comes, whatever its size.
func TestListBeyondRoom(t *testing.T) {
	virtual(t, func(c *watches.Config, _ *watches.Settings) { c.MaxBytes = 100_000 }, func(t *testing.T, api *cluster, h *harness) {
		const all, item = 5000, 3000 // 15 MB
		sent := 0
		random := rand.New(rand.NewPCG(1, 2))
		text := func() string { // does not compress, not even with that of another object
			var b strings.Builder
			for b.Len() < item {
				fmt.Fprintf(&b, "%016x", random.Uint64())
			}
			return fmt.Sprintf(`"spec":{"x":%q}`, b.String())
		}
		api.setFault(func(verb string, r watches.GVR, w http.ResponseWriter, req *http.Request) bool {
			if r != podsGVR {
				return false
			}
			stream := req.URL.Query().Get("watch") == "true"
			if !stream {
				_, _ = fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"first","uid":"u","resourceVersion":"9"}}`)
			}
			for i := range all {
				part := fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p%d","namespace":"a","uid":"u%d","resourceVersion":"9"},%s}`, i, i, text())
				if stream {
					part = `{"type":"ADDED","object":` + part + "}\n"
				} else {
					part = "," + part
				}
				if _, err := fmt.Fprint(w, part); err != nil || req.Context().Err() != nil {
					return true
				}
				sent++
			}
			if !stream {
				_, _ = fmt.Fprint(w, "]}")
			}
			return true
		})
		var limit *watches.LimitError
		if _, err := h.Open(t.Context(), podsGVR, watches.Wait{}); !errors.As(err, &limit) || limit.Limit != "resourceWatcher.watches.maxBytes" {
			t.Errorf("%v, want the limit of bytes", err)
		}
		synctest.Wait()
		if sent > all/4 {
			t.Errorf("%d of %d objects were read, which are %d bytes each, with room for 100,000", sent, all, item)
		}
		time.Sleep(time.Second)
		if h.followed(podsGVR) {
			t.Error("it goes on")
		}
	})
}

// TestFirstListsTakeTurns: lists that come together pause one after the other, and wait for
// their turn without a mutex, which would stop the clock of this test.
func TestFirstListsTakeTurns(t *testing.T) {
	virtual(t, nil, func(t *testing.T, api *cluster, h *harness) {
		const each = 20
		kinds := []watches.GVR{podsGVR, deployGVR, nodesGVR}
		for i := range each {
			for _, r := range kinds {
				api.put(r, fmt.Sprint("a/", i), fmt.Sprint("u", i), "")
			}
		}
		time.Sleep(time.Second) // the first step pauses
		var all sync.WaitGroup
		for _, r := range kinds {
			all.Go(func() {
				if got := len(names(t, h.open(r).View)); got != each {
					t.Errorf("%s: %d objects", r, got)
				}
			})
		}
		all.Wait()
	})
}

// TestRoomIsBounded: what was used longest ago ends first, what does not fit by itself is
// refused, and neither comes back with the next query.
func TestRoomIsBounded(t *testing.T) {
	virtual(t, func(c *watches.Config, _ *watches.Settings) { c.MaxBytes = 100_000 }, func(t *testing.T, api *cluster, h *harness) {
		var limit *watches.LimitError
		refused := func(r watches.GVR) {
			t.Helper()
			if _, err := h.Open(t.Context(), r, watches.Wait{}); !errors.As(err, &limit) || limit.Limit != "resourceWatcher.watches.maxBytes" || limit.Most != 100_000 {
				t.Errorf("%s: %v", r, err)
			}
		}
		for i := range 10 {
			api.put(podsGVR, fmt.Sprint("a/p", i), "u", noise(30_000))
		}
		refused(podsGVR)
		if h.followed(podsGVR) {
			t.Error("it goes on")
		}
		for range 5 {
			refused(podsGVR)
		}
		if n := api.lists(podsGVR); n != 1 {
			t.Errorf("%d lists of what does not fit, want 1", n)
		}

		api.serve(things("v1"), "Thing", false)
		time.Sleep(time.Minute)
		api.put(nodesGVR, "n", "u", noise(60_000))
		api.put(deployGVR, "a/d", "u", noise(60_000))
		h.open(nodesGVR).Close()
		time.Sleep(10 * time.Second)
		api.put(things("v1"), "t", "u", noise(20_000))
		h.open(things("v1")).Close() // fits beside it
		time.Sleep(10 * time.Second)
		w := h.open(deployGVR) // fits if the one ends that was used longest ago
		if h.followed(nodesGVR) || !h.followed(things("v1")) || !h.followed(deployGVR) {
			t.Errorf("%+v", h.List())
		}
		refused(nodesGVR)
		api.put(deployGVR, "a/e", "u", noise(400_000)) // what is held grows
		time.Sleep(5 * time.Second)
		if !h.followed(deployGVR) {
			t.Error("what is held has ended")
		}
		time.Sleep(2 * time.Minute)
		refused(nodesGVR) // nothing new above the limit
		w.Close()
		time.Sleep(2 * time.Second)
		if h.followed(deployGVR) {
			t.Error("what is idle goes on above the limit")
		}
		h.open(nodesGVR).Close() // there is room, and the minute is over
		api.mu.Lock()
		clear(api.objects["pods."])
		api.mu.Unlock()
		h.open(podsGVR).Close()
	})
}
