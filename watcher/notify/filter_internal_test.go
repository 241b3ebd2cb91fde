package notify

import (
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/object"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "status.phase": {"status", "phase"}, `metadata.annotations.a\.b/c`: {"metadata", "annotations", "a.b/c"}, `a\\.b`: {`a\`, "b"},
		".": {"!"}, "a.": {"!"}, ".a": {"!"}, "a..b": {"!"}, `a\`: {"!"}, `a\n`: {"!"}, "a[0]": {"!"}, "a.*": {"!"},
	} {
		got, err := parsePath(text)
		if bad := len(want) == 1 && want[0] == "!"; bad != (err != nil) || !bad && !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// FuzzParsePath: what is taken has no empty key, and is what its keys are when they are written again.
func FuzzParsePath(f *testing.F) {
	f.Add("status.phase")
	f.Add(`a\.b.c\\`)
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := parsePath(text)
		if err != nil {
			return
		}
		var again []string
		for _, k := range keys {
			if k == "" {
				t.Errorf("%q has an empty key", text)
			}
			again = append(again, strings.NewReplacer(`\`, `\\`, ".", `\.`).Replace(k))
		}
		if joined := strings.Join(again, "."); joined != text {
			t.Errorf("%q is %q again", text, joined)
		}
	})
}

// TestLabels: labels are read where they stand, with whatever else there is.
func TestLabels(t *testing.T) {
	for _, tc := range []struct {
		selector, metadata string
		want               bool
	}{
		{"a=b", `"labels":{"a":"b"}`, true},
		{"a=b", `"labels":{"a":"c"}`, false},
		{"a=b", `"annotations":{"a":"b"}`, false},
		{"a=b", `"labels":null`, false},
		{"a=b", `"x":1`, false},
		{"!a", `"x":1`, true},
		{"a!=b", `"x":1`, true},
		{"a", `"labels":{"a":""}`, true},
		{"a in (b,c),d notin (e)", `"labels":{"d":"f","a":"c"}`, true},
		{"a in (b,c),d notin (e)", `"labels":{"d":"e","a":"c"}`, false},
		{"a=é", `"labels":{}`, false},
		{"example.com/a=b", `"labels":{"example.com\/a":"\u0062"}`, true},
		{"a>4", `"labels":{"a":"5"}`, true},
	} {
		f, err := newFilter(Subscription{LabelSelector: tc.selector})
		if err != nil {
			if tc.selector != "a=é" {
				t.Error(err)
			}
			continue
		}
		if got := f.matches(&object.Object{Raw: []byte(`{"metadata":{` + tc.metadata + `}}`)}); got != tc.want {
			t.Errorf("%s of %s: %t", tc.selector, tc.metadata, got)
		}
	}
}
