package collector_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/view"
)

// shown is a Sink that looks, at each event, whether the view has it already.
type shown struct {
	t      *testing.T
	view   func(kind string) *view.View
	events atomic.Int64
	behind atomic.Int64
}

func (s *shown) Enqueue(_ context.Context, e pipeline.Event) error {
	s.events.Add(1)
	now, err := s.view(e.Key.Kind).Snapshot()
	if err != nil {
		s.t.Errorf("an event before the view is synced: %v", err)
		return nil
	}
	o, ok := now.Get(view.Name{Namespace: e.Key.Namespace, Name: e.Key.Name})
	if e.Action == pipeline.Put && (!ok || o.ResourceVersion < e.ResourceVersion) || e.Action == pipeline.Delete && ok && o.UID == e.UID {
		s.behind.Add(1)
	}
	return nil
}

// collectShown runs a collector with views.
func collectShown(t *testing.T, api *fakeAPI, c collector.Config) (*collector.Collector, *shown) {
	t.Helper()
	s := &shown{t: t}
	col, err := collector.New(c, collector.Settings{Client: &rest.Config{Host: api.url}, Sink: s, View: func(collector.Resource) *view.View { return view.New(view.Config{Window: 20_000}) }})
	if err != nil {
		t.Fatal(err)
	}
	s.view = col.View
	collector.FastRetry(col)
	runs(t, col)
	return col, s
}

func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// versions are the objects of a state, by name.
func versions(s *view.Snapshot) map[string]uint64 {
	all := map[string]uint64{}
	s.Ascend("", view.Name{}, func(o *object.Object) bool { all[o.Key.String()] = o.ResourceVersion; return true })
	return all
}

// TestViewHasWhatTheStoreHas through changes, ends of watches, and lists after a 410, which
// skip what happened meanwhile.
func TestViewHasWhatTheStoreHas(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	api := newFakeAPI(t)
	for i := range 20 {
		api.put("pods", fmt.Sprint("a/p", i), fmt.Sprint("first-", i), "")
	}
	col, sink := collectShown(t, api, collector.Config{Resources: []collector.Resource{pods}})
	v := col.View("Pod")
	<-v.Synced()
	first, err := v.Snapshot()
	if err != nil || first.Len() != 20 || first.Version != 120 {
		t.Fatalf("%+v %v", first, err)
	}
	replay, cursor := versions(first), v.FollowAll(first)
	var seq, version uint64
	var listed int
	follow := func() {
		changes, _, err := cursor.Poll(make([]view.Change, 0, 10_000))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if c.Seq != seq+1 || !c.Listed && c.Version < version {
				t.Errorf("change %d after %d, version %d after %d", c.Seq, seq, c.Version, version)
			}
			if seq = c.Seq; c.Listed {
				listed++
				version = 0 // the list's order is none
			} else {
				version = c.Version
			}
			key := c.Object.Key.String()
			before, was := replay[key]
			if was != (c.Old != nil) || was && c.Old.ResourceVersion != before {
				t.Errorf("change %d of %s from %v, was %d", c.Seq, key, c.Old, before)
			}
			if c.Type == view.Deleted {
				delete(replay, key)
			} else {
				replay[key] = c.Object.ResourceVersion
			}
		}
	}
	live := map[string]bool{}
	for i := range 20 {
		live[fmt.Sprint("a/p", i)] = true
	}
	for round := range 12 {
		switch round % 3 {
		case 1:
			api.disconnect("pods")
		case 2:
			api.forget()
			api.disconnect("pods") // what follows is seen by the next list only
		}
		for i := range 60 {
			key := fmt.Sprint([]string{"a/p", "b/p"}[r.IntN(2)], r.IntN(25))
			switch {
			case live[key] && r.IntN(3) == 0:
				api.delete("pods", key)
				delete(live, key)
			default:
				api.put("pods", key, fmt.Sprint("u", round, i), "")
				live[key] = true
			}
		}
		api.mu.Lock()
		rv := uint64(api.rv)
		api.mu.Unlock()
		within(t, "the view has it all", func() bool { return v.Stats().Version >= rv })
		now, err := v.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		follow()
		store := map[string]uint64{}
		for _, o := range col.List("Pod") {
			store[o.Key.String()] = o.ResourceVersion
			if seen, _ := now.Get(view.NameOf(o)); seen != o {
				t.Errorf("the view has another %s than the store", o.Key)
			}
		}
		if d := cmp.Diff(store, versions(now)); d != "" || len(store) != len(live) {
			t.Fatalf("round %d, seed %d: %d in the cluster (-store +view):\n%s", round, seed, len(live), d)
		}
		if d := cmp.Diff(store, replay); d != "" {
			t.Fatalf("round %d, seed %d (-store +changes):\n%s", round, seed, d)
		}
	}
	if n := sink.behind.Load(); n > 0 || sink.events.Load() < 500 {
		t.Errorf("%d of %d events were handed over before the view had them", n, sink.events.Load())
	}
	if st, _ := col.State("Pod"); listed == 0 || st.Relists < 4 || st.Broken != nil || !st.Synced || !st.Whole || st.View != v {
		t.Errorf("%d listed, %+v", listed, st)
	}
}

// TestBookmarksAdvanceTheView though nothing changes.
func TestBookmarksAdvanceTheView(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u1", "")
	col, _ := collectShown(t, api, collector.Config{Resources: []collector.Resource{pods}})
	v := col.View("Pod")
	<-v.Synced()
	within(t, "the watch is open", func() bool { st, _ := col.State("Pod"); return !st.Heard.IsZero() })
	api.send("pods", bookmarkFrame("Pod", 500, false))
	if err := v.WaitFor(t.Context(), 500); err != nil {
		t.Fatal(err)
	}
	s, _ := v.Snapshot()
	c, err := v.Follow(500)
	if s.Version != 500 || err != nil {
		t.Fatalf("%d %v", s.Version, err)
	}
	if changes, version, err := c.Poll(nil); len(changes) > 0 || version != 500 || err != nil {
		t.Errorf("%v %d %v", changes, version, err)
	}
}

// TestViewNeverShowsWhatCannotBeMasked: to readers such an object is not there.
func TestViewNeverShowsWhatCannotBeMasked(t *testing.T) {
	api := newFakeAPI(t)
	api.put("secrets", "a/ok", "u1", `|"data":{"k":"canary"}`)
	api.put("secrets", "a/odd", "u2", `|"data":["canary"]`)
	col, _ := collectShown(t, api, collector.Config{Resources: []collector.Resource{secrets}, Masks: []object.Mask{{Kind: "Secret", Path: []string{"data", "k"}}}})
	v := col.View("Secret")
	<-v.Synced()
	first, _ := v.Snapshot()
	cursor := v.FollowAll(first)
	var log []string
	next := func(n int) {
		t.Helper()
		for len(log) < n {
			changes, _, err := cursor.Next(t.Context(), make([]view.Change, 0, 9))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				for _, o := range []*object.Object{c.Object, c.Old} {
					if o != nil && (strings.Contains(string(o.JSON()), "canary") || !o.HasContent()) {
						t.Errorf("%s shows %q", c.Type, o.JSON())
					}
				}
				log = append(log, fmt.Sprintf("%s %s", c.Type, c.Object.Key.Name))
			}
		}
	}
	if d := cmp.Diff([]string{"Secret/a/ok"}, slices.Collect(maps.Keys(versions(first)))); d != "" {
		t.Error(d)
	}
	api.put("secrets", "a/ok", "u1", `|"data":"canary"`)
	api.put("secrets", "a/ok", "u1", `|"data":["canary"]`)
	api.put("secrets", "a/odd", "u2", `|"data":{"k":"canary"}`)
	next(2)
	api.forget()
	api.disconnect("secrets")
	api.put("secrets", "a/ok", "u1", `|"data":{}`)
	api.put("secrets", "a/odd", "u2", `|"data":7`)
	next(4)
	api.delete("secrets", "a/odd") // which nobody saw
	api.put("secrets", "a/ok", "u1", `|"data":{"l":"x"}`)
	next(5)
	slices.Sort(log[2:4]) // of one list
	if d := cmp.Diff([]string{"DELETED ok", "ADDED odd", "ADDED ok", "DELETED odd", "MODIFIED ok"}, log); d != "" {
		t.Error(d)
	}
	if st := v.Stats(); st.Objects != 1 || st.Bytes <= 0 || st.Bytes > 400 {
		t.Errorf("%+v", st)
	}
}

// TestViewsOfMovedAndRemovedKinds: a view is of one version of the API.
func TestViewsOfMovedAndRemovedKinds(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/x", "1", "")
	api.put("pods", "a/y", "2", "")
	col, _ := collectShown(t, api, collector.Config{Resources: []collector.Resource{pods}})
	before := col.View("Pod")
	<-before.Synced()
	ended := func(v *view.View) {
		t.Helper()
		s, err := v.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := v.FollowFrom(s).Next(t.Context(), make([]view.Change, 0, 9)); !errors.Is(err, view.ErrEnded) {
			t.Errorf("a cursor: %v", err)
		}
	}
	v2 := pods
	v2.Version = "v2"
	if err := col.MoveResource(v2); err != nil {
		t.Fatal(err)
	}
	ended(before)
	now := col.View("Pod")
	<-now.Synced()
	s, _ := now.Snapshot()
	if o, ok := s.Get(view.Name{Namespace: "a", Name: "x"}); s.Len() != 2 || !ok || !strings.Contains(string(o.JSON()), `"x"`) {
		t.Errorf("%v", versions(s))
	}
	if st, ok := col.Find("", "v2", "pods"); !ok || st.View != now || !st.Synced {
		t.Errorf("%+v", st)
	}
	if _, ok := col.Find("", "v1", "pods"); ok {
		t.Error("the former version is collected")
	}
	if err := col.RemoveResource("Pod"); err != nil {
		t.Fatal(err)
	}
	ended(now)
	if _, ok := col.State("Pod"); ok || col.View("Pod") != nil || len(col.States()) != 0 {
		t.Error("a removed kind has a view")
	}
}
