package apisim_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestFieldSelectors: a list and a watch see a pod come and go by what it says of itself.
func TestFieldSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		apply := func(name, spec, status string) {
			t.Helper()
			if _, err := s.Apply("pods", fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":%q},"spec":{%s},"status":{%s}}`, name, spec, status)); err != nil {
				t.Fatal(err)
			}
		}
		on1 := watch(t, s, pods+"?watch=1&resourceVersion=1000&fieldSelector=spec.nodeName%3Dn1")
		running := watch(t, s, pods+"?watch=1&resourceVersion=1000&fieldSelector=status.phase%3DRunning,metadata.namespace%3Da")
		apply("p", ``, `"phase":"Pending"`)                // 1001
		apply("p", `"nodeName":"n1"`, `"phase":"Pending"`) // 1002
		apply("p", `"nodeName":"n1"`, `"phase":"Running"`) // 1003
		apply("q", `"nodeName":"n2"`, `"phase":"Running"`) // 1004
		apply("p", `"nodeName":"n1"`, `"phase":"Failed"`)  // 1005
		on1.expect("ADDED p@1002", "MODIFIED p@1003", "MODIFIED p@1005")
		running.expect("ADDED p@1003", "ADDED q@1004", "DELETED p@1005")
		for selector, want := range map[string]string{
			"spec.nodeName%3Dn2": "q", "spec.nodeName%3D": "", "status.phase!%3DRunning": "p", "spec.hostNetwork%3Dfalse": "p q", "metadata.name%3Dq": "q",
		} {
			if got := getList(t, s, pods+"?fieldSelector="+selector).names(); got != want {
				t.Errorf("%s: %q, want %q", selector, got, want)
			}
		}
	})
}

func TestMetadataOnly(t *testing.T) {
	s := newServer(t, apisim.Config{})
	put(t, s, "a/p", `"labels":{"x":"y"}`)
	const accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	_, _, body := get(t, s, pods, accept)
	if !strings.HasPrefix(body, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`) || strings.Contains(body, `"spec"`) || !strings.Contains(body, `"labels":{"x":"y"}`) {
		t.Error(body)
	}
}

// TestLargeListsAreCompressed: from 128 KiB on, for a client that takes it, never in a watch.
func TestLargeListsAreCompressed(t *testing.T) {
	s := newServer(t, apisim.Config{})
	put(t, s, "a/p", `"annotations":{"data":"`+strings.Repeat("x", 100<<10)+`"}`)
	ask := func(path, encoding string) (*http.Response, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://apisim"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		resp, err := pipetest.Direct(s).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, body
	}
	if resp, body := ask(pods, "gzip"); resp.Header.Get("Content-Encoding") != "" || !json.Valid(body) {
		t.Error("a small list is compressed")
	}
	put(t, s, "a/q", `"annotations":{"data":"`+strings.Repeat("x", 100<<10)+`"}`)
	_, plain := ask(pods, "")
	resp, body := ask(pods, "deflate, gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" || len(body) > 10<<10 {
		t.Fatalf("%d bytes, %v", len(body), resp.Header)
	}
	r, err := gzip.NewReader(strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	if back, err := io.ReadAll(r); err != nil || string(back) != string(plain) {
		t.Errorf("%v: %d bytes, want %d", err, len(back), len(plain))
	}
	if resp, body := ask(pods+"?watch=1&timeoutSeconds=1", "gzip"); resp.Header.Get("Content-Encoding") != "" || !json.Valid(body[:strings.Index(string(body), "\n")]) {
		t.Error("a watch is compressed")
	}
}

// TestManyPages: a list of 20,000 in pages of 500 comes whole and without repetition while objects change, and says how
// much is left.
func TestManyPages(t *testing.T) {
	s := newServer(t, apisim.Config{})
	const n = 20_000
	for i := range n {
		if _, err := s.Apply("pods", fmt.Appendf(nil, `{"metadata":{"namespace":"ns-%d","name":"p%05d"}}`, i%3, i)); err != nil {
			t.Fatal(err)
		}
	}
	seen, next := 0, ""
	last := ""
	for {
		l := getList(t, s, pods+"?limit=500&continue="+next)
		for _, i := range l.Items {
			path := i.Metadata.Namespace + "/" + i.Metadata.Name
			if path <= last {
				t.Fatalf("%s after %s", path, last)
			}
			last = path
		}
		seen += len(l.Items)
		if l.Metadata.RemainingItemCount != n-seen {
			t.Fatalf("%d seen, %d left", seen, l.Metadata.RemainingItemCount)
		}
		if next = l.Metadata.Continue; next == "" {
			break
		}
		put(t, s, fmt.Sprintf("new/p%d", seen), "")
	}
	if seen != n {
		t.Errorf("%d of %d", seen, n)
	}
	if l := getList(t, s, "/api/v1/namespaces/ns-1/pods?limit=10"); l.Metadata.RemainingItemCount != n/3-10+1 {
		t.Errorf("%d left in one namespace", l.Metadata.RemainingItemCount)
	}
}
