package storagemock

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/storagemock/store"
)

func TestParsePut(t *testing.T) {
	body := `{"x":1,"data":{"kind":"Pod","metadata":{"labels":{"name":"no"},"name":"web-1","namespace":"team-a",` +
		`"resourceVersion":"107","uid":"u\u0031"},"spec":{"metadata":{"name":"nor this"}}}}`
	got, err := parsePut([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := store.Meta{Name: "web-1", Namespace: "team-a", UID: "u1", ResourceVersion: 107}
	if got.Meta != want {
		t.Errorf("meta = %v, want %v", got.Meta, want)
	}
	if !bytes.HasPrefix(got.Data, []byte(`{"kind":"Pod"`)) || !bytes.HasSuffix(got.Data, []byte(`}}}`)) {
		t.Errorf("data = %s", got.Data)
	}
	if m := store.ParseMeta(got.Data); m != want {
		t.Errorf("ParseMeta = %v, want %v", m, want)
	}

	for in, wantData := range map[string]string{
		`{}`: "", `null`: "", ` {"data" : 5 } `: "5", `{"data":null}`: "null",
		`{"data":{"metadata":[]}}`: `{"metadata":[]}`, `{"data":1,"data":"b"}`: `"b"`,
		`{"data":{"metadata":{"name":5,"resourceVersion":7}}}`: `{"metadata":{"name":5,"resourceVersion":7}}`,
	} {
		got, err := parsePut([]byte(in))
		if err != nil || string(got.Data) != wantData || got.Meta != (store.Meta{}) {
			t.Errorf("parsePut(%s) = %q %v, %v", in, got.Data, got.Meta, err)
		}
	}
	for _, in := range []string{``, `[]`, `"data"`, `{"data":{}`, `{"data":{}}x`, `{"data":{"metadata":{"name":}}}`, `<html>`, `null null`} {
		if _, err := parsePut([]byte(in)); err == nil {
			t.Errorf("parsePut(%q) succeeded", in)
		}
	}
}

func TestDepthOfABody(t *testing.T) {
	for _, shape := range []struct{ open, end string }{
		{`{"data":[`, `]}`}, {`{"x":[`, `]}`}, {`{"data":{"x":`, `}}`}, {`{"data":{"metadata":{"x":`, `}}}`},
	} {
		levels := strings.Count(shape.open, "{") + strings.Count(shape.open, "[")
		nest := func(n int) []byte {
			return []byte(shape.open + strings.Repeat("[", n-levels) + strings.Repeat("]", n-levels) + shape.end)
		}
		if _, err := parsePut(nest(store.MaxDepth)); err != nil {
			t.Errorf("%s: %d levels: %v", shape.open, store.MaxDepth, err)
		}
		if _, err := parsePut(nest(store.MaxDepth + 1)); !errors.Is(err, errDepth) {
			t.Errorf("%s: %d levels: %v, want errDepth", shape.open, store.MaxDepth+1, err)
		}
	}
	deep := []byte(`{"data":` + strings.Repeat(`{"metadata":`, 1_000_000))
	if _, err := parsePut(deep); !errors.Is(err, errDepth) {
		t.Errorf("a million levels: %v, want errDepth", err)
	}
}

func FuzzParsePut(f *testing.F) {
	for _, s := range []string{`{"data":{"metadata":{"name":"a"}}}`, `[1,2,{"a":"\u0000"}]`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `{"data":{"metadata":{"uid":"u","resourceVersion":"5"}},"data":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		obj, err := parsePut(b)
		if err == nil && !json.Valid(b) {
			t.Fatalf("parsePut accepted %q, which is not JSON", b)
		}
		var ref struct {
			Data json.RawMessage `json:"data"`
		}
		var members map[string]json.RawMessage
		if err != nil || json.Unmarshal(b, &ref) != nil || json.Unmarshal(b, &members) != nil {
			return
		}
		if want := members["data"]; !bytes.Equal(obj.Data, want) {
			t.Fatalf("parsePut(%q): data %q, encoding/json says %q", b, obj.Data, want)
		}
		var doc struct {
			Metadata map[string]json.RawMessage
		}
		if exact := map[string]json.RawMessage{}; json.Unmarshal(obj.Data, &exact) == nil {
			_ = json.Unmarshal(exact["metadata"], &doc.Metadata)
		}
		var uid string
		_ = json.Unmarshal(doc.Metadata["uid"], &uid)
		if obj.Meta.UID != uid {
			t.Fatalf("parsePut(%q): uid %q, encoding/json says %q", b, obj.Meta.UID, uid)
		}
	})
}
