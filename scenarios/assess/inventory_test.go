package assess

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
)

// TestStorageDigest: it is of what storage holds, in any order, and of nothing else.
func TestStorageDigest(t *testing.T) {
	rec := func(side history.Side, namespace, name, uid, content string, version uint64) history.StateRecord {
		return history.StateRecord{Side: side, Kind: "Pod", Namespace: namespace, Name: name, UID: uid, Content: content, ResourceVersion: version, Digest: content + fmt.Sprint(version)}
	}
	of := func(all ...history.StateRecord) string {
		var i inventory
		for _, r := range all {
			i.add(&r)
		}
		return i.digest()
	}
	a, b := rec(history.SideStorage, "n", "a", "u", "c", 1), rec(history.SideStorage, "", "b", "v", "d", 2)
	want := fmt.Sprintf("%x", sha256.Sum256([]byte("Pod\t\tb\tv\td\nPod\tn\ta\tu\tc\n")))
	if got := of(a, b); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if of(b, rec(history.SideApiserver, "n", "x", "y", "", 1), rec(history.SideStorage, "n", "a", "u", "c", 7)) != want {
		t.Error("the order, a version or the apiserver's side changes it")
	}
	for what, other := range map[string]string{
		"another content": of(rec(history.SideStorage, "n", "a", "u", "e", 1), b), "another uid": of(rec(history.SideStorage, "n", "a", "w", "c", 1), b),
		"another name": of(rec(history.SideStorage, "n", "z", "u", "c", 1), b), "one object less": of(a), "one twice": of(a, b, b),
	} {
		if other == want || len(other) != 64 {
			t.Errorf("%s: %q", what, other)
		}
	}
	if d := of(a, rec(history.SideStorage, "n", "old", "u", "", 1)); d != "" {
		t.Errorf("of unknown contents: %s", d)
	}
}
