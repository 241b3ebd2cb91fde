package collector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
)

// set puts the text of an object in the place of whatever is there, for lists alone; "" takes it away.
func (f *fakeAPI) set(plural, key, object string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	if f.objects[plural] == nil {
		f.objects[plural] = map[string]string{}
	}
	if f.objects[plural][key] = object; object == "" {
		delete(f.objects[plural], key)
	}
}

// relist has a kind listed anew.
func (h *harness) relist(plural string) {
	h.t.Helper()
	had := h.metric("k8swatch_lists_total")
	h.api.forget()
	h.api.disconnect(plural)
	h.eventually("another list", func() bool { return h.metric("k8swatch_lists_total") > had })
}

var listModes = []struct {
	name  string
	plain bool
	page  int
}{{"streaming", false, 0}, {"plain", true, 0}, {"in pages", true, 2}}

// TestUnreadableInList: objects that cannot be decoded are left out, named once and counted,
// and the others of their kind are there.
func TestUnreadableInList(t *testing.T) {
	for _, mode := range listModes {
		t.Run(mode.name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.page = mode.page
			api.put("pods", "a/p0", "u0", "")
			api.set("pods", "a/p1", `{"metadata":{"namespace":"a","name":7}}`)
			api.set("pods", "a/p2", `{"metadata":null}`)
			api.set("pods", "a/p3", `{"metadata":{"namespace":"a","name":"p3","uid":{"secret":1},"resourceVersion":"5"}}`)
			api.put("pods", "a/p4", "u4", "")
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, PlainList: mode.plain})
			h.expect("put Pod/a/p0 u0", "put Pod/a/p4 u4")
			if got := h.filtered("Pod", "unreadable"); got != 3 {
				t.Errorf("unreadable = %v, want 3", got)
			}
			h.relist("pods")
			api.put("pods", "a/p5", "u5", "")
			h.expect("put Pod/a/p5 u5")
			log := h.log.String()
			for _, want := range []string{`object="Pod/a/(no readable name)" error="its metadata.name is not a string" item=2`,
				`object="Pod/(no readable name)" error="its metadata is not a JSON object" item=3`, `object=Pod/a/p3 error="its metadata.uid is not a string" item=4`} {
				if strings.Count(log, want) != 1 {
					t.Errorf("%d times %q, want once:\n%s", strings.Count(log, want), want, log)
				}
			}
			if strings.Count(log, "\n") != 3 || strings.Contains(log, "secret") {
				t.Errorf("log:\n%s", log)
			}
			if got := h.metric("k8swatch_lists_total"); mode.page == 0 && got != 2 {
				t.Errorf("%v lists, want 2: no other than the test's", got)
			}
		})
	}
}

// TestUnreadableDeletesNothing: what was cached of an object that cannot be decoded any more
// stays, and with it all that the object may be if its name cannot be read either.
func TestUnreadableDeletesNothing(t *testing.T) {
	for _, mode := range listModes {
		for _, tc := range []struct {
			name, object string
			gone         []string // with the next list
			later        []string // when all can be read again
			kept         []string // of a/x a/y b/x: storage is told nothing of them
		}{
			{"with its name", `{"metadata":{"namespace":"a","name":"bad","uid":7}}`, []string{"delete Pod/a/gone ua", "delete Pod/b/gone ub"}, nil, nil},
			{"in its namespace", `{"metadata":{"namespace":"a","name":7}}`, []string{"delete Pod/b/gone ub"}, []string{"delete Pod/a/gone ua"}, []string{"a/x"}},
			{"in no namespace", `{"metadata":{"name":7}}`, nil, []string{"delete Pod/a/gone ua", "delete Pod/b/gone ub"}, []string{"a/x", "b/x"}},
			{"without metadata", `{"spec":{}}`, nil, []string{"delete Pod/a/gone ua", "delete Pod/b/gone ub"}, []string{"a/x", "b/x"}},
		} {
			t.Run(mode.name+", "+tc.name, func(t *testing.T) {
				api := newFakeAPI(t)
				api.page = mode.page
				for _, p := range []string{"a/bad ubad", "a/gone ua", "a/good ugood", "b/gone ub"} {
					key, uid, _ := strings.Cut(p, " ")
					api.put("pods", key, uid, "")
				}
				h := start(t, api, collector.Config{Resources: []collector.Resource{pods}, PlainList: mode.plain})
				h.expect("put Pod/a/bad ubad", "put Pod/a/gone ua", "put Pod/a/good ugood", "put Pod/b/gone ub")
				api.set("pods", "a/bad", tc.object)
				api.set("pods", "a/gone", "")
				api.set("pods", "b/gone", "")
				h.relist("pods")
				h.expect(tc.gone...)
				for _, key := range []string{"a/x", "b/x"} {
					k := object.Key{Kind: "Pod"}
					k.Namespace, k.Name, _ = strings.Cut(key, "/")
					h.eventually("listed", func() bool { return h.filtered("Pod", "unreadable") > 0 })
					kept := slices.Contains(tc.kept, key)
					if got := h.Unreadable(k); got != kept {
						t.Errorf("Unreadable(%s) = %v", key, got)
					}
					done := make(chan error, 1)
					go func() { done <- h.Repair(t.Context(), k, "") }()
					if !kept {
						h.expect("delete Pod/" + key + " ")
					}
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if _, cached := h.Get(object.Key{Kind: "Pod", Namespace: "a", Name: "bad"}); !cached {
					t.Error("what could be read before is not cached any more")
				}
				api.set("pods", "a/bad", `{"metadata":{"namespace":"a","name":"bad","uid":"ubad","resourceVersion":"109"}}`)
				h.relist("pods")
				h.expect(append(tc.later, "put Pod/a/bad ubad")...)
			})
		}
	}
}

// TestUnreadableInWatch: a change that cannot be decoded is left out; the watch goes on, and resumes where it can.
func TestUnreadableInWatch(t *testing.T) {
	api := newFakeAPI(t)
	api.put("pods", "a/p", "u", "")
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.expect("put Pod/a/p u")
	for _, bad := range []string{`{"metadata":{"name":7}}`, `{"metadata":null}`, `{"metadata":{"namespace":"a","name":"p","resourceVersion":999}}`, `[]`} {
		api.send("pods", fmt.Sprintf(`{"type":"MODIFIED","object":%s}`+"\n", bad))
	}
	rv := api.put("pods", "a/q", "u", "")
	h.expect("put Pod/a/q u")
	api.send("pods", `{"type":"ADDED","object":{"metadata":{"namespace":"a","name":"new","uid":[]}}}`+"\n")
	h.eventually("all are counted", func() bool { return h.filtered("Pod", "unreadable") == 5 })
	api.disconnect("pods")
	h.eventually("a watch from the last version", func() bool { return slices.Contains(api.seen(), fmt.Sprint("WATCH pods rv=", rv)) })
	api.put("pods", "a/q", "u", "")
	h.expect("put Pod/a/q u")
	if got := h.metric("k8swatch_relists_total"); got != 0 {
		t.Errorf("relists = %v, want 0", got)
	}
	if !h.Unreadable(object.Key{Kind: "Pod", Namespace: "a", Name: "new"}) || !strings.Contains(h.log.String(), "Pod/a/new") {
		t.Errorf("not known to be unreadable; log:\n%s", h.log)
	}
	api.put("pods", "a/new", "u", "")
	h.expect("put Pod/a/new u")
}

// TestUnreadableFlood: thousands of them are a few lines.
func TestUnreadableFlood(t *testing.T) {
	api := newFakeAPI(t)
	for i := range 2000 {
		api.set("pods", fmt.Sprint("a/p", i), fmt.Sprintf(`{"metadata":{"namespace":"a","name":"p%d","uid":7}}`, i))
	}
	h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
	h.eventually("the list", func() bool { return h.filtered("Pod", "unreadable") == 2000 })
	for i := range 2000 {
		api.send("pods", fmt.Sprintf(`{"type":"ADDED","object":{"metadata":{"name":"q%d","uid":7}}}`+"\n", i))
	}
	h.eventually("the watch", func() bool { return h.filtered("Pod", "unreadable") == 4000 })
	if log := h.log.String(); strings.Count(log, "\n") != 20 {
		t.Errorf("%d bytes:\n%.5000s", len(log), log)
	}
}
