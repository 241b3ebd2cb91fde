package runner

import (
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// TestMismatched: fields are compared where both sides hold one version, or storage does not
// say which; of the first objects by name.
func TestMismatched(t *testing.T) {
	rec := func(name, uid string, version uint64, digest string) history.StateRecord {
		return history.StateRecord{Kind: "Pod", Namespace: "n", Name: name, UID: uid, ResourceVersion: version, Digest: digest}
	}
	want := []history.StateRecord{rec("web", "u", 7, "a")}
	for _, tc := range []struct {
		name   string
		stored history.StateRecord
		wrong  bool
	}{
		{"the same", rec("web", "u", 7, "a"), false},
		{"another content", rec("web", "u", 7, "b"), true},
		{"without its version", rec("web", "u", 0, "b"), true},
		{"without its uid", rec("web", "", 7, "b"), true},
		{"an older version", rec("web", "u", 6, "b"), false},
		{"another object of the name", rec("web", "v", 7, "b"), false},
		{"not in the cluster", rec("db", "u", 7, "b"), false},
	} {
		if got := mismatched(want, []history.StateRecord{tc.stored}); len(got) == 1 != tc.wrong {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	var have []history.StateRecord
	want = nil
	for i := range party.MaxExplained + 5 {
		name := fmt.Sprintf("p%02d", 99-i)
		want, have = append(want, rec(name, "u", 1, "a")), append(have, rec(name, "u", 1, "b"))
	}
	if got := mismatched(want, have); len(got) != party.MaxExplained || got[0].Name != "p75" {
		t.Errorf("%d objects, the first is %s", len(got), got[0].Name)
	}
}
