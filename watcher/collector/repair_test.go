package collector_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

// repair repairs an object, and expects one event because of that.
func (h *harness) repair(key object.Key, want string) {
	h.t.Helper()
	done := make(chan error, 1)
	go func() { done <- h.Repair(h.t.Context(), key, "") }()
	h.expect(want)
	if err := <-done; err != nil {
		h.t.Errorf("%s: %v", key, err)
	}
}

// A repair hands over what is cached, and a deletion for what is not, what a
// filter keeps back, and what is of a kind that is not collected.
func TestRepair(t *testing.T) {
	api := newFakeAPI(t)
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, IgnoreNamespaces: []string{"kube-system"}})
	h.eventually("sync", func() bool { return len(h.Unsynced()) == 0 })
	api.put("pods", "a/kept", "u1", "")
	h.expect("put Pod/a/kept u1")
	api.put("pods", "kube-system/filtered", "u2", "")
	h.eventually("cached", func() bool { return len(h.List("Pod")) == 2 })

	key := func(kind, ns, name string) object.Key { return object.Key{Kind: kind, Namespace: ns, Name: name} }
	for _, tc := range []struct {
		key  object.Key
		want string
	}{
		{key("Pod", "a", "kept"), "put Pod/a/kept u1"},
		{key("Pod", "a", "gone"), "delete Pod/a/gone "},
		{key("Pod", "kube-system", "filtered"), "delete Pod/kube-system/filtered "},
		{key("TFJob", "a", "left"), "delete TFJob/a/left "},
	} {
		h.repair(tc.key, tc.want)
	}
	done := make(chan error, 1)
	go func() { done <- h.Remove(t.Context(), key("Pod", "", "kept"), "u9") }()
	h.expect("delete Pod/kept u9")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if h.ClusterScoped("Pod") || h.ClusterScoped("TFJob") {
		t.Error("Pods, or a kind that is not collected, have no namespaces")
	}
	if got, want := h.ExpectedKeys("Pod"), []object.Key{key("Pod", "a", "kept")}; !slices.Equal(got, want) {
		t.Errorf("expected keys %v, want %v", got, want)
	}
	if _, ok := h.Expected(key("Pod", "kube-system", "filtered")); ok {
		t.Error("storage is expected to hold a filtered object")
	}
	if err := h.AddResource(collector.Resource{Version: "v1", Name: "broken", Kind: "Broken"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Repair(t.Context(), key("Broken", "", "x"), ""); !errors.Is(err, collector.ErrNotSynced) {
		t.Errorf("repair of a kind that has not synced: %v", err)
	}
}

// TestRemovedKindLeavesNoGauge: a kind that is gone is not one whose first list is missing, also
// when what storage still holds of it is removed afterwards.
func TestRemovedKindLeavesNoGauge(t *testing.T) {
	h := start(t, newFakeAPI(t), collector.Config{Resources: []collector.Resource{pods, nodes}})
	h.eventually("sync", func() bool { return len(h.Unsynced()) == 0 })
	if err := h.RemoveResource("Pod"); err != nil {
		t.Fatal(err)
	}
	h.repair(object.Key{Kind: "Pod", Namespace: "a", Name: "left"}, "delete Pod/a/left ")
	for _, name := range []string{metric.Synced, metric.CacheKeys} {
		if n, err := testutil.GatherAndCount(h.reg, name); err != nil || n != 1 {
			t.Errorf("%s: %d series, %v, want that of Node", name, n, err)
		}
	}
}

// TestFirstListIsTakenOver: nothing of it reaches the Sink unless Repair is called for it; what
// the watch brings does.
func TestFirstListIsTakenOver(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/old", "u1", "")
	var asked []string
	h := startWith(t, api, collector.Config{Resources: []collector.Resource{pods}}, func(kind string) bool {
		asked = append(asked, kind)
		return true
	})
	h.eventually("sync", func() bool { return len(h.Unsynced()) == 0 })
	if len(asked) != 1 || asked[0] != "Pod" || len(h.List("Pod")) != 1 {
		t.Errorf("asked for %v, %d objects are cached", asked, len(h.List("Pod")))
	}
	api.put("pods", "a/new", "u2", "")
	h.expect("put Pod/a/new u2")
	h.repair(object.Key{Kind: "Pod", Namespace: "a", Name: "old"}, "put Pod/a/old u1")
}
