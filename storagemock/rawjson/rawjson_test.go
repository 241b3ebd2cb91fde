package rawjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/storagemock/rawjson"
)

func TestValid(t *testing.T) {
	good := []string{
		`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `-1.5e+10`, `""`, ` {"a" : [1 , {"b":null}] } `,
		`"\u00e9\n\"\\"`, `{"":0}`, "\"\xff\"",
	}
	for _, s := range good {
		if err := rawjson.Valid([]byte(s)); err != nil {
			t.Errorf("Valid(%q) = %v, want nil", s, err)
		}
	}
	bad := []string{
		``, ` `, `{`, `}`, `[`, `[1,]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `01`, `1.`, `.5`, `1e`, `-`, `tru`,
		`"a`, "\"\n\"", `"\x"`, `"\u12g4"`, `"\u12`, `{} {}`, `nulll`, `'a'`,
	}
	for _, s := range bad {
		var syn *rawjson.SyntaxError
		if err := rawjson.Valid([]byte(s)); !errors.As(err, &syn) {
			t.Errorf("Valid(%q) = %v, want a SyntaxError", s, err)
		}
	}
}

func TestDepth(t *testing.T) {
	nest := func(n int) []byte {
		return []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	if err := rawjson.Valid(nest(rawjson.MaxDepth)); err != nil {
		t.Errorf("%d levels: %v", rawjson.MaxDepth, err)
	}
	if err := rawjson.Valid(nest(rawjson.MaxDepth + 1)); !errors.Is(err, rawjson.ErrTooDeep) {
		t.Errorf("%d levels: %v, want ErrTooDeep", rawjson.MaxDepth+1, err)
	}
	deepPut := []byte(`{"data":` + strings.Repeat(`{"metadata":`, 1_000_000))
	if _, err := rawjson.ParsePut(deepPut); !errors.Is(err, rawjson.ErrTooDeep) {
		t.Errorf("a million levels: %v, want ErrTooDeep", err)
	}
}

func TestParsePut(t *testing.T) {
	body := `{"x":1,"data":{"kind":"Pod","metadata":{"labels":{"name":"no"},"name":"web-1","namespace":"team-a",` +
		`"resourceVersion":"107","uid":"u\u0031"},"spec":{"metadata":{"name":"nor this"}}}}`
	got, err := rawjson.ParsePut([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := rawjson.Meta{Name: "web-1", Namespace: "team-a", UID: "u1", ResourceVersion: 107}
	if got.Meta != want {
		t.Errorf("meta = %v, want %v", got.Meta, want)
	}
	if !bytes.HasPrefix(got.Data, []byte(`{"kind":"Pod"`)) || !bytes.HasSuffix(got.Data, []byte(`}}}`)) {
		t.Errorf("data = %s", got.Data)
	}
	if m := rawjson.ParseMeta(got.Data); m != want {
		t.Errorf("ParseMeta = %v, want %v", m, want)
	}

	for in, wantData := range map[string]string{
		`{}`: "", `null`: "", ` {"data" : 5 } `: "5", `{"data":null}`: "null",
		`{"data":{"metadata":[]}}`: `{"metadata":[]}`, `{"data":1,"data":"b"}`: `"b"`,
	} {
		got, err := rawjson.ParsePut([]byte(in))
		if err != nil || string(got.Data) != wantData || got.Meta != (rawjson.Meta{}) {
			t.Errorf("ParsePut(%s) = %q %v, %v", in, got.Data, got.Meta, err)
		}
	}
	for _, in := range []string{``, `[]`, `"data"`, `{"data":{}`, `{"data":{}}x`, `{"data":{"metadata":{"name":}}}`, `<html>`} {
		if _, err := rawjson.ParsePut([]byte(in)); err == nil {
			t.Errorf("ParsePut(%q) succeeded", in)
		}
	}
}

func TestWalk(t *testing.T) {
	doc := []byte(`{"a":{"b\u002ec":[1,"x",{"d":true}]},"e":"é\"","e":2}`)
	var keys []string
	for k := range rawjson.Members(doc) {
		keys = append(keys, k)
	}
	if !slices.Equal(keys, []string{"a", "e", "e"}) {
		t.Errorf("keys = %v", keys)
	}
	arr := rawjson.GetPath(doc, "a", "b.c")
	var elems []string
	for v := range rawjson.Elements(arr) {
		elems = append(elems, string(v))
	}
	if !slices.Equal(elems, []string{"1", `"x"`, `{"d":true}`}) {
		t.Errorf("elements = %v", elems)
	}
	if n, ok := rawjson.Int(rawjson.Get(doc, "e")); n != 2 || !ok {
		t.Errorf("e = %d %v, want the last member, 2", n, ok)
	}
	if rawjson.GetPath(doc, "a", "nope", "x") != nil {
		t.Error("a missing path gave a value")
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"data":{"metadata":{"name":"a"}}}`, `[1,2,{"a":"\u0000"}]`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := rawjson.Valid(b)
		if ok := json.Valid(b); ok != (err == nil) && !errors.Is(err, rawjson.ErrTooDeep) {
			t.Fatalf("Valid(%q) = %v, encoding/json says %v", b, err, ok)
		}
		p, perr := rawjson.ParsePut(b)
		var ref struct {
			Data json.RawMessage `json:"data"`
		}
		if perr == nil && err != nil {
			t.Fatalf("ParsePut accepted %q, which is %v", b, err)
		}
		if perr != nil || json.Unmarshal(b, &ref) != nil {
			return
		}
		if p.Data != nil && rawjson.Valid(p.Data) != nil {
			t.Fatalf("ParsePut(%q): data %q is not JSON", b, p.Data)
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(b, &m) == nil && m != nil {
			got := maps.Collect(rawjson.Members(bytes.TrimSpace(b)))
			if len(got) != len(m) {
				t.Fatalf("Members(%q) has %d keys, encoding/json %d", b, len(got), len(m))
			}
		}
	})
}

func BenchmarkParsePut(b *testing.B) {
	body := []byte(`{"data":{"kind":"Pod","metadata":{"name":"web-1","namespace":"team-a","resourceVersion":"107","uid":"u1"},"spec":{` +
		strings.TrimSuffix(strings.Repeat(`"container":{"image":"registry.example/app:1.2.3","command":["run","--fast"]},`, 36), ",") + `}}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rawjson.ParsePut(body); err != nil {
			b.Fatal(err)
		}
	}
}
