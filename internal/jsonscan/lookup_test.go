package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

func TestValueWithinALimit(t *testing.T) {
	nest := func(n int) []byte {
		return []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	if err := jsonscan.ValidWithin(nest(100), 100); err != nil {
		t.Errorf("100 levels: %v", err)
	}
	for name, in := range map[string][]byte{
		"101 levels":       nest(101),
		"a million levels": nest(1_000_000),
		"cut short":        nest(300)[:200],
		"bad further down": []byte(strings.Repeat("[", 200) + "x"),
	} {
		if err := jsonscan.ValidWithin(in, 100); !errors.Is(err, jsonscan.ErrTooDeep) {
			t.Errorf("%s: %v, want ErrTooDeep", name, err)
		}
	}
	for _, in := range []string{"[[x", "[[", "{\"a\":[1,]}", "[] []"} {
		if err := jsonscan.ValidWithin([]byte(in), 100); err == nil || errors.Is(err, jsonscan.ErrTooDeep) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestLookup(t *testing.T) {
	doc := []byte(` {"a": {"b\u002ec":[1,"x",{"d":true}]} ,"e":"é\"","e": 2, "n":null}`)
	var keys []string
	for k := range jsonscan.Members(doc) {
		keys = append(keys, string(k))
	}
	if !slices.Equal(keys, []string{`"a"`, `"e"`, `"e"`, `"n"`}) {
		t.Errorf("keys = %v", keys)
	}
	for range jsonscan.Members(doc) {
		break // must not go on
	}
	for _, tc := range []struct {
		path []string
		want string
	}{
		{[]string{"a", "b.c"}, `[1,"x",{"d":true}]`},
		{[]string{"e"}, "2"}, // the last of equal keys
		{[]string{"n"}, "null"},
		{[]string{"a", "nope", "x"}, ""},
		{[]string{"e", "x"}, ""},
	} {
		if got := jsonscan.Lookup(doc, tc.path...); string(got) != tc.want {
			t.Errorf("%v = %s, want %s", tc.path, got, tc.want)
		}
	}
	for in, want := range map[string]string{`"a\u00e9\n"`: "aé\n", `5`: "", `{}`: "", "": "", "\"\xff\"": "\uFFFD"} {
		if got := jsonscan.Unquote([]byte(in)); got != want {
			t.Errorf("Unquote(%s) = %q, want %q", in, got, want)
		}
	}
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"data":{"metadata":{"name":"a"}}}`, `[1,2,{"a":"\u0000"}]`, ` {"a" : 1,"a":2} `, `{"\ud800":"\ud800"}`, "{\"\xff\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := jsonscan.ValidWithin(b, 100); (err == nil) != json.Valid(b) && !errors.Is(err, jsonscan.ErrTooDeep) {
			t.Fatalf("%q: %v, encoding/json says valid=%v", b, err, json.Valid(b))
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) != nil || want == nil {
			return
		}
		got := map[string]json.RawMessage{}
		for key, value := range jsonscan.Members(b) {
			got[jsonscan.Unquote(key)] = value
		}
		if len(got) != len(want) {
			t.Fatalf("Members(%q) has %d keys, encoding/json %d", b, len(got), len(want))
		}
		for key, value := range want {
			if !bytes.Equal(got[key], value) || !bytes.Equal(jsonscan.Lookup(b, key), value) {
				t.Fatalf("%q: member %q is %q, encoding/json says %q", b, key, got[key], value)
			}
			var text string
			if jsonscan.IsString(value) && json.Unmarshal(value, &text) == nil && jsonscan.Unquote(value) != text {
				t.Fatalf("Unquote(%q) = %q, encoding/json says %q", value, jsonscan.Unquote(value), text)
			}
		}
	})
}
