package storagemock

import (
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// fieldsOf are the members of a document.
func fieldsOf(doc string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, v := range jsonscan.Members([]byte(doc)) {
			if !yield(jsonscan.Unquote(key), v) {
				return
			}
		}
	}
}

// TestDocument: what a projection keeps, and what a database by way of Go's maps makes of it.
func TestDocument(t *testing.T) {
	const pod = `{"_id":"66","data":{"metadata":{"labels":{"app":"web","app.kubernetes.io/name":"x"},"name":"web-1"},"spec":{"on":true,"replicas":3}},"resourceName":"web-1"}`
	for _, tc := range []struct{ doc, fields, want string }{
		{pod, "", pod},
		{pod, "resourceName", `{"_id":"66","resourceName":"web-1"}`},
		{pod, "data.metadata.name", `{"_id":"66","data":{"metadata":{"name":"web-1"}}}`},
		{pod, "data.spec.replicas,data.spec.on", `{"_id":"66","data":{"spec":{"on":true,"replicas":3}}}`},
		{pod, "data.spec.replicas.x,nowhere", `{"_id":"66","data":{"spec":{}}}`},
		{pod, "data.spec.on.x,data.spec.on,data.spec.on.y", `{"_id":"66","data":{"spec":{"on":true}}}`},
		{pod, "data.metadata.labels.app.kubernetes.io/name", `{"_id":"66","data":{"metadata":{"labels":{}}}}`},
		{`{"b":{"z":1,"y":[{"d":1,"c":2}]},"a":"<"}`, "", `{"a":"\u003c","b":{"y":[{"c":2,"d":1}],"z":1}}`},
		{`{"n":[1,1.0,1e3,1.50,-0.0,9007199254740993,1e999]}`, "", `{"n":[1,1,1000,1.5,-0,9007199254740993,1e999]}`},
	} {
		if got := string(document(fieldsOf(tc.doc), parseProjection(strings.Split(tc.fields, ",")))); got != tc.want {
			t.Errorf("%q of %s:\n got %s\nwant %s", tc.fields, tc.doc, got, tc.want)
		}
	}
}

func FuzzDocument(f *testing.F) {
	f.Add("data.spec,data.metadata.name", `{"_id":"66","data":{"spec":{"a":[1,null]}}}`)
	f.Fuzz(func(t *testing.T, fields, raw string) {
		if jsonscan.ValidWithin([]byte(raw), 100) != nil || !jsonscan.IsObject([]byte(raw)) {
			return
		}
		if out := document(fieldsOf(raw), parseProjection(strings.Split(fields, ","))); !json.Valid(out) {
			t.Fatalf("%q of %q gave %q", fields, raw, out)
		}
	})
}
