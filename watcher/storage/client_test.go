package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/watcher/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const refusal = `{"result":false,"code":1405082,"message":"(bcs-storage):put resource failed.","data":{}}`

const okBody = `{"result":true,"code":0,"message":"success","data":{}}`

var pod = &object.Object{
	Key: object.Key{Kind: "Pod", Namespace: "team-a", Name: "web-1"},
	UID: "u1", ResourceVersion: 107,
	Raw: []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","namespace":"team-a"}}`),
}

func client(t testing.TB, timeout time.Duration, endpoints ...string) *Client {
	t.Helper()
	return clientWith(t, Settings{}, timeout, endpoints...)
}

func clientWith(t testing.TB, s Settings, timeout time.Duration, endpoints ...string) *Client {
	t.Helper()
	cfg := Default()
	cfg.ClusterID, cfg.Endpoints = "BCS-K8S-90001", endpoints
	if timeout > 0 {
		cfg.Timeout = timeout
	}
	c, err := New(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestRequestsFollowTheContract(t *testing.T) {
	type seen struct{ method, uri, body string }
	requests := make(chan seen, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		requests <- seen{r.Method, r.RequestURI, string(b)}
		_, _ = io.WriteString(w, okBody)
	})
	c := client(t, 0, s.URL)
	const base = "/bcsstorage/v1/k8s/dynamic/"
	obj := func(kind, ns, name, raw string) *object.Object {
		return &object.Object{Key: object.Key{Kind: kind, Namespace: ns, Name: name}, Raw: []byte(raw)}
	}
	event := `{"apiVersion":"v1","kind":"Event","metadata":{"name":"web-1.17","namespace":"team-a","creationTimestamp":"2024-05-01T08:00:00Z"},` +
		`"involvedObject":{"kind":"Pod","namespace":"team-a","name":"web-1"},"reason":"BackOff","message":"Back-off","type":"Warning",` +
		`"source":{"component":"kubelet"},"firstTimestamp":null,"lastTimestamp":"2024-05-03T02:52:30Z"}`
	for _, tc := range []struct {
		name string
		call func() error
		want seen
	}{
		{"namespaced put", func() error { return c.Put(t.Context(), pod) },
			seen{"PUT", base + "namespace_resources/clusters/BCS-K8S-90001/namespaces/team-a/Pod/web-1", `{"data":` + string(pod.Raw) + `}`}},
		{"namespaced delete", func() error { return c.Delete(t.Context(), pod.Key, "u1") },
			seen{"DELETE", base + "namespace_resources/clusters/BCS-K8S-90001/namespaces/team-a/Pod/web-1", ""}},
		{"cluster put", func() error { return c.Put(t.Context(), obj("Node", "", "node1", `{}`)) },
			seen{"PUT", base + "cluster_resources/clusters/BCS-K8S-90001/Node/node1", `{"data":{}}`}},
		{"colon stays raw", func() error { return c.Delete(t.Context(), object.Key{Kind: "ClusterRole", Name: "system:node"}, "u1") },
			seen{"DELETE", base + "cluster_resources/clusters/BCS-K8S-90001/ClusterRole/system:node", ""}},
		{"what would end the path is escaped", func() error { return c.Delete(t.Context(), object.Key{Kind: "ClusterRole", Name: "a b?#ü%"}, "u1") },
			seen{"DELETE", base + "cluster_resources/clusters/BCS-K8S-90001/ClusterRole/a%20b%3F%23%C3%BC%25", ""}},
		{"conditional delete", func() error {
			c.cfg.Conditional = true
			defer func() { c.cfg.Conditional = false }()
			return c.Delete(t.Context(), pod.Key, "u1")
		},
			seen{"DELETE", base + "namespace_resources/clusters/BCS-K8S-90001/namespaces/team-a/Pod/web-1?data.metadata.uid=u1", ""}},
		{"export service", func() error {
			return c.Delete(t.Context(), object.Key{Kind: "ExportService", Namespace: "n", Name: "e"}, "u1")
		},
			seen{"DELETE", "/bcsstorage/v1/k8s/watch/clusters/BCS-K8S-90001/namespaces/n/exportservice/e", ""}},
		{"event", func() error { return c.Put(t.Context(), obj("Event", "team-a", "web-1.17", event)) },
			seen{"PUT", "/bcsstorage/v1/events", `{"clusterId":"BCS-K8S-90001","component":"kubelet","data":` + event +
				`,"describe":"Back-off","env":"k8s","eventTime":1714704750,"extraInfo":{"kind":"Pod","name":"web-1","namespace":"team-a"},"id":"","kind":"Pod","level":"Warning","type":"BackOff"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.call(); err != nil {
				t.Fatal(err)
			}
			if got := <-requests; got != tc.want {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
	if n := testutil.ToFloat64(c.metrics.Opened); n != 1 {
		t.Errorf("%v connections opened, want one that is reused", n)
	}
}

func TestErrorsCarryTheirPolicy(t *testing.T) {
	kind := func(err error) string {
		var (
			tr *TransientError
			th *ThrottledError
			un *UnknownOutcomeError
			pe *PermanentError
		)
		switch {
		case err == nil:
			return "ok"
		case errors.As(err, &th):
			return "throttled " + th.RetryAfter.String()
		case errors.As(err, &tr):
			return "transient"
		case errors.As(err, &un):
			return "unknown"
		case errors.As(err, &pe):
			return "permanent"
		}
		return "untyped"
	}
	for _, tc := range []struct {
		name, retryAfter, body, want string
		status                       int
	}{
		{"success", "", okBody, "ok", 200},
		{"spaces in the envelope", "", `{ "result" : true, "code" : 0 }`, "ok", 200},
		{"result false", "", `{"result":false,"code":1405082,"message":"x","data":{}}`, "transient", 200},
		{"code without result", "", `{"code":0}`, "unknown", 200},
		{"true with a code", "", `{"result":true,"code":7}`, "transient", 200},
		{"html", "", `<html>login</html>`, "unknown", 200},
		{"cut off", "", `{"result":true,"code":0,"mess`, "unknown", 200},
		{"server error", "", okBody, "transient", 500},
		{"unavailable", "", "", "transient", 503},
		{"unavailable with a time", "7", "", "throttled 7s", 503},
		{"too many", "", "", "throttled 0s", 429},
		{"too many with a time", "2", "", "throttled 2s", 429},
		{"bad gateway", "", "", "unknown", 502},
		{"gateway timeout", "", "", "unknown", 504},
		{"too large", "", "", "permanent", 413},
		{"unprocessable", "", "", "permanent", 422},
		{"storage refuses", "", refusal, "permanent", 400},
		{"bad request of a front end", "", "", "transient", 400},
		{"a gateway's envelope", "", `{"result":false,"code":1640001,"message":"no app"}`, "transient", 400},
		{"no login", "", "<html>401</html>", "transient", 401},
		{"forbidden", "", "<html>403</html>", "transient", 403},
		{"not found", "", "404 page not found", "transient", 404},
		{"moved", "", "", "transient", 301},
		{"redirect", "", "", "transient", 302},
		{"not modified", "", "", "transient", 304},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tc.retryAfter != "" {
					w.Header().Set("Retry-After", tc.retryAfter)
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			err := client(t, 0, s.URL).Put(t.Context(), pod)
			if got := kind(err); got != tc.want {
				t.Errorf("got %s (%v), want %s", got, err, tc.want)
			}
		})
	}
	t.Run("a DELETE has no body to refuse", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, refusal)
		})
		if got := kind(client(t, 0, s.URL).Delete(t.Context(), pod.Key, "u1")); got != "transient" {
			t.Errorf("got %s, want transient", got)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		if got := kind(client(t, 0, "http://127.0.0.1:1").Put(t.Context(), pod)); got != "transient" {
			t.Errorf("got %s, want transient: nothing was sent", got)
		}
	})
	t.Run("no answer in time", func(t *testing.T) {
		block := make(chan struct{})
		s := serve(t, func(http.ResponseWriter, *http.Request) { <-block })
		defer close(block)
		if got := kind(client(t, 50*time.Millisecond, s.URL).Put(t.Context(), pod)); got != "unknown" {
			t.Errorf("got %s, want unknown: the request was sent", got)
		}
	})
	t.Run("context ends", func(t *testing.T) {
		block := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, func(http.ResponseWriter, *http.Request) { cancel(); <-block })
		defer close(block)
		if got := kind(client(t, 0, s.URL).Put(ctx, pod)); got != "unknown" {
			t.Errorf("got %s, want unknown: the request was sent", got)
		}
	})
	t.Run("connection cut after the request", func(t *testing.T) {
		s := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		if got := kind(client(t, 0, s.URL).Put(t.Context(), pod)); got != "unknown" {
			t.Errorf("got %s, want unknown", got)
		}
	})
}

// A server may close a kept connection at any time between two requests; that
// must not cost a request its outcome.
func TestClosedIdleConnectionIsNoticed(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, okBody) })
	c := client(t, 0, s.URL)
	for range 5 {
		if err := c.Put(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		s.CloseClientConnections()
		ep := (*c.endpoints.Load())[0]
		if len(ep.idle) != 1 {
			t.Fatalf("%d idle connections, want 1", len(ep.idle))
		}
		for deadline := time.Now().Add(10 * time.Second); alive(t, ep.idle[0]); {
			if time.Now().After(deadline) {
				t.Fatal("the end of the connection never arrived")
			}
		}
	}
	if n := testutil.ToFloat64(c.metrics.Opened); n != 5 {
		t.Errorf("%v connections opened, want 5", n)
	}
}

func alive(t *testing.T, c *conn) (still bool) {
	t.Helper()
	if err := c.sock.Read(func(fd uintptr) bool { still = silent(fd); return true }); err != nil {
		t.Fatal(err)
	}
	return still
}

func TestFailOverOnlyWhenNothingWasSent(t *testing.T) {
	var good, cut atomic.Int64
	up := serve(t, func(w http.ResponseWriter, _ *http.Request) { good.Add(1); _, _ = io.WriteString(w, okBody) })
	c := client(t, 0, "http://127.0.0.1:1", up.URL)
	for range 4 {
		if err := c.Put(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	if good.Load() != 4 {
		t.Errorf("%d requests reached the live endpoint, want 4", good.Load())
	}
	aborting := serve(t, func(http.ResponseWriter, *http.Request) { cut.Add(1); panic(http.ErrAbortHandler) })
	aborting2 := serve(t, func(http.ResponseWriter, *http.Request) { cut.Add(1); panic(http.ErrAbortHandler) })
	err := client(t, 0, aborting.URL, aborting2.URL).Put(t.Context(), pod)
	var un *UnknownOutcomeError
	if !errors.As(err, &un) || cut.Load() != 1 {
		t.Errorf("%d requests sent, error %v; want one request and an unknown outcome", cut.Load(), err)
	}
}

func TestReachable(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, okBody) })
	c := client(t, 0, "http://127.0.0.1:1")
	if err := c.Reachable(); err != nil {
		t.Errorf("not tried yet: %v", err)
	}
	if c.Put(t.Context(), pod) == nil || c.Reachable() == nil {
		t.Error("reachable after a refused connection")
	}
	if err := c.SetEndpoints([]string{"http://127.0.0.1:1", s.URL}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Put(t.Context(), pod), c.Reachable()); err != nil {
		t.Errorf("one of two endpoints answers: %v", err)
	}
}

// A storage server that hangs, or is none any more, is left out after what it takes to find
// out, and comes back once it answers a probe.
func TestBadEndpointIsLeftOut(t *testing.T) {
	for name, tc := range map[string]struct {
		bad    func(http.ResponseWriter)
		wasted int64 // PUTs
	}{
		"hangs":              {nil, 1},
		"500":                {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, tolerated + 1},
		"503 with an appeal": {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1"); w.WriteHeader(503) }, tolerated + 1},
		"another server":     {http404, tolerated + 1},
		"a gateway's envelope": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"result":false,"code":1401403,"message":"no right","data":null}`)
		}, tolerated + 1},
		"a page with success": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, tolerated + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var healed atomic.Bool
			var wasted, served atomic.Int64
			sick := serve(t, func(w http.ResponseWriter, r *http.Request) {
				put := r.Method == http.MethodPut
				_, _ = io.Copy(io.Discard, r.Body)
				switch {
				case healed.Load():
					_, _ = io.WriteString(w, okBody)
					if put {
						served.Add(1)
					}
					return
				case put:
					wasted.Add(1)
				}
				if tc.bad == nil {
					<-r.Context().Done()
					return
				}
				tc.bad(w)
			})
			sound := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, okBody) })
			c := client(t, time.Second, sick.URL, sound.URL)
			for range 200 { // a second or longer: some probes are in it
				_ = c.Put(t.Context(), pod)
				time.Sleep(5 * time.Millisecond)
			}
			if n := wasted.Load(); n != tc.wasted {
				t.Errorf("%d of 200 writes were sent to the sick endpoint, want %d", n, tc.wasted)
			}
			if down := c.Down(); len(down) != 1 || !strings.Contains(down[0].Error(), sick.URL) || c.Reachable() != nil {
				t.Errorf("down: %v; reachable: %v", down, c.Reachable())
			}
			if up := testutil.ToFloat64(c.up.WithLabelValues(sick.URL)); up != 0 {
				t.Errorf("the metric says %v", up)
			}
			healed.Store(true)
			for deadline := time.Now().Add(20 * time.Second); served.Load() == 0; time.Sleep(5 * time.Millisecond) {
				if err := c.Put(t.Context(), pod); err != nil || time.Now().After(deadline) {
					t.Fatalf("the endpoint never came back: %v", err)
				}
			}
			if down := c.Down(); down != nil {
				t.Errorf("down: %v", down)
			}
		})
	}
}

// An endpoint that answers reads and no write, or writes with a front end's refusal, is
// tried by one write at a time, whatever its reads say.
func TestEndpointThatOnlyReads(t *testing.T) {
	for name, bad := range map[string]func(http.ResponseWriter, *http.Request){
		"hangs":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const writers = 4
			var wasted, served atomic.Int64
			var healed atomic.Bool
			sick := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				switch {
				case r.Method == http.MethodGet:
				case !healed.Load():
					wasted.Add(1)
					bad(w, r)
					return
				default:
					served.Add(1)
				}
				_, _ = io.WriteString(w, okBody)
			})
			sound := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, okBody) })
			c := client(t, 200*time.Millisecond, sick.URL, sound.URL)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					for ctx.Err() == nil {
						_ = c.Put(t.Context(), pod)
						time.Sleep(5 * time.Millisecond)
					}
				})
			}
			all.Go(func() { // a comparison
				for ctx.Err() == nil {
					_, _, _ = c.Get(t.Context(), pod.Key, "")
					time.Sleep(5 * time.Millisecond)
				}
			})
			all.Wait()
			// Those that began before it was found out, and one for each probe.
			if n := wasted.Load(); n > 2*writers+5 {
				t.Errorf("%d writes were sent to the endpoint that takes none", n)
			}
			healed.Store(true)
			for deadline := time.Now().Add(20 * time.Second); served.Load() < 10; time.Sleep(5 * time.Millisecond) {
				if err := c.Put(t.Context(), pod); err != nil || time.Now().After(deadline) {
					t.Fatalf("the endpoint never came back: %v", err)
				}
			}
			if down := c.Down(); down != nil {
				t.Errorf("down: %v", down)
			}
		})
	}
}

// TestOneTruth: that an endpoint is up again, Down, Outages and the metric say alike: at an
// answered read or, where a write has failed after one, at an answered write.
func TestOneTruth(t *testing.T) {
	var frozen, writable atomic.Bool
	frozen.Store(true)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if frozen.Load() || r.Method != http.MethodGet && !writable.Load() {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, okBody)
	})
	c := client(t, 500*time.Millisecond, srv.URL)
	up := func() (all [3]bool) {
		return [3]bool{c.Down() == nil, c.Outages() == nil, testutil.ToFloat64(c.up.WithLabelValues(srv.URL)) == 1}
	}
	yes, no := [3]bool{true, true, true}, [3]bool{}
	_ = c.Put(t.Context(), pod)
	if got := up(); got != no {
		t.Fatalf("frozen: up %v", got)
	}
	frozen.Store(false)
	for deadline := time.Now().Add(time.Minute); c.Reachable() != nil && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	if got := up(); got != yes {
		t.Errorf("after an answered read: up %v", got)
	}
	_ = c.Put(t.Context(), pod)
	for range 20 { // probes are among them
		time.Sleep(50 * time.Millisecond)
		if got := up(); got != no {
			t.Fatalf("reads are answered, a write was not: up %v", got)
		}
	}
	writable.Store(true)
	if err := c.Put(t.Context(), pod); err != nil || up() != yes {
		t.Errorf("after a write: %v, up %v", err, up())
	}
}

func http404(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) }

// What storage does to one object says nothing about the endpoint.
func TestOneObjectsTroubleIsNotTheEndpoints(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case strings.HasSuffix(r.URL.Path, "/hangs"):
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/fails"):
			w.WriteHeader(http.StatusInternalServerError)
		case strings.HasSuffix(r.URL.Path, "/large"):
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		default:
			_, _ = io.WriteString(w, okBody)
		}
	})
	c := client(t, 200*time.Millisecond, s.URL)
	put := func(name string) {
		o := *pod
		o.Key.Name = name
		_ = c.Put(t.Context(), &o)
		if err := c.Reachable(); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	for range 3 {
		put("fails")
		put("fails")
		put("sound")
		done := make(chan struct{})
		go func() { put("hangs"); close(done) }()
		for range 25 { // others are answered meanwhile
			put("sound")
			time.Sleep(10 * time.Millisecond)
		}
		<-done
	}
	for range 10 {
		put("large")
	}
}

// An endpoint that nobody writes to is found to be back all the same.
func TestIdleEndpointComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		dial := func(context.Context, string, string) (net.Conn, error) {
			if !back.Load() {
				return nil, errors.New("refused")
			}
			near, far := net.Pipe()
			go leanConn(far)
			return near, nil
		}
		c := clientWith(t, Settings{Dial: dial}, 0, "http://storage:50024")
		if c.Put(t.Context(), pod) == nil || c.Reachable() == nil {
			t.Error("reachable after a refused connection")
		}
		time.Sleep(time.Hour)
		if err := c.Reachable(); err == nil || !strings.Contains(err.Error(), "storage http://storage:50024: refused") {
			t.Errorf("an hour later: %v", err)
		}
		back.Store(true)
		time.Sleep(maxDown)
		if err := c.Reachable(); err != nil {
			t.Errorf("after %s: %v", maxDown, err)
		}
	})
}

func TestEndpointsChange(t *testing.T) {
	var a, b atomic.Int64
	count := func(n *atomic.Int64) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { n.Add(1); _, _ = io.WriteString(w, okBody) }
	}
	first, second := serve(t, count(&a)), serve(t, count(&b))
	c := client(t, 0)
	var tr *TransientError
	if err := c.Put(t.Context(), pod); !errors.As(err, &tr) {
		t.Fatalf("without endpoints: %v, want a transient error", err)
	}
	for _, addrs := range [][]string{{first.URL}, {second.URL}, nil} {
		if err := c.SetEndpoints(addrs); err != nil {
			t.Fatal(err)
		}
		if err := c.Put(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	if a.Load() != 1 || b.Load() != 2 {
		t.Errorf("%d and %d requests, want 1 and 2", a.Load(), b.Load())
	}
}

// A list from ZooKeeper may name a server twice, while the node of its former session is
// still there, and one that has no usable address: the others are used, each once.
func TestEndpointsThatAreWrong(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { n.Add(1); _, _ = io.WriteString(w, okBody) })
	c := client(t, 0)
	if err := c.SetEndpoints([]string{s.URL, "http://:50024", s.URL}); err == nil || !strings.Contains(err.Error(), `"http://:50024" names no host`) {
		t.Errorf("a server without an address: %v", err)
	}
	if all := *c.endpoints.Load(); len(all) != 1 {
		t.Errorf("%d endpoints, want 1", len(all))
	}
	if err := c.SetEndpoints([]string{"http://:50024"}); err == nil {
		t.Error("no server with an address: no error")
	}
	if err := c.Put(t.Context(), pod); err != nil || n.Load() != 1 {
		t.Errorf("%d requests, %v", n.Load(), err)
	}
}

func TestCheckTellsWhatAnswers(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Sign in</body></html>")
	})
	err := client(t, 0, s.URL).Check(t.Context())
	var not *NotStorageError
	if !errors.As(err, &not) || !strings.Contains(err.Error(), "text/html") {
		t.Errorf("got %v, want a NotStorageError that names the content type", err)
	}
}

func TestGetAndList(t *testing.T) {
	var asked atomic.Value // the last query
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.RawQuery)
		switch {
		case strings.HasSuffix(r.URL.Path, "/missing"):
			_, _ = io.WriteString(w, `{"result":false,"code":1405087,"message":"(bcs-storage):resource does not exist.","data":{}}`)
		case strings.HasSuffix(r.URL.Path, "/web-1"):
			_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":{"_id":"1","resourceName":"web-1","data":{"kind":"Pod"}}}`)
		default:
			_, _ = fmt.Fprintf(w, `{"result":true,"code":0,"message":"success","data":[{"_id":"1","resourceName":%q}]}`, r.URL.RawQuery)
		}
	})
	c := client(t, 0, s.URL)
	if rec, found, err := c.Get(t.Context(), pod.Key, ""); err != nil || !found || string(rec.Data) != `{"kind":"Pod"}` {
		t.Errorf("Get = %+v, %v, %v", rec, found, err)
	}
	missing := object.Key{Kind: "Pod", Namespace: "team-a", Name: "missing"}
	if _, found, err := c.Get(t.Context(), missing, ""); err != nil || found {
		t.Errorf("Get of a missing object: found %v, error %v", found, err)
	}
	if _, found, err := c.Get(t.Context(), missing, "u 1"); err != nil || found || asked.Load() != "data.metadata.uid=u+1" {
		t.Errorf("Get of one uid: found %v, error %v, query %q", found, err, asked.Load())
	}
	recs, err := c.List(t.Context(), "Pod", "team-a", "resourceName", 500, 1000)
	if err != nil || len(recs) != 1 || recs[0].Name != "field=resourceName&limit=500&offset=1000" {
		t.Errorf("List = %+v, %v", recs, err)
	}
}

// TestDeleteOnly: a record is meant by its uid whatever the mode, and nothing is sent
// where there is none.
func TestDeleteOnly(t *testing.T) {
	asked := make(chan string, 8) // more than are sent
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RequestURI()
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":{}}`)
	})
	c := client(t, 0, s.URL)
	k := object.Key{Kind: "Pod", Name: "web-1"}
	var permanent *PermanentError
	if err := c.DeleteOnly(t.Context(), k, ""); !errors.As(err, &permanent) || len(asked) != 0 {
		t.Errorf("without a uid: %v, %d requests", err, len(asked))
	}
	if err := c.DeleteOnly(t.Context(), k, "u1"); err != nil {
		t.Error(err)
	}
	if uri := <-asked; !strings.HasSuffix(uri, "/Pod/web-1?data.metadata.uid=u1") {
		t.Error(uri)
	}
}

// An endpoint may be a path of a front end; what is sent stands below it.
func TestEndpointWithPath(t *testing.T) {
	asked := make(chan string, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.RequestURI
		_, _ = io.WriteString(w, okBody)
	})
	c := client(t, 0, s.URL+"/api/storage/")
	if err := c.Put(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; !strings.HasPrefix(got, "PUT /api/storage/bcsstorage/v1/k8s/dynamic/") {
		t.Error(got)
	}
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct{ endpoint, want string }{
		{"", "scheme must be http"}, {"storage:50024", "scheme must be http"}, {"http://", "names no host"},
		{"http://h:1/path?q=1", "without query or user"}, {"http://u:p@h:1", "without query or user"}, {"ftp://h", "scheme"}, {"http://h:x", "not a URL"},
	} {
		cfg := Default()
		cfg.ClusterID, cfg.Endpoints = "c", []string{tc.endpoint}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got %v, want %q", tc.endpoint, err, tc.want)
		}
	}
}

// leanServer answers every request below 64 KiB, at next to no cost, so that the
// benchmark is the client's.
func leanServer(l net.Listener) {
	for {
		cn, err := l.Accept()
		if err != nil {
			return
		}
		go leanConn(cn)
	}
}

func leanConn(cn net.Conn) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: " + fmt.Sprint(len(okBody)) + "\r\n\r\n" + okBody)
	defer func() { _ = cn.Close() }()
	buf := make([]byte, 64<<10)
	n := 0
	for {
		k, err := cn.Read(buf[n:])
		if err != nil {
			return
		}
		if n += k; !whole(buf[:n]) {
			continue
		}
		n = 0
		if _, err := cn.Write(answer); err != nil {
			return
		}
	}
}

// A connection that is no socket cannot be looked at: closed while idle, it costs a
// request that was certainly not sent.
func TestDialReplacesTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var far net.Conn
		serve := func() { // one request per call
			req, err := http.ReadRequest(bufio.NewReader(far))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			_, _ = fmt.Fprintf(far, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(okBody), okBody)
		}
		dials := 0
		cfg := Default()
		cfg.ClusterID, cfg.Endpoints = "c", []string{"http://storage:50024"}
		c, err := New(cfg, Settings{Dial: func(_ context.Context, network, address string) (net.Conn, error) {
			if network != "tcp" || address != "storage:50024" {
				t.Errorf("dial %s %s", network, address)
			}
			dials++
			var near net.Conn
			near, far = net.Pipe()
			return near, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		put := func() error {
			done := make(chan error)
			go func() { done <- c.Put(t.Context(), pod) }()
			synctest.Wait()
			serve()
			return <-done
		}
		for range 2 {
			if err := put(); err != nil || dials != 1 {
				t.Fatalf("%v, %d dials", err, dials)
			}
			time.Sleep(time.Second)
		}
		_ = far.Close()
		var transient *TransientError
		if err := c.Put(t.Context(), pod); !errors.As(err, &transient) || dials != 1 {
			t.Fatalf("%v, %d dials", err, dials)
		}
		if err := put(); err != nil || dials != 2 {
			t.Fatalf("%v, %d dials", err, dials)
		}
		for _, ep := range *c.endpoints.Load() {
			ep.reap(time.Now(), true)
		}
	})
}

// A write leaves only while it is permitted, also on a connection that had to be made
// for it; reads always do.
func TestPermit(t *testing.T) {
	var requests atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, okBody)
	})
	no := errors.New("no")
	var dialled atomic.Bool
	c := clientWith(t, Settings{
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			dialled.Store(true) // it may not any more
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
		Permit: func() error {
			if dialled.Load() {
				return no
			}
			return nil
		},
	}, 0, s.URL)
	for _, err := range []error{c.Put(t.Context(), pod), c.Delete(t.Context(), pod.Key, "u1")} {
		if _, ok := errors.AsType[*TransientError](err); !ok || !errors.Is(err, no) {
			t.Errorf("got %v", err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests left", n)
	}
	if _, _, err := c.Get(t.Context(), pod.Key, ""); err != nil || requests.Load() != 1 {
		t.Errorf("a read: %v", err)
	}
	dialled.Store(false)
	if err := c.Put(t.Context(), pod); err != nil || testutil.ToFloat64(c.metrics.Opened) != 1 {
		t.Errorf("permitted again: %v, %v connections", err, testutil.ToFloat64(c.metrics.Opened))
	}
}
