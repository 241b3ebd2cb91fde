package delivery

import (
	"strings"
	"testing"
)

func TestSubject(t *testing.T) {
	s, err := parseSubject("a.{type}.x-{name}.{namespace}")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"web-1": "a.ADDED.x-web-1._", "a.b": "a.ADDED.x-a%2Eb._", "_": "a.ADDED.x-%5F._", "system:x y>*": "a.ADDED.x-system%3Ax%20y%3E%2A._", "ä%": "a.ADDED.x-%C3%A4%25._",
	} {
		if got := s.of(Event{Type: "ADDED", Name: name}); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// FuzzSubject: whatever an object is called, its subject has as many tokens as the
// template, none is empty or a wildcard, and two names never share one.
func FuzzSubject(f *testing.F) {
	f.Add("a.b", "a%2Eb")
	f.Add("_", "")
	f.Add("*", ">")
	s, err := parseSubject("")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		one, two := s.of(Event{Version: "v1", Resource: "r", Name: a}), s.of(Event{Version: "v1", Resource: "r", Name: b})
		if a != b && one == two {
			t.Errorf("%q and %q are both %s", a, b, one)
		}
		if tokens := strings.Split(one, "."); len(tokens) != 6 || tokens[5] == "" || strings.ContainsAny(one, "*> \t\r\n") {
			t.Errorf("%q: %s", a, one)
		}
	})
}

// FuzzTemplate: a template that is taken has no empty token.
func FuzzTemplate(f *testing.F) {
	f.Add("a.{name}")
	f.Add("{type}{uid}.}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSubject(text)
		if err != nil {
			return
		}
		got := s.of(Event{})
		if strings.ContainsAny(got, "*> {}\r\n\t") {
			t.Errorf("%q: %q", text, got)
		}
		for token := range strings.SplitSeq(got, ".") {
			if token == "" {
				t.Errorf("%q: %q", text, got)
			}
		}
	})
}
