package query_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/watches"
)

// TestObjects are what the paths of the resource answer.
func TestObjects(t *testing.T) {
	s := start(t)
	somePods(s)
	for query, path := range map[string]string{
		"gvk=v1/Pod&namespace=a&name=one":                        "/api/v1/namespaces/a/pods/one",
		"gvk=v1/Pod":                                             "/api/v1/pods",
		"gvk=v1/Pod&namespace=a&limit=1":                         "/api/v1/namespaces/a/pods?limit=1",
		"gvk=v1/Pod&labelSelector=app%3Dweb&wait=5s":             "/api/v1/pods?labelSelector=app%3Dweb",
		"gvk=v1/Pod&fieldSelector=spec.nodeName%3Dn1&limit=":     "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1",
		"gvk=v1/Node&name=n1":                                    "/api/v1/nodes/n1",
		"gvk=v1/Namespace&name=a":                                "/api/v1/namespaces/a",
		"gvk=example.com/v1/Gadget&namespace=a&name=g&continue=": "/apis/example.com/v1/namespaces/a/gadgets/g",
		"gvk=v1/Pod&namespace=none":                              "/api/v1/namespaces/none/pods",
	} {
		want := s.ask(t, path)
		if got := s.ask(t, "/v1/objects?"+query); got.code != 200 || !bytes.Equal(got.body, want.body) {
			t.Errorf("%s: %d %s\nwant %s", query, got.code, got.body, want.body)
		}
	}
	body := func(text string) answer {
		return s.do(t, http.MethodPost, "/v1/objects:query", text, "Content-Type", "application/json; charset=utf-8")
	}
	l := decode[list](t, body(`{"gvk":"v1/Pod","labelSelector":"app","limit":2,"wait":"1s"}`))
	if l.names() != "a-b/one a/one" {
		t.Errorf("%s", l.names())
	}
	if l = decode[list](t, body(`{"gvk":"v1/Pod","labelSelector":"app","limit":2,"continue":"`+l.Metadata.Continue+`"}`)); l.names() != "a/two" {
		t.Errorf("%s", l.names())
	}
	for text, message := range map[string]string{
		`{"gvk":"v1/Pod","lables":"a"}`:         `unknown field "lables"; known are gvk, namespace, name, labelSelector, fieldSelector, limit, continue and wait`,
		`{"gvk":"v1/Pod"} {}`:                   "more than one value",
		`{"gvk":5}`:                             "gvk: a number; want a string",
		`{"gvk":"v1/Pod","limit":"1"}`:          "limit: a string; want a whole number",
		`{"gvk":"v1/Pod","limit":1.5}`:          "limit: a number 1.5; want a whole number",
		`[]`:                                    "an array; want an object",
		``:                                      "cannot be read",
		`{"gvk":"v1/Pod","limit":-1}`:           "limit: Invalid value",
		`{"gvk":"v1/Pod","wait":"31s"}`:         "wait: Invalid value",
		`{"gvk":"v1/Pod","wait":"x"}`:           "wait: Invalid value",
		`{"gvk":"Pod"}`:                         "gvk: Invalid value",
		`{"gvk":"/v1/Pod"}`:                     "gvk: Invalid value",
		`{"gvk":"v1/Pod","labelSelector":"!!"}`: "unable to parse requirement",
		`{"gvk":"v1/Pod","name":"x"}`:           "must be given",
		`{"gvk":"v1/Pod","namespace":"a/b"}`:    "Invalid value",
		`{"gvk":"v1/Node","namespace":"a"}`:     "has none",
		`{"gvk":"v1/Node","name":"n1","labelSelector":"a"}`: "cannot be selected",
	} {
		body(text).failed(t, 400, message)
	}
	body(`{"gvk":"v1/Pod","labelSelector":"`+strings.Repeat(" ", 70_000)+`"}`).failed(t, 413, "larger than")
	s.do(t, http.MethodPost, "/v1/objects:query", `{"gvk":"v1/Pod"}`).failed(t, 415, "application/json")
	s.do(t, http.MethodPost, "/v1/objects:query?gvk=v1/Pod", `{}`, "Content-Type", "application/json").failed(t, 400, "body")
	body(`{"gvk":"v1/Thing"}`).failed(t, 404, `could not find the requested resource: the cluster serves no kind "v1/Thing"`)
	s.served.Withheld = []watches.Kind{kind(watches.GVR{Version: "v1", Resource: "secrets"}, "Secret", true)}
	s.ask(t, "/v1/objects?gvk=v1/pods").failed(t, 404, "want v1/Pod")
	s.ask(t, "/v1/objects?gvk=v1/Secret&namespace=a").failed(t, 403, "the configuration withholds it")
	for query, message := range map[string]string{
		"gvk=v1/Pod&gvk=v1/Node": "more than once", "gvk=v1/Pod&selector=x": "unknown parameter", "gvk=v1/Pod&limit=x": "limit", "": "gvk", "gvk=v1/Pod&watch=true": "unknown parameter",
	} {
		s.ask(t, "/v1/objects?"+query).failed(t, 400, message)
	}
	s.do(t, http.MethodPost, "/v1/objects", "{}").failed(t, 405, "")
	s.ask(t, "/v1/objects:query").failed(t, 405, "use POST")
	s.ask(t, "/v1/objects?gvk=v1/Pod&namespace=a&name=none").failed(t, 404, `pods "none" not found`)
}
