package collector_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

var halves = kubeapi.Split(2, kubeapi.ByUID)

// uidOf is a uid in a half.
func uidOf(half int, prefix string) string {
	for i := 0; ; i++ {
		if uid := fmt.Sprint(prefix, i); halves[half].Holds("", "", uid) {
			return uid
		}
	}
}

// keyOf is the key of an object that is in a half by name, by namespace and not by uid.
func keyOf(half int, uid string) string {
	for i := 0; ; i++ {
		ns, name := fmt.Sprint("ns", i), fmt.Sprint("name", i)
		holds := func(by kubeapi.By) bool { return kubeapi.Split(2, by)[half].Holds(ns, name, uid) }
		if holds(kubeapi.ByName) && holds(kubeapi.ByNamespace) && !holds(kubeapi.ByUID) {
			return ns + "/" + name
		}
	}
}

// TestShardThatTheServerIgnores: of an apiserver that sends everything only the shard's objects are cached and handed
// over, whether they come by a list or a watch, and the watch resumes behind those of other shards.
func TestShardThatTheServerIgnores(t *testing.T) {
	for _, plain := range []bool{false, true} {
		for _, by := range []kubeapi.By{kubeapi.ByUID, kubeapi.ByNamespace, kubeapi.ByName} {
			t.Run(fmt.Sprintf("plain=%t,by=%s", plain, by), func(t *testing.T) {
				t.Parallel()
				api := newFakeAPI(t)
				var mu sync.Mutex
				selectors, resumed := map[string]bool{}, ""
				api.fault = func(_ string, _ int, _ http.ResponseWriter, r *http.Request) bool {
					mu.Lock()
					defer mu.Unlock()
					q := r.URL.Query()
					selectors[q.Get("shardSelector")] = true
					if q.Get("watch") == "true" {
						resumed = q.Get("resourceVersion")
					}
					return false
				}
				u, f := uidOf(1, "u"), uidOf(0, "f")
				own, foreign := keyOf(0, u), keyOf(1, f)
				if by == kubeapi.ByUID {
					own, foreign, u, f = foreign, own, f, u
				}
				api.put("pods", own, u, "")
				api.put("pods", foreign, f, "")
				h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Shard: &kubeapi.Split(2, by)[0],
					PlainList: plain, Verify: often})
				h.expect("put Pod/" + own + " " + u)
				api.put("pods", foreign, f, "")
				api.put("pods", own, u, "")
				h.expect("put Pod/" + own + " " + u)
				api.delete("pods", foreign)
				api.delete("pods", own)
				h.expect("delete Pod/" + own + " " + u)
				time.Sleep(1100 * time.Millisecond) // after a shorter watch the reflector lists again
				last := fmt.Sprint(api.put("pods", foreign, f, ""))
				h.eventually("the change of another shard", func() bool { return h.filtered("Pod", collector.ReasonShard) >= 4 })
				api.disconnect("pods")
				h.eventually("a watch from "+last, func() bool {
					mu.Lock()
					defer mu.Unlock()
					return resumed == last
				})
				if n := len(h.List("Pod")); n != 0 {
					t.Errorf("%d objects are cached", n)
				}
				if n := h.metric(metric.ServerSharded, "kind=Pod"); n != 0 {
					t.Errorf("the server is said to filter: %v", n)
				}
				if n := h.differences(collector.DifferenceLost); n != 0 {
					t.Errorf("%v losses found", n)
				}
				mu.Lock()
				defer mu.Unlock()
				want := map[kubeapi.By]string{kubeapi.ByUID: halves[0].String(), kubeapi.ByNamespace: strings.Replace(halves[0].String(), "uid", "namespace", 1)}[by]
				if d := cmp.Diff(map[string]bool{want: true}, selectors); d != "" {
					t.Errorf("selectors of requests (-want +got):\n%s", d)
				}
			})
		}
	}
}

// TestRecreatedInAnotherShard: of an object that is made again under its name with a uid of another shard, each shard
// gets its half, whether the watch shows it or the next list.
func TestRecreatedInAnotherShard(t *testing.T) {
	u1, u2 := uidOf(0, "u"), uidOf(1, "u")
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("away=%t", away), func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t)
			api.put("pods", "a/b", u1, "")
			api.put("pods", "a/new", u2, "")
			var shards []*harness
			for i := range halves {
				shards = append(shards, start(t, api, collector.Config{Resources: []collector.Resource{pods}, Shard: &halves[i]}))
			}
			shards[0].expect("put Pod/a/b " + u1)
			shards[1].expect("put Pod/a/new " + u2)
			again := func() {
				api.delete("pods", "a/b")
				api.put("pods", "a/b", u2, "")
			}
			if away {
				api.silently(again)
				api.forget()
				api.disconnect("pods")
			} else {
				again()
			}
			shards[0].expect("delete Pod/a/b " + u1)
			shards[1].expect("put Pod/a/b " + u2)
			if n := len(shards[0].List("Pod")); n != 0 {
				t.Errorf("the first shard keeps %d objects", n)
			}
		})
	}
}

// TestShardIsVerified: a lost change of the shard is found, one of another shard is not looked for.
func TestShardIsVerified(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Shard: &halves[0], Verify: often})
	h.eventually("sync", func() bool { return len(h.Unsynced()) == 0 })
	own, foreign := uidOf(0, "u"), uidOf(1, "u")
	api.silently(func() { api.put("pods", "a/foreign", foreign, "") })
	checks := h.metric(metric.CacheChecks, "kind=Pod")
	h.eventually("comparisons", func() bool { return h.metric(metric.CacheChecks, "kind=Pod") >= checks+4 })
	time.Sleep(2 * often.Grace)
	if n := h.differences(collector.DifferenceLost); n != 0 {
		t.Errorf("%v losses of other shards found", n)
	}
	api.silently(func() { api.put("pods", "a/own", own, "") })
	h.expect("put Pod/a/own " + own)
}

// TestRepairNamesTheRow: a deletion names the uid of the row, as another shard may own the name.
func TestRepairNamesTheRow(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Shard: &halves[0]})
	h.eventually("sync", func() bool { return len(h.Unsynced()) == 0 })
	done := make(chan error, 1)
	go func() {
		done <- h.Repair(t.Context(), object.Key{Kind: "Pod", Namespace: "a", Name: "b"}, "u1")
	}()
	h.expect("delete Pod/a/b u1")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestMetadata: what a server shows of an object's metadata is all that is cached, and both forms are asked for.
func TestMetadata(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t)
	var mu sync.Mutex
	forms := map[string]bool{}
	api.fault = func(_ string, _ int, _ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		forms[r.URL.Query().Get("watch")+" "+r.Header.Get("Accept")] = true
		return false
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, Metadata: true, PlainList: true})
	h.eventually("a watch", func() bool { return len(h.api.seen()) > 1 })
	mu.Lock()
	defer mu.Unlock()
	const form = "application/json;as=PartialObjectMetadata%s;v=v1;g=meta.k8s.io,application/json"
	want := map[string]bool{" " + fmt.Sprintf(form, "List"): true, "true " + fmt.Sprintf(form, ""): true}
	if d := cmp.Diff(want, forms); d != "" {
		t.Errorf("accepted forms (-want +got):\n%s", d)
	}
}
