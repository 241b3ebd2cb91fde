package pseudonym

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"
)

var salt = []byte("a salt for tests")

// TestOneToOne: no two words share a pseudonym, however short they are.
func TestOneToOne(t *testing.T) {
	keep := vocabulary()
	for name, w := range map[string]*words{"named": newWords(newPermutation(salt), keep), "strict": newWords(newPermutation(salt), nil)} {
		seen := map[string]string{}
		try := func(word string) {
			got := string(w.appendText(nil, word))
			if other, ok := seen[got]; ok {
				t.Fatalf("%s: %s and %s become %s", name, word, other, got)
			}
			seen[got] = word
			if _, kept := keep[word]; name == "named" && kept && got != word {
				t.Fatalf("%s was to stay and became %s", word, got)
			}
			if len(got) != len(word) {
				t.Fatalf("%s became %s", word, got)
			}
		}
		for i := 0; i < 36*36*36; i += 5 {
			const all = letters + digits
			try(string([]byte{all[i%36], all[i/36%36], all[i/1296]}))
		}
		for i := range 26 * 26 {
			try(string([]byte{letters[i%26], letters[i/26]}))
		}
		for i := range 3000 {
			try(fmt.Sprintf("web%04d", i))
			try(fmt.Sprintf("%06d", i))
		}
		for i := range 16 * 256 {
			try(fmt.Sprintf("10.244.%d.%d", i%256, i/256*17))
		}
		for word := range keep {
			if _, there := seen[string(w.appendText(nil, word))]; !there {
				try(word)
			}
		}
	}
}

// TestWordsChange guards against a cipher that does nothing: nearly no word of
// more than two characters may stand for itself, and neighbours must not look alike.
func TestWordsChange(t *testing.T) {
	w := newWords(newPermutation(salt), nil)
	same, alike := 0, 0
	last := ""
	for i := range 1000 {
		word := fmt.Sprintf("node%c%c", 'a'+i%26, 'a'+i/26%26)
		got := string(w.appendText(nil, word))
		if got == word {
			same++
		}
		if last != "" && (got[:2] == last[:2] || got[4:] == last[4:]) {
			alike++
		}
		last = got
	}
	if same > 1 || alike > 20 { // by chance 0 and 3
		t.Errorf("%d words are unchanged, %d neighbours look alike", same, alike)
	}
	if a, b := New(salt, true).Text("payments"), New([]byte("another"), true).Text("payments"); a == b || a == "payments" {
		t.Errorf("%q and %q with different salts", a, b)
	}
	if a, b := New(salt, true).Text("payments"), New(salt, true).Text("payments"); a != b {
		t.Errorf("%q and %q with the same salt", a, b)
	}
	if got := New(salt, false).Text("payments"); got != "payments" {
		t.Errorf("%q without anonymising", got)
	}
}

func TestShapes(t *testing.T) {
	w := newWords(newPermutation(salt), vocabulary())
	for _, tc := range []struct{ text, shape string }{ // of the shape, a is another letter, 0 another digit, x a hexadecimal one
		{"default", "default"},
		{"kube-system", "kube-system"},
		{"app.kubernetes.io/name", "app.kubernetes.io/name"},
		{"acme.example.org/Owner-1", "aaaa.aaaaaaa.aaa/Aaaaa-0"},
		{"0.0.0.0", "0.0.0.0"},
		{"127.0.0.1:8080", "127.0.0.1:0000"},
		{"::1", "::1"},
		{"10.96.0.0/12", "00.00.0.0/12"},
		{"(see 192.168.17.4).", "(aaa 000.000.00.0)."},
		{"1.2.3.4.5", "0.0.0.0.0"},
		{"12:30:45", "00:00:00"},
		{"fd00:aa::17/64", "xxxx:xx::xx/64"},
		{"pod 01234567-89ab-4def-8123-456789abcdef!", "pod xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx!"},
		{"sha256:0123456789abcdef", "sha256:xxxxxxxxxxxxxxxx"},
		{"über", "aaaaa"},
		{"", ""},
		{"--", "--"},
		{"\x80x", "aa"},
	} {
		for range 2 { // the second time from the cache
			got := string(w.appendText(nil, tc.text))
			if !fits(got, tc.shape) || len(got) != len(tc.text) {
				t.Errorf("%q became %q, want the shape %q", tc.text, got, tc.shape)
			}
		}
	}
}

func fits(text, shape string) bool {
	runes := []rune(text)
	for i, want := range []rune(shape) {
		if i >= len(runes) {
			return false
		}
		switch c := runes[i]; {
		case c == want:
		case want == 'a' && c >= 'a' && c <= 'z', want == 'A' && c >= 'A' && c <= 'Z', want == '0' && c >= '0' && c <= '9':
		case want == 'x' && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f'):
		default:
			return false
		}
	}
	return len(runes) == utf8.RuneCountInString(shape)
}

func TestKeptValues(t *testing.T) {
	p := New(salt, true)
	for object, want := range map[string]string{
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"100m","memory":"1.5Gi"}}}]}}`:                       `"cpu":"100m","memory":"1.5Gi"`,
		`{"metadata":{"resourceVersion":"12","generation":3}}`:                                                     `"resourceVersion":"12","generation":3`,
		`{"time":"2026-01-02T03:04:05.123456Z"}`:                                                                   `"time":"2026-01-02T03:04:05.123456Z"`,
		`{"spec":{"ports":[{"port":80,"protocol":"TCP"}],"clusterIP":"None"}}`:                                     `"port":80,"protocol":"TCP"`,
		`{"managedFields":[{"fieldsV1":{"f:spec":{"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{}}}}}]}`: `{"fieldsV1":{"f:spec":{"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{}}}}}`,
		`{"a\u0062c":"\u0041"}`: `"`,
	} {
		got, err := p.Object([]byte("before"), core("Pod"), []byte(object))
		if err != nil || !strings.HasPrefix(string(got), "before{") || !strings.Contains(string(got), want) {
			t.Errorf("%s became %s, %v; want %s", object, got, err, want)
		}
	}
	for _, object := range []string{
		`{"annotations":{"a":"100m 2026-01-02T03:04:05Z"}}`, `{"env":[{"name":"A","value":"2026-01-02T03:04:05Z"}]}`, `{"secret":"12345678"}`,
	} {
		got, err := p.Object(nil, core("Pod"), []byte(object))
		if err != nil || strings.Contains(string(got), "2026-01-02") || strings.Contains(string(got), "12345678") {
			t.Errorf("%s became %s, %v", object, got, err)
		}
	}
	for _, bad := range []string{"", "{", `{"a":1}x`, strings.Repeat("[", 2000) + strings.Repeat("]", 2000)} {
		if _, err := p.Object(nil, core("Pod"), []byte(bad)); err == nil {
			t.Errorf("%.20s was taken", bad)
		}
	}
}

// FuzzObject: valid JSON stays valid, with the same values where they are not texts.
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"web-0","annotations":{"a":"b"},"managedFields":[{"fieldsV1":{"k:{\"a\":1}":{},"v:x":{}}}]},"env":[{"value":1.5e3}]}`), true, "Pod")
	f.Add([]byte(`{"data":{"a":"b"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x"}}`), false, "Secret")
	f.Add([]byte(`["10.0.0.1:80","fd00::1","::ffff:1.2.3.4",":::","01234567-89ab-4def-8123-456789abcdef"]`), true, "")
	f.Fuzz(func(t *testing.T, object []byte, all bool, kind string) {
		p := New(salt, all)
		got, err := p.Object(nil, core(kind), object)
		if json.Valid(object) != (err == nil) && (all || err != nil) {
			if !strings.Contains(fmt.Sprint(err), "deep") {
				t.Fatalf("%q: %v", object, err)
			}
		}
		if err != nil || !json.Valid(object) {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q became %q", object, got)
		}
		again, err := New(salt, all).Object(nil, core(kind), object)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q became %q, then %q", object, got, again)
		}
	})
}

// FuzzText: an address stays one, and no text panics or changes its length.
func FuzzText(f *testing.F) {
	for _, text := range []string{"10.0.0.1", "fd00::1%eth0", "::ffff:1.2.3.4", "a.b-c", "1:2:3:4:5:6:7:8", "日本", "0.00.1"} {
		f.Add(text)
	}
	w := newWords(newPermutation(salt), nil)
	f.Fuzz(func(t *testing.T, text string) {
		got := string(w.appendText(nil, text))
		if len(got) != len(text) {
			t.Fatalf("%q became %q", text, got)
		}
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" && !a.Is4In6() {
			if _, err := netip.ParseAddr(got); err != nil {
				t.Fatalf("%q became %q: %v", text, got, err)
			}
		}
	})
}
