package collector_test

import (
	"net/http"
	"testing"

	"github.com/watchbench/watchbench/watcher/collector"
)

// TestEventsOfOtherGroups: a custom resource that is named Event is no Event of Kubernetes:
// its deletions are sent, and those of kube-system are not left out.
func TestEventsOfOtherGroups(t *testing.T) {
	api := newFakeAPI(t)
	api.put("events", "kube-system/disk-full", "u", "")
	custom := collector.Resource{Group: "acme.io", Version: "v1", Name: "events", Kind: "Event", Namespaced: true}
	h := start(t, api, collector.Config{Resources: []collector.Resource{custom}})
	h.expect("put Event.acme.io/kube-system/disk-full u")
	api.delete("events", "kube-system/disk-full")
	h.expect("delete Event.acme.io/kube-system/disk-full u")

	core := events
	core.Group = "events.k8s.io"
	h = start(t, api, collector.Config{Resources: []collector.Resource{core}})
	api.put("events", "team-a/e", "u", "")
	h.expect("put Event/team-a/e u")
	api.delete("events", "team-a/e")
	h.eventually("its deletion is left out", func() bool { return h.filtered("Event", "event-delete") == 1 })
}

// TestRefusalWithoutMessage: what the apiserver does not say is not shown as an empty text.
func TestRefusalWithoutMessage(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"no Status": {"", "403 Forbidden (get pods)"},
		"Status": {`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`,
			"the API server answered 403 Forbidden without a message"},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI(t)
			api.fault = func(_ string, _ int, w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(tc.body))
				return true
			}
			h := start(t, api, collector.Config{Resources: []collector.Resource{pods}})
			h.eventually("a failure", func() bool { return h.States()[0].Failed != nil })
			if s := h.States()[0]; s.Failed.Error() != tc.want || !s.Refused() {
				t.Errorf("got %q, refused %v, want %q", s.Failed, s.Refused(), tc.want)
			}
		})
	}
}
