package notify

import (
	"strings"
	"testing"
)

func TestSubject(t *testing.T) {
	for name, want := range map[string]string{
		"web-1": "web-1", "a.b": "a%2Eb", "_": "%5F", "system:x y>*": "system%3Ax%20y%3E%2A", "ä%": "%C3%A4%25",
	} {
		want = "a.b._.v1.pods._." + want
		if got := subjectOf("a.b", Event{Version: "v1", Resource: "pods", Name: name}); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	for prefix, valid := range map[string]bool{"": true, "a.b": true, "a..b": false, "a.": false, "a.*": false, "k8s.{name}": false, "$SYS": false} {
		if err := checkPrefix(prefix); err == nil != valid {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

// FuzzSubject: whatever an object is called, its subject has as many tokens, none is empty or a wildcard, and two names never share one.
func FuzzSubject(f *testing.F) {
	f.Add("a.b", "a%2Eb")
	f.Add("_", "")
	f.Add("*", ">")
	f.Fuzz(func(t *testing.T, a, b string) {
		one, two := subjectOf("k8s", Event{Version: "v1", Resource: "r", Name: a}), subjectOf("k8s", Event{Version: "v1", Resource: "r", Name: b})
		if a != b && one == two {
			t.Errorf("%q and %q are both %s", a, b, one)
		}
		if tokens := strings.Split(one, "."); len(tokens) != 6 || tokens[5] == "" || strings.ContainsAny(one, "*> \t\r\n") {
			t.Errorf("%q: %s", a, one)
		}
	})
}
