package query_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fuzzed is a server whose answers are checked without a socket.
func fuzzed(f *testing.F) *server {
	s := start(f)
	somePods(s)
	return s
}

// sound checks what holds for every answer: its code, its type, and that errors are Status objects.
func sound(t *testing.T, s *server, method, target string, header http.Header) *httptest.ResponseRecorder {
	u, err := url.ParseRequestURI(target)
	if err != nil || u.Host != "" {
		t.Skip()
	}
	r := &http.Request{Method: method, URL: u, Header: header, Body: http.NoBody, Host: "x", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
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

// FuzzRequests: whatever is asked, the answer is sound, and a selector never selects more than there is without it.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		"/api/v1/pods", "/api/v1/namespaces/a/pods/one", "/apis/example.com/v1/gadgets?limit=1", "/api/v1/pods?labelSelector=app%20in%20(web)&fieldSelector=spec.nodeName%3Dn1",
		"/api/v1/pods?watch=1&resourceVersion=3", "/api/v1/pods?continue=eyJydiI6MTAwLCJuYW1lIjoiYSIsImxlZnQiOjB9&limit=1", "/v1/objects", "/v1/relations?gvk=v1/Pod", "/version", "/apis/", "//", "/api//v1/",
		"/api/v1/pods?labelSelector=a%3Db,c!%3Dd,e&fieldSelector=metadata.name!%3Da", "/api/v1/pods?resourceVersion=100&resourceVersionMatch=Exact",
	} {
		f.Add("GET", seed, "application/json")
		f.Add("GET", seed, tableForm)
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, method, target, accept string) {
		if len(method) > 10 || len(target) > 500 || len(accept) > 200 {
			t.Skip()
		}
		w := sound(t, s, method, target, http.Header{"Accept": {accept}})
		var l list
		if w.Code == 200 && json.Unmarshal(w.Body.Bytes(), &l) == nil && len(l.Items) > 4 {
			t.Fatalf("%s: %d items of 4", target, len(l.Items))
		}
	})
}
