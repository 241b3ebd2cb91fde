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

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/setting"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestEverythingAtOnce: whatever readers, discovery and the pipeline do at the same time, who gets a kind gets the
// one that was asked for, and in the end nothing is left. Reproduce with the seed.
func TestEverythingAtOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(t)
		api.put(podsGVR, "a/p", "u", noise(3000))
		api.put(deployGVR, "a/d", "u", noise(3000))
		col := collect(t, api.inMemory(), collector.Config{})
		h := run(t, api, api.inMemory(), func(c *watches.Config, s *watches.Settings) {
			c.MaxWatches, c.MaxBytes, c.TTL = 4, 8000, setting.Duration(5*time.Second)
			s.Collected = col
		})
		defer h.stop()
		<-h.Known()
		kinds := []watches.GVR{podsGVR, nodesGVR, deployGVR, secretsGVR, things("v1"), things("v2")}
		var all sync.WaitGroup
		go100 := func(who uint64, step func(r *rand.Rand)) {
			all.Go(func() {
				r := rand.New(rand.NewPCG(seed, who))
				for range 150 {
					step(r)
					time.Sleep(time.Duration(r.IntN(800)) * time.Millisecond)
				}
			})
		}
		opened := 0
		var mu sync.Mutex
		for who := range uint64(6) {
			go100(who, func(r *rand.Rand) {
				gvr := kinds[r.IntN(len(kinds))]
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+r.IntN(4000))*time.Millisecond)
				defer cancel()
				w, err := h.Open(ctx, gvr, watches.Wait{For: time.Duration(r.IntN(3000)) * time.Millisecond})
				if err != nil {
					var limit *watches.LimitError
					var unsynced *watches.UnsyncedError
					if gvr == secretsGVR && !errors.Is(err, watches.ErrDenied) || !errors.As(err, &limit) && !errors.As(err, &unsynced) && !errors.Is(err, watches.ErrNotServed) && !errors.Is(err, watches.ErrDenied) {
						t.Errorf("%s: %v", gvr, err)
					}
					return
				}
				defer w.Close()
				mu.Lock()
				opened++
				mu.Unlock()
				s, err := w.View.Snapshot()
				if err != nil || w.Kind.Name != gvr.Resource || w.Kind.Version != gvr.Version {
					t.Errorf("%s: %+v, %v", gvr, w.Kind, err)
					return
				}
				apiVersion := fmt.Sprintf(`"apiVersion":%q`, strings.TrimSuffix(gvr.String(), "/"+gvr.Resource))
				s.Ascend("", view.Name{}, func(o *object.Object) bool {
					if text := string(o.JSON()); !strings.Contains(text, apiVersion) {
						t.Errorf("%s has %.60s", gvr, text)
					}
					return true
				})
				if r.IntN(4) == 0 {
					time.Sleep(time.Duration(r.IntN(10)) * time.Second)
				}
				w.Close()
			})
		}
		go100(10, func(r *rand.Rand) {
			switch r.IntN(3) {
			case 0:
				api.define(r.IntN(2) == 0, "v1", "v2")
			case 1:
				api.undefine("v2")
			case 2:
				api.undefine("v1", "v2")
			}
		})
		v2 := pods
		v2.Version = "v2"
		go100(11, func(r *rand.Rand) { // errors of what is there already or not
			switch r.IntN(3) {
			case 0:
				_ = col.AddResource(pods)
			case 1:
				_ = col.RemoveResource("Pod")
			case 2:
				_ = col.MoveResource([]collector.Resource{pods, v2}[r.IntN(2)])
			}
		})
		go100(13, func(r *rand.Rand) {
			bad := r.IntN(3) == 0
			api.setFault(func(verb string, _ watches.GVR, w http.ResponseWriter, _ *http.Request) bool {
				if bad && verb != "DISCOVER" {
					refuse(w, 500, "InternalError")
				}
				return bad && verb != "DISCOVER"
			})
			if r.IntN(3) == 0 {
				api.interrupt(kinds[r.IntN(len(kinds))])
			}
		})
		all.Wait()
		api.setFault(nil)
		time.Sleep(3 * time.Minute)
		for _, s := range h.List() {
			if s.Source == watches.Lazy || s.Holders != 0 {
				t.Errorf("left: %+v", s)
			}
		}
		if opened < 100 {
			t.Errorf("only %d opened", opened)
		}
		h.open(nodesGVR).Close()
	})
}
