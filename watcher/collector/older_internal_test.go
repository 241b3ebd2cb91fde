package collector

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// podStore is a store of Pods that nothing watches.
func podStore(t *testing.T, sink Sink) *store {
	c := &Collector{metrics: mustMetrics(t), logger: discard, sink: sink, config: Config{Verify: Verify{Period: -1}}}
	s := c.newKind(Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}).store
	s.ctx = t.Context()
	return s
}

func pod(n, uid string, version uint64) *item {
	return &item{obj: &object.Object{Key: object.Key{Kind: "Pod", Namespace: "n", Name: n}, UID: uid, ResourceVersion: version, Raw: fmt.Appendf(nil, `{"v":%d}`, version)}}
}

// A watch that resumes on an apiserver with an older cache tells changes again, of
// objects that are gone, or that bear another uid by now. A list from there shows them.
func TestOlderCacheTakesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		s := podStore(t, rec)
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

// TestComparisonHoldsNothing: what changes while a comparison goes on is not kept in memory by it.
func TestComparisonHoldsNothing(t *testing.T) {
	s := podStore(t, &recorder{})
	if err := s.Replace([]any{pod("a", "a1", 5), pod("b", "b1", 6), pod("c", "c1", 7)}, "10"); err != nil {
		t.Fatal(err)
	}
	s.remember(true)
	if err := errors.Join(s.Update(pod("a", "a1", 11)), s.Delete(pod("b", "b1", 12))); err != nil {
		t.Fatal(err)
	}
	if left := s.missing(); len(left) != 1 || left[0].name != (name{"n", "c"}) {
		t.Errorf("held: %v", left)
	}
	if o, known := s.tickOff(name{"n", "a"}); known || o.ResourceVersion != 11 {
		t.Errorf("%v counts as unchanged: %t", o, known)
	}
	if err := s.Replace([]any{pod("a", "a1", 11)}, "13"); err != nil {
		t.Fatal(err)
	}
	if left := s.missing(); len(left) > 0 {
		t.Errorf("held after a list: %v", left)
	}
}

// sinkFunc is a Sink.
type sinkFunc func()

func (f sinkFunc) Enqueue(context.Context, pipeline.Event) error { f(); return nil }

// TestRestoredDuringAList: what is learned while a list is handed over is for the next one.
func TestRestoredDuringAList(t *testing.T) {
	var s *store
	s = podStore(t, sinkFunc(func() { s.restored.Store(true) }))
	if err := s.Replace([]any{pod("a", "a1", 5)}, "10"); err != nil {
		t.Fatal(err)
	}
	if !s.restored.Load() {
		t.Error("the next list does not compare content")
	}
}
