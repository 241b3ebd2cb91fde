package history

import (
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	rec := func(name, uid, digest string) StateRecord {
		return StateRecord{Kind: "Custom0", Namespace: "n", Name: name, UID: uid, Digest: digest}
	}
	lease := func(version uint64, digest string) StateRecord {
		return StateRecord{Kind: "Lease", Namespace: "n", Name: "a", UID: "1", ResourceVersion: version, Digest: digest}
	}
	all := func(r ...StateRecord) []StateRecord { return r }
	for _, tc := range []struct {
		name      string
		api, have []StateRecord
		want      string
	}{
		{"equal in any order", all(rec("a", "1", "d"), rec("b", "2", "d")), all(rec("b", "2", "d"), rec("a", "1", "d")), ""},
		{"nothing", nil, nil, ""},
		{"missing", all(rec("a", "1", "d")), nil, "Custom0/n/a is not in storage"},
		{"other content of one version, as after a switch", all(rec("a", "1", "d")), all(rec("a", "1", "e")), "or another content"},
		{"an older object", all(rec("a", "2", "d")), all(rec("a", "1", "d")), "storage holds uid 1"},
		{"a lease that was renewed since", all(lease(5, "d")), all(lease(6, "e")), ""},
		{"a lease whose renewal is missing", all(lease(6, "e")), all(lease(5, "d")), "storage holds uid 1 version 5"},
		{"left behind", nil, all(rec("b", "1", "d"), rec("a", "1", "d")), "Custom0/n/a is in storage, the apiserver serves no such object"},
	} {
		if got := Difference(tc.api, tc.have); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
