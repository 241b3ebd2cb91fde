package apisim_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// FuzzQuery: whatever is asked, the answer is a list, lines of a watch, a Status or a plain 404, and nothing breaks or
// waits for long.
func FuzzQuery(f *testing.F) {
	for _, seed := range [][2]string{
		{"/api/v1/pods", "limit=1"}, {"/api/v1/namespaces/a/pods/p", ""}, {"/api", ""}, {"/apis/apps/v1", ""},
		{"/api/v1/pods", "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"},
		{"/api/v1/pods", "watch=1&resourceVersion=1000&timeoutSeconds=1"}, {"/api/v1/pods", "resourceVersion=1001&resourceVersionMatch=Exact"},
		{"/apis/apps/v1/namespaces/a/deployments", "labelSelector=a+in+(b)&fieldSelector=metadata.name%3Dx"},
		{"/api/v1/pods", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAwMSwic3RhcnQiOiJhL3AifQ"},
	} {
		f.Add(seed[0], seed[1])
	}
	s := newServer(f, apisim.Config{NoWatchCache: true})
	put(f, s, "a/p", `"labels":{"a":"b"}`)
	put(f, s, "a/q", "")
	put(f, s, "b/p", "")
	f.Fuzz(func(t *testing.T, path, query string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		req := (&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "apisim", Path: "/" + strings.TrimLeft(path, "/"), RawQuery: query}, Header: http.Header{}}).WithContext(ctx)
		resp, err := pipetest.Direct(s).RoundTrip(req)
		if err != nil {
			if ctx.Err() != nil { // it waits for a version to come
				return
			}
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		if !slices.Contains([]int{200, 400, 404, 405, 406, 410, 422, 504}, resp.StatusCode) {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
			return
		}
		for line := range strings.Lines(string(body)) {
			if !json.Valid([]byte(line)) && err == nil {
				t.Fatalf("no JSON: %s", line)
			}
		}
	})
}

// FuzzApply: what is accepted comes back as JSON of the same name.
func FuzzApply(f *testing.F) {
	for _, seed := range []string{`{"metadata":{"name":"p","namespace":"a"}}`, `{"metadata":{"name":"\u2028\"","namespace":"a","uid":null,"labels":{"x":"y"},"creationTimestamp":"x"},"a":{"b":[1,{"c":null}]}}`, `{"metadata":{"name":"p","Name":"q","namespace":"a","":1}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		s := newServer(t, apisim.Config{})
		o, err := s.Apply("pods", []byte(raw))
		if err != nil {
			return
		}
		var back item
		if err := json.Unmarshal(o.JSON(), &back); err != nil || strings.Contains(string(o.JSON()), "\n") {
			t.Fatalf("%v: %s", err, o.JSON())
		}
		if all := s.Objects("pods"); len(all) != 1 || all[0].UID != o.UID {
			t.Fatalf("%s/%s is not there", o.Namespace, o.Name)
		}
		again, err := s.Apply("pods", o.JSON())
		if err != nil || again.UID != o.UID {
			t.Fatalf("applied again: %v", err)
		}
	})
}
