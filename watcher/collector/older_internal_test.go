package collector

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/object"
)

// A watch that resumes on an apiserver with an older cache tells changes again, of
// objects that are gone, or that bear another uid by now. A list from there shows them.
func TestOlderCacheTakesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Collector{metrics: mustMetrics(t), logger: discard, sink: &recorder{}, config: Config{Verify: Verify{Period: -1}}}
		s := c.newKind(Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}).store
		s.ctx = t.Context()
		rec := c.sink.(*recorder)
		pod := func(n, uid string, version uint64) *item {
			return &item{obj: &object.Object{Key: object.Key{Kind: "Pod", Namespace: "n", Name: n}, UID: uid, ResourceVersion: version, Raw: fmt.Appendf(nil, `{"v":%d}`, version)}}
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		do(s.Replace([]any{pod("gone", "g1", 5), pod("again", "a1", 6), pod("stays", "s1", 7)}, "10"))
		do(s.Update(pod("gone", "g1", 11)))
		do(s.Delete(pod("gone", "g1", 12)))
		do(s.Delete(pod("again", "a1", 13)))
		do(s.Add(pod("again", "a2", 14)))
		do(s.Update(pod("stays", "s1", 15)))
		rec.take()
		// The same history again, from version 10 on.
		do(s.Update(pod("gone", "g1", 11)))
		do(s.Delete(pod("gone", "g1", 12)))
		do(s.Delete(pod("again", "a1", 13)))
		do(s.Add(pod("again", "a2", 14)))
		do(s.Update(pod("stays", "s1", 15)))
		if again := rec.take(); len(again) > 0 {
			t.Errorf("told again: %v", again)
		}
		do(s.Update(pod("stays", "s1", 16)))
		if d := cmp.Diff([]string{"1 Pod/n/stays s1 16"}, rec.take()); d != "" {
			t.Error(d)
		}
		older := []any{pod("gone", "g1", 11), pod("again", "a1", 6), pod("stays", "s1", 7)}
		for range 3 {
			if err := s.Replace(older, "11"); !errors.Is(err, errOlderList) {
				t.Fatalf("an older list: %v", err)
			}
			time.Sleep(maxBehind/3 - time.Second)
		}
		if events := rec.take(); len(events) > 0 {
			t.Errorf("from older lists: %v", events)
		}
		time.Sleep(3 * time.Second)
		time.Sleep(2 * maxBehind) // an outage: what was refused before it proves nothing
		for range 2 {
			if err := s.Replace(older, "11"); !errors.Is(err, errOlderList) {
				t.Fatalf("an older list after an outage: %v", err)
			}
			time.Sleep(maxBehind - time.Second)
		}
		s.patient = true // the verifier decides
		if err := s.Replace(older, "11"); !errors.Is(err, errOlderList) {
			t.Fatalf("an older list that the verifier has not allowed: %v", err)
		}
		s.patient = false
		time.Sleep(3 * time.Second)
		do(s.Replace(older, "11")) // a restored cluster has nothing newer
		if d := cmp.Diff([]string{"1 Pod/n/gone g1 11", "1 Pod/n/again a1 6", "1 Pod/n/stays s1 7"}, rec.take()); d != "" {
			t.Error(d)
		}
		do(s.Update(pod("stays", "s1", 12)))
		if d := cmp.Diff([]string{"1 Pod/n/stays s1 12"}, rec.take()); d != "" {
			t.Error(d)
		}
	})
}
