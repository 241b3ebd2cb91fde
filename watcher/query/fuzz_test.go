package query_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/watcher/query"
)

// fuzzed is a server whose answers are checked without a socket.
func fuzzed(f *testing.F) *server {
	s := start(f)
	somePods(s)
	return s
}

// sound checks what holds for every answer: its code, its type, and that errors are
// Status objects.
func sound(t *testing.T, s *server, method, target, body string, header http.Header) *httptest.ResponseRecorder {
	u, err := url.ParseRequestURI(target)
	if err != nil || u.Host != "" {
		t.Skip()
	}
	r := &http.Request{Method: method, URL: u, Header: header, Body: http.NoBody, Host: "x", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if body != "" {
		r = httptest.NewRequest(method, "/", strings.NewReader(body))
		r.URL, r.Header = u, header
	}
	if q, err := url.ParseQuery(u.RawQuery); err == nil && (q.Has("watch") || q.Has("resourceVersion")) {
		q.Set("timeoutSeconds", "1") // others wait
		if v := q.Get("resourceVersion"); len(v) > 2 {
			q.Set("resourceVersion", "100")
		}
		if q.Has("watch") {
			q.Set("resourceVersion", "1") // expired: it ends at once
			q.Del("sendInitialEvents")
		}
		u.RawQuery = q.Encode()
	}
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r.WithContext(t.Context()))
	switch {
	case w.Code == 500:
		t.Fatalf("%s %s: %s", method, target, w.Body)
	case w.Code >= 400:
		var st metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &st); err != nil || st.Kind != "Status" || int(st.Code) != w.Code || st.Message == "" {
			t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
	case strings.Contains(w.Header().Get("Content-Type"), "json"):
		d := json.NewDecoder(w.Body)
		for d.More() {
			var v map[string]any
			if err := d.Decode(&v); err != nil {
				t.Fatalf("%s %s: %v", method, target, err)
			}
		}
	}
	return w
}

// FuzzRequests: whatever is asked, the answer is sound, and a selector never selects
// more than there is without it.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		"/api/v1/pods", "/api/v1/namespaces/a/pods/one", "/apis/example.com/v1/gadgets?limit=1", "/api/v1/pods?labelSelector=app%20in%20(web)&fieldSelector=spec.nodeName%3Dn1",
		"/api/v1/pods?watch=1&resourceVersion=3", "/api/v1/pods?continue=eyJydiI6MTAwLCJuYW1lIjoiYSIsImxlZnQiOjB9&limit=1", "/v1/objects?gvk=v1/Pod&namespace=a&wait=1s", "/version", "/apis/", "//", "/api//v1/",
		"/api/v1/pods?labelSelector=a%3Db,c!%3Dd,e&fieldSelector=metadata.name!%3Da", "/api/v1/pods?resourceVersion=100&resourceVersionMatch=Exact",
	} {
		f.Add("GET", seed, "application/json")
		f.Add("GET", seed, tableForm)
	}
	f.Add("POST", "/v1/objects:query", metadataForm)
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, method, target, accept string) {
		if len(method) > 10 || len(target) > 500 || len(accept) > 200 {
			t.Skip()
		}
		w := sound(t, s, method, target, "", http.Header{"Accept": {accept}})
		var l list
		if w.Code == 200 && json.Unmarshal(w.Body.Bytes(), &l) == nil && len(l.Items) > 4 {
			t.Fatalf("%s: %d items of 4", target, len(l.Items))
		}
	})
}

// FuzzBodies of queries.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{`{"gvk":"v1/Pod"}`, `{"gvk":"v1/Pod","namespace":"a","name":"one","wait":"1s"}`, `{"gvk":"example.com/v1/Gadget","limit":1,"labelSelector":"a","fieldSelector":"metadata.name=g","continue":""}`, `[]`, `{"gvk":null}`, ``} {
		f.Add(seed)
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, body string) {
		sound(t, s, http.MethodPost, "/v1/objects:query", body, http.Header{"Content-Type": {"application/json"}})
	})
}

// FuzzSelectors: a selector on one object says the same as on its decoded content.
func FuzzSelectors(f *testing.F) {
	f.Add("app=web", "spec.nodeName=n1", `{"app":"web"}`, `{"nodeName":"n1"}`)
	f.Add("app,!tier", "spec.hostNetwork!=true", `{"app":"w\u0065b","a":"b"}`, `{"hostNetwork":true}`)
	f.Add("a,!a,b", "status.phase!=A,status.phase!=B,spec.nodeName=n,spec.nodeName!=m", `{"a":"b"}`, `{"nodeName":"n"}`)
	f.Add("a in (b,c)", "metadata.name=x", `null`, `[]`)
	f.Fuzz(func(t *testing.T, labelText, fieldText, labelJSON, specJSON string) {
		got, want, err := query.Matches(labelText, fieldText, labelJSON, specJSON)
		if err == nil && got != want {
			t.Fatalf("labels %s, spec %s: %q and %q match: %t, want %t", labelJSON, specJSON, labelText, fieldText, got, want)
		}
	})
}
