package pipeline

import "testing"

// TestUndeleted: only Kubernetes' own Events are never deleted; custom resources of that name
// are stored under the name of their group, too.
func TestUndeleted(t *testing.T) {
	for kind, want := range map[string]bool{"Event": true, "Event.acme.io": false, "EventSource": false, "Pod": false} {
		if got := undeleted(kind); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
