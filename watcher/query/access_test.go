package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestAttributes are all that an apiserver would ask about.
func TestAttributes(t *testing.T) {
	s := start(t)
	somePods(s)
	pod := access.Attributes{Version: "v1", Resource: "pods"}
	with := func(change func(*access.Attributes)) access.Attributes {
		a := pod
		change(&a)
		return a
	}
	for path, want := range map[string]access.Attributes{
		"/api/v1/namespaces/a/pods/one":                                              with(func(a *access.Attributes) { a.Verb, a.Namespace, a.Name = "get", "a", "one" }),
		"/api/v1/namespaces/a/pods/one?watch=true&fieldSelector=metadata.name%3Dtwo": with(func(a *access.Attributes) { a.Verb, a.Namespace, a.Name = "get", "a", "one" }),
		"/api/v1/namespaces/a/pods/one/log":                                          with(func(a *access.Attributes) { a.Verb, a.Namespace, a.Name, a.Subresource = "get", "a", "one", "log" }),
		"/api/v1/pods":                                                               with(func(a *access.Attributes) { a.Verb = "list" }),
		"/api/v1/namespaces/a/pods":                                                  with(func(a *access.Attributes) { a.Verb, a.Namespace = "list", "a" }),
		"/api/v1/pods?watch=true&timeoutSeconds=1":                                   with(func(a *access.Attributes) { a.Verb = "watch" }),
		"/api/v1/pods?watch=1&timeoutSeconds=1":                                      with(func(a *access.Attributes) { a.Verb = "watch" }),
		"/api/v1/pods?watch=false":                                                   with(func(a *access.Attributes) { a.Verb = "list" }),
		"/api/v1/pods?labelSelector=a%3Db":                                           with(func(a *access.Attributes) { a.Verb, a.LabelSelector = "list", "a=b" }),
		"/api/v1/pods?fieldSelector=metadata.name%3Dx": with(func(a *access.Attributes) {
			a.Verb, a.Name, a.FieldSelector = "list", "x", "metadata.name=x"
		}),
		"/api/v1/namespaces/a/pods?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dx": with(func(a *access.Attributes) {
			a.Verb, a.Namespace, a.Name, a.FieldSelector = "watch", "a", "x", "metadata.name=x"
		}),
		"/api/v1/pods?fieldSelector=metadata.name!%3Dx": with(func(a *access.Attributes) { a.Verb, a.FieldSelector = "list", "metadata.name!=x" }),
		"/api/v1/pods?fieldSelector=metadata.name%3Da%2Fb": with(func(a *access.Attributes) {
			a.Verb, a.FieldSelector = "list", "metadata.name=a/b"
		}),
		"/api/v1/namespaces/a":                        {Verb: "get", Version: "v1", Resource: "namespaces", Namespace: "a", Name: "a"},
		"/api/v1/namespaces/a/status":                 {Verb: "get", Version: "v1", Resource: "namespaces", Namespace: "a", Name: "a", Subresource: "status"},
		"/api/v1/namespaces":                          {Verb: "list", Version: "v1", Resource: "namespaces"},
		"/apis/example.com/v1/namespaces/a/gadgets/g": {Verb: "get", Group: "example.com", Version: "v1", Resource: "gadgets", Namespace: "a", Name: "g"},
		"/apis":    {Verb: "get", Path: "/apis"},
		"/healthz": {Verb: "get", Path: "/healthz"},
	} {
		s.ask(t, path)
		if got := s.lastAsked(); got != want {
			t.Errorf("%s: %+v\nwant %+v", path, got, want)
		}
	}
}

// TestRefused: who may not learns nothing and starts nothing.
func TestRefused(t *testing.T) {
	s := start(t)
	somePods(s)
	s.may = func(access.Attributes) error { return errors.New("no") }
	for path, message := range map[string]string{
		"/api/v1/pods":                            `pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope`,
		"/api/v1/namespaces/a/pods/one":           `pods "one" is forbidden: User "jane" cannot get resource "pods" in API group "" in the namespace "a"`,
		"/api/v1/namespaces/a/pods/one/log":       `cannot get resource "pods/log" in API group ""`,
		"/apis/example.com/v1/gadgets?watch=true": `gadgets.example.com is forbidden: User "jane" cannot watch resource "gadgets" in API group "example.com" at the cluster scope`,
		"/apis/none/v1/nothing":                   `cannot list resource "nothing"`,
		"/api/v1/pods?labelSelector=!!":           "forbidden",
		"/apis":                                   `forbidden: User "jane" cannot get path "/apis"`,
	} {
		s.ask(t, path).failed(t, 403, message)
	}
	if len(s.opened) != 0 {
		t.Errorf("%v were opened", s.opened)
	}
	s.who = &access.UnauthorizedError{Reason: "the token is wrong"}
	for _, path := range []string{"/api/v1/pods", "/apis", "/healthz"} {
		if st := s.ask(t, path).failed(t, 401, "Unauthorized"); strings.Contains(st.Message, "token") {
			t.Errorf("%+v", st)
		}
	}
	s.who = &access.UnavailableError{Err: errors.New("https://10.0.0.1 is away")}
	a := s.ask(t, "/api/v1/pods")
	if st := a.failed(t, 503, "access cannot be decided"); strings.Contains(st.Message, "10.0.0.1") || a.header.Get("Retry-After") != "1" {
		t.Errorf("%+v %v", st, a.header)
	}
}

// TestUnsynced is never an empty list.
func TestUnsynced(t *testing.T) {
	s := start(t)
	for _, err := range []error{
		&watches.UnsyncedError{Waited: 5 * time.Second, Err: errors.New("the apiserver is away")}, &watches.UnsyncedError{}, &watches.LimitError{Limit: "maxWatches", Most: 3}, view.ErrEnded,
	} {
		s.fail[pods] = err
		for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/a/pods/x", "/api/v1/pods?watch=true"} {
			a := s.ask(t, path)
			if a.failed(t, 503, ""); a.header.Get("Retry-After") != "1" {
				t.Errorf("%v: %v", err, a.header)
			}
		}
	}
	for _, why := range []error{
		apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(`User "the-watcher" cannot list`)), apierrors.NewUnauthorized("the watcher's token"),
		&url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api/v1/pods", Err: io.ErrUnexpectedEOF},
	} { // are the watcher's with the apiserver, not the client's with the watcher
		s.fail[pods] = &watches.UnsyncedError{Waited: time.Second, Err: why}
		if st := s.ask(t, "/api/v1/pods").failed(t, 503, "not complete after 1s"); strings.Contains(st.Message, "watcher") || strings.Contains(st.Message, "10.0.0.1") {
			t.Errorf("%+v", st)
		}
	}
	delete(s.fail, pods) // but the view has no list
	for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/a/pods/x", "/api/v1/pods?watch=true", "/api/v1/pods?watch=true&resourceVersion=5", "/api/v1/pods?fieldSelector=spec.nodeName%3Dx"} {
		s.ask(t, path).failed(t, 503, "not synced")
	}
	for err, message := range map[error]string{watches.ErrDenied: "withholds it", watches.ErrNotFollowed: "not followed"} {
		s.fail[pods] = err
		s.ask(t, "/api/v1/pods").failed(t, 403, message)
	}
	s.fail[pods] = watches.ErrNotServed
	s.ask(t, "/api/v1/pods").failed(t, 404, "could not find")
	s.fail[pods] = errors.New("content of an object")
	if st := s.ask(t, "/api/v1/pods").failed(t, 500, ""); strings.Contains(st.Message, "content") {
		t.Errorf("%+v", st)
	}
}

// TestNotDiscoveredYet: before it is known what is served, the kind itself tells.
func TestNotDiscoveredYet(t *testing.T) {
	s := start(t)
	somePods(s)
	known := s.served
	s.served = &watches.Catalogue{}
	for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/readyz"} {
		a := s.ask(t, path, "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")
		if a.failed(t, 503, "not known yet"); a.header.Get("Retry-After") != "1" {
			t.Errorf("%s: %v", path, a.header)
		}
	}
	s.ask(t, "/api").failed(t, 503, "not known yet")
	s.fail[pods] = &watches.UnsyncedError{}
	s.ask(t, "/api/v1/pods").failed(t, 503, "not synced")
	delete(s.fail, pods)
	s.early = known
	if l := decode[list](t, s.ask(t, "/api/v1/namespaces/a/pods")); l.names() != "a/one a/two" {
		t.Errorf("%s", l.names())
	}
	s.ask(t, "/api/v1/pods/one").failed(t, 404, "could not find")
}

func TestBrokenUpstream(t *testing.T) {
	s := start(t)
	somePods(s)
	s.health = watches.Health{Broken: errors.New("secret reason"), Heard: time.Now().Add(-90 * time.Second)}
	for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/a/pods/one", "/api/v1/namespaces/a/pods/none", "/api/v1/pods?watch=true&timeoutSeconds=1"} {
		h := s.ask(t, path).header
		if w := h.Get("Warning"); !strings.HasPrefix(w, `299 - "`) || strings.Contains(w, "secret") || h.Get("X-Watchbench-Age") != "90" || h.Get("X-Watchbench-Resource-Version") != "100" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// TestLimits: beyond them is 429, and room comes back.
func TestLimits(t *testing.T) {
	s := start(t, func(c *cfg) { c.MaxWatches, c.MaxInFlight = 2, 1 })
	somePods(s)
	one := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100")
	s.watch(t, "/api/v1/nodes?watch=true&resourceVersion=100")
	a := s.ask(t, "/api/v1/pods?watch=true")
	if a.failed(t, 429, "too many watches (resourceWatcher.query.maxWatches): 2 at once"); a.header.Get("Retry-After") != "1" {
		t.Errorf("%v", a.header)
	}
	one.close()
	within(t, "a watch is free", func() bool { return s.h.Watching() == 1 })
	s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100")
	s.listing = make(chan struct{})
	busy := make(chan answer)
	go func() { busy <- s.ask(t, "/v1/watches") }()
	within(t, "a request is served", func() bool { return gauge(t, s, "k8swatch_query_inflight_requests") == 1 })
	s.ask(t, "/api/v1/nodes").failed(t, 429, "too many requests (resourceWatcher.query.maxInFlight): 1 at once")
	if a := s.ask(t, "/healthz"); a.code != 200 {
		t.Errorf("a busy server is not healthy: %d", a.code)
	}
	close(s.listing)
	<-busy
	within(t, "there is room", func() bool { return s.ask(t, "/api/v1/nodes").code == 200 })
}

// TestWaitingTakesNoSlot: requests that wait for a first list, or for a version, do not keep
// others from being served. How many may wait is bounded, too.
func TestWaitingTakesNoSlot(t *testing.T) {
	const most = 5
	s := start(t, func(c *cfg) { c.MaxInFlight = 1 })
	s.h.SetMostWaiting(most)
	somePods(s)
	list := make(chan struct{})
	s.slow = map[watches.GVR]chan struct{}{gadgets: list}
	s.sync(gadgets)
	answers := make(chan answer)
	for _, path := range []string{"/apis/example.com/v1/gadgets", "/api/v1/pods?resourceVersion=101", "/api/v1/namespaces/a/pods/x?resourceVersion=101"} {
		n := s.h.Waiting()
		go func() { answers <- s.ask(t, path) }()
		within(t, path+" waits", func() bool { return s.h.Waiting() == n+1 })
	}
	if a := s.ask(t, "/api/v1/nodes"); a.code != 200 {
		t.Errorf("beside those that wait: %d %s", a.code, a.body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for n := 3; n < most; n++ {
		others.Go(func() {
			s.h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis/example.com/v1/gadgets", nil))
		})
		within(t, "it waits", func() bool { return s.h.Waiting() == n+1 })
	}
	if a := s.ask(t, "/apis/example.com/v1/gadgets"); a.header.Get("Retry-After") != "1" {
		t.Errorf("%v", a.header)
	} else {
		a.failed(t, 429, "too many requests that wait for a first list or a resourceVersion: 5 at once")
	}
	cancel()
	others.Wait()
	within(t, "they have gone", func() bool { return s.h.Waiting() == 3 })
	close(list)
	if a := <-answers; a.code != 200 {
		t.Errorf("%d %s", a.code, a.body)
	}
	s.views[pods].Advance(101)
	served := 0
	for range 2 { // which are ready at the same time: one may find the slot taken
		if a := <-answers; a.code == 200 || a.code == 404 {
			served++
		} else {
			a.failed(t, 429, "too many requests")
		}
	}
	if served == 0 {
		t.Error("none of those that waited was served")
	}
	if a := s.ask(t, "/api/v1/nodes"); a.code != 200 || s.h.Waiting() != 0 {
		t.Errorf("%d, %d wait", a.code, s.h.Waiting())
	}
}

func gauge(t *testing.T, s *server, name string) float64 {
	t.Helper()
	all := must(s.reg.Gather())
	for _, f := range all {
		if f.GetName() == name {
			return sum(f)
		}
	}
	return -1
}

func sum(f *dto.MetricFamily) (v float64) {
	for _, m := range f.Metric {
		v += m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return v
}

// TestPanic answers without a word of what it was about.
func TestPanic(t *testing.T) {
	s := start(t)
	somePods(s)
	s.may = func(a access.Attributes) error {
		if a.Resource == "pods" {
			panic("content of an object")
		}
		return nil
	}
	if st := s.ask(t, "/api/v1/pods").failed(t, 500, "could not be served"); strings.Contains(st.Message, "content") {
		t.Errorf("%+v", st)
	}
	if a := s.ask(t, "/api/v1/nodes"); a.code != 200 {
		t.Errorf("afterwards: %d", a.code)
	}
	if n := gauge(t, s, "k8swatch_query_inflight_requests"); n != 0 || gauge(t, s, "k8swatch_query_queued_requests") != 0 {
		t.Errorf("%v are in flight", n)
	}
}

// TestHalfAnAnswer is not taken for the whole: what goes wrong at first is 500, later the connection ends.
func TestHalfAnAnswer(t *testing.T) {
	s := start(t)
	somePods(s)
	bad := &object.Object{Key: object.Key{Kind: "Gadget", Namespace: "b", Name: "b"}, Raw: []byte(`{"metadata":1`)}
	s.views[gadgets].Changed(nil, bad, 101, time.Now())
	s.ask(t, "/apis/example.com/v1/namespaces/b/gadgets", "Accept", tableForm).failed(t, 500, "could not be served")
	s.rv = 101
	for i := range 100 {
		s.put(gadgets, "a", fmt.Sprintf("g%d", i), nil, fmt.Sprintf(`,"spec":{"pad":%q}`, strings.Repeat("x", 2000)))
	}
	for _, header := range []string{"identity", "gzip"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.http.URL+"/apis/example.com/v1/gadgets?includeObject=Object", nil)
		r.Header.Set("Accept", tableForm)
		r.Header.Set("Accept-Encoding", header)
		resp := must(s.http.Client().Do(r))
		defer resp.Body.Close()
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// TestCompression is for who asks for it, and for what is large.
func TestCompression(t *testing.T) {
	s := start(t)
	s.sync(pods)
	for i := range 100 {
		s.put(pods, "a", fmt.Sprintf("p%03d", i), nil, fmt.Sprintf(`,"spec":{"pad":%q}`, strings.Repeat("x", 2000)))
	}
	plain := s.ask(t, "/api/v1/pods", "Accept-Encoding", "identity")
	if plain.header.Get("Content-Encoding") != "" || len(decode[list](t, plain).Items) != 100 {
		t.Errorf("%v", plain.header)
	}
	packed := s.ask(t, "/api/v1/pods", "Accept-Encoding", "gzip")
	if packed.header.Get("Content-Encoding") != "gzip" || packed.header.Get("Vary") != "Accept-Encoding" || len(packed.body) > len(plain.body)/5 {
		t.Errorf("%v, %d bytes", packed.header, len(packed.body))
	}
	unpacked := s.ask(t, "/api/v1/pods") // the client unpacks
	if !bytes.Equal(unpacked.body, plain.body) {
		t.Error("other content when compressed")
	}
	if small := s.ask(t, "/api/v1/pods?limit=3", "Accept-Encoding", "gzip"); small.header.Get("Content-Encoding") != "" || len(decode[list](t, small).Items) != 3 {
		t.Errorf("%v", small.header)
	}
}

// TestAcceptEncoding is read as an apiserver reads it: gzip by that word alone, without a weight.
func TestAcceptEncoding(t *testing.T) {
	s := start(t)
	s.sync(pods)
	for i := range 40 {
		s.put(pods, "a", fmt.Sprintf("p%03d", i), nil, fmt.Sprintf(`,"spec":{"pad":%q}`, strings.Repeat("x", 2000)))
	}
	for header, want := range map[string]string{
		"gzip": "gzip", "deflate, gzip": "gzip", " gzip ,br;q=0.1": "gzip", "gzip,identity;q=0": "gzip",
		"gzip;q=0": "", "gzip; q=0, identity": "", "gzip;q=1.0": "", "x-gzip": "", "gzipped": "", "GZIP": "",
		"*": "", "*;q=0": "", "identity;q=0": "", "identity;q=0, *;q=0": "",
	} {
		if got := s.ask(t, "/api/v1/pods", "Accept-Encoding", header); got.code != http.StatusOK || got.header.Get("Content-Encoding") != want {
			t.Errorf("%q: %d, encoding %q, want %q", header, got.code, got.header.Get("Content-Encoding"), want)
		}
	}
}

// TestRecordersWithoutAConnection, as other handlers' tests have them, are served too.
func TestRecordersWithoutAConnection(t *testing.T) {
	s := start(t)
	somePods(s)
	rec := httptest.NewRecorder()
	s.h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/v1/nodes", nil))
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), "NodeList") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestWatches shows what is followed, without secrets.
func TestWatches(t *testing.T) {
	s := start(t)
	var l struct{ Watches []watches.Status }
	if err := json.Unmarshal(s.ask(t, "/v1/watches").body, &l); err != nil || len(l.Watches) != 1 || l.Watches[0].Resource != "pods" || strings.Contains(l.Watches[0].Error, "pass") {
		t.Errorf("%v %+v", err, l)
	}
	if got, want := s.lastAsked(), (access.Attributes{Verb: "get", Path: "/v1/watches"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.do(t, http.MethodPost, "/v1/watches", "{}").failed(t, 405, "resourceWatcher.watches.pinned")
	s.ask(t, "/v1/objects?gvk=v1/Pod").failed(t, 404, "/v1/objects was removed: use the path of the resource")
}
