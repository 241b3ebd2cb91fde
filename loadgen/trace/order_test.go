package trace

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestOrder: a writer refuses what a reader would, and goes on.
func TestOrder(t *testing.T) {
	list := []Frame{{Type: Initial, Object: object("a", 1)}}
	synced := append(list, Frame{Type: Synced, ResourceVersion: "1"})
	gap := append(synced, Frame{Type: Gap})
	for name, tc := range map[string]struct {
		before []Frame
		bad    Frame
		want   string
	}{
		"unknown resource":     {nil, Frame{Resource: 2, Type: Synced, ResourceVersion: "1"}, "resource 2, the header names 2"},
		"negative resource":    {nil, Frame{Resource: -1, Type: Synced, ResourceVersion: "1"}, "resource -1"},
		"unknown type":         {nil, Frame{Type: "ERROR", Object: object("a", 1)}, `type "ERROR" is not known`},
		"event before list":    {list, Frame{Type: Added, Object: object("b", 1)}, "ADDED of pods before a list is complete"},
		"bookmark before list": {list, Frame{Type: Bookmark, Object: object("b", 1)}, "before a list is complete"},
		"initial in a gap":     {gap, Frame{Type: Initial, Object: object("b", 1)}, "after the first list"},
		"initial after list":   {synced, Frame{Type: Initial, Object: object("b", 1)}, "after the first list"},
		"synced twice":         {synced, Frame{Type: Synced, ResourceVersion: "2"}, "without a list before it"},
		"inferred":             {synced, Frame{Type: Added, Inferred: true, Object: object("b", 2)}, "inferred without a gap"},
		"inferred bookmark":    {synced, Frame{Type: Bookmark, Inferred: true, Object: object("b", 2)}, "cannot be inferred"},
		"event in a gap":       {gap, Frame{Type: Added, Object: object("b", 2)}, "that is not inferred"},
		"bookmark in a gap":    {gap, Frame{Type: Bookmark, Object: object("b", 2)}, "before a list is complete"},
		"inferred end":         {gap, Frame{Type: Synced, Inferred: true, ResourceVersion: "2"}, "cannot be inferred"},
		"no version":           {gap, Frame{Type: Synced}, "SYNCED without a resourceVersion"},
		"version twice":        {synced, Frame{Type: Added, ResourceVersion: "2", Object: object("b", 2)}, "resourceVersion beside its object"},
		"no object":            {synced, Frame{Type: Added}, "without an object"},
		"object of a mark":     {synced, Frame{Type: Gap, Object: object("b", 2)}, "with an object"},
		"not JSON":             {synced, Frame{Type: Added, Object: []byte(`{"a":`)}, "unexpected end of JSON"},
		"two values":           {synced, Frame{Type: Added, Object: []byte(`{} {}`)}, "the end of the text"},
		"an array":             {synced, Frame{Type: Added, Object: []byte(`[]`)}, "not a JSON object"},
		"too large":            {synced, Frame{Type: Added, Object: make([]byte, maxObject+1)}, "16777217 bytes, at most 16777216"},
	} {
		var m memory
		w, err := NewWriter(&m, header)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range tc.before {
			if err := w.Append(f); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := w.Append(tc.bad); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, frames, err := read(m.Bytes()); err != nil || len(frames) != len(tc.before) {
			t.Errorf("%s: %d frames are left of %d, %v", name, len(frames), len(tc.before), err)
		}
	}
}

// TestBadFrames: a reader refuses what only another writer can have written.
func TestBadFrames(t *testing.T) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"at":1,"resource":0,"type":"SYNCED","resourceVersion":"1"}`:                  "",
		`{"at":-1,"resource":0,"type":"SYNCED","resourceVersion":"1"}`:                 "line 2: time -1ns after 0s",
		`{"at":1,"type":"SYNCED","resourceVersion":"1"}`:                               "line 2: resource -1",
		`{"at":1,"resource":0,"type":"SYNCED","resourceVersion":"1","x":2}`:            `line 2: field "x": unknown field`,
		`{"at":1,"resource":0,"type":"INITIAL","object":"{}"}`:                         `field "object": want an object`,
		`{"at":1.5,"resource":0,"type":"SYNCED","resourceVersion":"1"}`:                "want a whole number",
		"{\"at\":1,\"resource\":0,\"type\":\"SYNCED\",\"resourceVersion\":\"1\"}\nfoo": "line 3: column 1",
		"": "line 2: the line ends where an object should stand",
	} {
		head, _ := json.Marshal(header)
		_, _, err := read(enc.EncodeAll(fmt.Appendf(nil, "%s\n%s\n{\"frames\":1}\n", head, text), nil))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
