package legacy

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/object"
)

const yes, no = `{"result":true,"code":0,"message":"success","data":{}}`, `{"result":false,"code":1405082,"message":"put resource failed.","data":{}}`

// pipes is a network of one listener per host, within a bubble.
type pipes struct {
	hosts map[string]chan net.Conn
	ended chan struct{}
}

type pipeListener struct {
	conns chan net.Conn
	ended chan struct{}
}

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}
func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(_ context.Context, _, address string) (net.Conn, error) {
	conns, ok := p.hosts[address]
	if !ok {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	conns <- far
	return near, nil
}

// request is one HTTP request as a server saw it.
type request struct {
	at     time.Duration
	host   string
	method string
	target string
	header http.Header
	close  bool
	body   string
}

// answers runs servers in a bubble; answer decides by the request and its number.
func answers(t *testing.T, endpoints []string, answer func(w http.ResponseWriter, r request, n int), script func(t *testing.T, c *Client, reg *prometheus.Registry) []request) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := pipes{hosts: map[string]chan net.Conn{}, ended: make(chan struct{})}
		var mu sync.Mutex // guards seen
		var seen []request
		start := time.Now()
		var servers sync.WaitGroup
		for _, e := range endpoints {
			host := strings.TrimPrefix(e, "http://")
			if strings.HasPrefix(host, "down") {
				continue
			}
			l := pipeListener{make(chan net.Conn, 1), network.ended}
			network.hosts[host] = l.conns
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got := request{time.Since(start), r.Host, r.Method, r.RequestURI, r.Header, r.Close, string(body)}
				mu.Lock()
				seen = append(seen, got)
				n := len(seen)
				mu.Unlock()
				answer(w, got, n)
			})}
			servers.Go(func() { _ = srv.Serve(l) })
			defer func() { _ = srv.Close() }()
		}
		reg := prometheus.NewRegistry()
		c, err := NewClient(ClientConfig{ClusterID: "c", Endpoints: endpoints}, ClientSettings{Registry: reg, Dial: network.dial})
		if err != nil {
			t.Fatal(err)
		}
		want := script(t, c, reg)
		time.Sleep(time.Minute) // what a server still does ends
		close(network.ended)
		servers.Wait()
		if len(want) != len(seen) {
			t.Fatalf("%d requests %v, want %d", len(seen), seen, len(want))
		}
		for i, w := range want {
			g := seen[i]
			if g.at != w.at || g.method != w.method || w.target != "" && g.target != w.target || w.body != "" && g.body != w.body {
				t.Errorf("request %d: %s %s %s %s, want %s %s %s %s", i, g.at, g.method, g.target, g.body, w.at, w.method, w.target, w.body)
			}
			if !g.close {
				t.Errorf("request %d has no Connection: close", i)
			}
		}
	})
}

// parse makes the object of raw, as the collector would.
func parse(raw []byte) (*object.Object, error) {
	m, err := object.Scan(raw)
	if err != nil {
		return nil, err
	}
	return (&object.Recipe{}).Build(raw, &m, m.Kind, nil)
}

func webPod() *object.Object {
	o, err := parse([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","annotations":{"z":"<1>","b":"&"}},"big":12345678901234567890}`))
	if err != nil {
		panic(err)
	}
	return o
}

const podPath = "/bcsstorage/v1/k8s/dynamic/namespace_resources/clusters/c/namespaces/n/Pod/a"

// The request is the original's, to the header (contract §1.2).
func TestRequest(t *testing.T) {
	answers(t, []string{"http://s:1"}, func(w http.ResponseWriter, r request, _ int) {
		want := map[string][]string{
			"User-Agent": {"Go-http-client/1.1"}, "Content-Type": {"application/json"}, "Accept-Encoding": {"gzip"}, "Connection": {"close"},
		}
		if r.method == http.MethodPut {
			want["Content-Length"] = r.header["Content-Length"]
		}
		if !maps.EqualFunc(r.header, want, slices.Equal[[]string]) {
			t.Errorf("%s: headers %v, want %v", r.method, r.header, want)
		}
		_, _ = io.WriteString(w, yes)
	}, func(t *testing.T, c *Client, _ *prometheus.Registry) []request {
		node, err := parse([]byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"node1"}}`))
		if err != nil {
			t.Fatal(err)
		}
		event, err := parse([]byte(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"n"},"type":"Warning","reason":"BackOff","message":"m",` +
			`"involvedObject":{"kind":"Pod","namespace":"n","name":"a"},"source":{"component":"kubelet"},"lastTimestamp":"2024-05-01T08:05:00Z"}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []*object.Object{webPod(), node, event} {
			if tries, err := c.Put(t.Context(), o); tries != 1 || err != nil {
				t.Errorf("%s: %d tries, %v", o, tries, err)
			}
		}
		if tries, err := c.Delete(t.Context(), webPod().Key); tries != 1 || err != nil {
			t.Errorf("%d tries, %v", tries, err)
		}
		const clusterPath = "/bcsstorage/v1/k8s/dynamic/cluster_resources/clusters/c/Node/node1"
		return []request{
			{method: "PUT", target: podPath, body: `{"data":{"apiVersion":"v1","big":12345678901234567890,"kind":"Pod","metadata":{"annotations":{"b":"\u0026","z":"\u003c1\u003e"},"name":"a","namespace":"n","uid":"u"}}}`},
			{method: "PUT", target: clusterPath, body: `{"data":{"apiVersion":"v1","kind":"Node","metadata":{"name":"node1"}}}`},
			{method: "PUT", target: "/bcsstorage/v1/events", body: `{"clusterId":"c","component":"kubelet","data":{"apiVersion":"v1","involvedObject":{"kind":"Pod","name":"a","namespace":"n"},` +
				`"kind":"Event","lastTimestamp":"2024-05-01T08:05:00Z","message":"m","metadata":{"name":"e","namespace":"n"},"reason":"BackOff","source":{"component":"kubelet"},"type":"Warning"},` +
				`"describe":"m","env":"k8s","eventTime":1714550700,"extraInfo":{"kind":"Pod","name":"a","namespace":"n"},"id":"","kind":"Pod","level":"Warning","type":"BackOff"}`},
			{method: "DELETE", target: podPath},
		}
	})
}

// Of an answer only the field result counts, except that 400 and 500 are resent.
func TestJudge(t *testing.T) {
	html := "<html>"
	for _, tc := range []struct {
		name   string
		status int
		body   string
		at     []time.Duration // seconds at which requests are seen
		err    string
	}{
		{"success", 200, yes, []time.Duration{0}, ""},
		{"success with 503", 503, yes, []time.Duration{0}, ""},
		{"refusal with 200", 200, no, []time.Duration{0}, "PUT Pod/n/a: storage says no: code 1405082: put resource failed."},
		{"503 without an answer", 503, html, []time.Duration{0}, "PUT Pod/n/a: no endpoint answered: HTTP 503, the answer is no JSON: "},
		{"400 is resent", 400, no, []time.Duration{0, 1, 2, 3}, "PUT Pod/n/a: storage says no: "},
		{"500 is resent", 500, html, []time.Duration{0, 1, 2, 3}, "PUT Pod/n/a: no endpoint answered: HTTP 500, the answer is no JSON: "},
		{"the fourth 500 may be a success", 500, yes, []time.Duration{0, 1, 2, 3}, ""},
		{"429 is not resent", 429, no, []time.Duration{0}, "PUT Pod/n/a: storage says no: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answers(t, []string{"http://s:1"}, func(w http.ResponseWriter, _ request, _ int) {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}, func(t *testing.T, c *Client, reg *prometheus.Registry) []request {
				tries, err := c.Put(t.Context(), webPod())
				if tries != len(tc.at) || (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
					t.Errorf("%d tries, %v; want %d, %q", tries, err, len(tc.at), tc.err)
				}
				// Attempts within a call count once.
				if n, err := testutil.GatherAndCount(reg, metric.StorageRequests); n != 1 || err != nil {
					t.Errorf("%d series of calls, %v", n, err)
				}
				if n := testutil.ToFloat64(c.metrics.Opened); n != float64(len(tc.at)) {
					t.Errorf("%g connections, want one per request", n)
				}
				var want []request
				for _, s := range tc.at {
					want = append(want, request{at: s * time.Second, method: "PUT", target: podPath})
				}
				return want
			})
		})
	}
}

func TestResendUntilItWorks(t *testing.T) {
	answers(t, []string{"http://s:1"}, func(w http.ResponseWriter, _ request, n int) {
		if n < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, yes)
	}, func(t *testing.T, c *Client, _ *prometheus.Registry) []request {
		if tries, err := c.Delete(t.Context(), webPod().Key); tries != 3 || err != nil {
			t.Errorf("%d tries, %v; want 3 and success", tries, err)
		}
		return []request{{method: "DELETE"}, {at: time.Second, method: "DELETE"}, {at: 2 * time.Second, method: "DELETE"}}
	})
}

// A connection ends five seconds after it was made, answer or not, and the next
// endpoint gets the same request, although the first may still apply it.
func TestTimeoutAndFailover(t *testing.T) {
	answers(t, []string{"http://s:1"}, func(w http.ResponseWriter, _ request, _ int) {
		time.Sleep(8 * time.Second)
		_, _ = io.WriteString(w, yes)
	}, func(t *testing.T, c *Client, _ *prometheus.Registry) []request {
		start := time.Now()
		if tries, err := c.Put(t.Context(), webPod()); tries != 1 || err == nil {
			t.Errorf("%d tries, %v; want 1 and a timeout", tries, err)
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("gave up after %s, want 5 s", d)
		}
		return []request{{method: "PUT"}}
	})
	answers(t, []string{"http://a:1", "http://b:1"}, func(w http.ResponseWriter, _ request, n int) {
		if n == 1 {
			time.Sleep(8 * time.Second)
		}
		_, _ = io.WriteString(w, yes)
	}, func(t *testing.T, c *Client, _ *prometheus.Registry) []request {
		if tries, err := c.Put(t.Context(), webPod()); tries != 2 || err != nil {
			t.Errorf("%d tries, %v; want 2 and success", tries, err)
		}
		return []request{{method: "PUT"}, {at: 5 * time.Second, method: "PUT"}}
	})
}

// The order of endpoints is random; only errors of the connection go on to the next.
func TestEndpoints(t *testing.T) {
	firsts := map[string]int{}
	var calls int
	answers(t, []string{"http://a:1", "http://b:1", "http://down:1"}, func(w http.ResponseWriter, r request, _ int) {
		firsts[r.host]++
		_, _ = io.WriteString(w, no)
	}, func(t *testing.T, c *Client, _ *prometheus.Registry) []request {
		const n = 60
		for range n {
			tries, err := c.Put(t.Context(), webPod())
			if err == nil {
				t.Error("a refusal was taken for a success")
			}
			calls += tries
		}
		want := make([]request, n)
		for i := range want {
			want[i].method = "PUT"
		}
		return want
	})
	// 60 fair draws: none of a host, or never the refusing one first, has 10⁻¹⁰.
	if firsts["a:1"] == 0 || firsts["b:1"] == 0 || calls == 60 {
		t.Errorf("answered by %v after %d attempts, want every endpoint to come first at times", firsts, calls)
	}
	answers(t, []string{"http://down:1", "http://down:2"}, nil, func(t *testing.T, c *Client, _ *prometheus.Registry) []request {
		if tries, err := c.Put(t.Context(), webPod()); tries != 2 || err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%d tries, %v; want both refused", tries, err)
		}
		return nil
	})
}

func TestBadClient(t *testing.T) {
	for _, tc := range []struct {
		config ClientConfig
		want   string
	}{
		{ClientConfig{}, "no cluster id: it is part of every storage URL"},
		{ClientConfig{ClusterID: "c"}, "no storage endpoint: name at least one http://host:port"},
		{ClientConfig{ClusterID: "c", Endpoints: []string{"h:1"}}, `storage endpoint "h:1": want http://host:port or https://host:port`},
		{ClientConfig{ClusterID: "c", Endpoints: []string{"http://h:1"}, Timeout: -1}, "storage timeout -1ns: want a positive duration"},
	} {
		if _, err := NewClient(tc.config, ClientSettings{}); err == nil || err.Error() != tc.want {
			t.Errorf("%+v: got %v, want %s", tc.config, err, tc.want)
		}
	}
}

// A call that is cut off by the end of the process ends at once, within a pause too.
func TestCutOff(t *testing.T) {
	answers(t, []string{"http://s:1"}, func(w http.ResponseWriter, _ request, _ int) {
		w.WriteHeader(http.StatusInternalServerError)
	}, func(t *testing.T, c *Client, _ *prometheus.Registry) []request {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if tries, err := c.Put(ctx, webPod()); tries != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d tries, %v; want 1 and the context's end", tries, err)
		}
		return []request{{method: "PUT"}}
	})
}

// The token for storage goes with each request.
func TestToken(t *testing.T) {
	var got atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"result":true}`)
	}))
	defer srv.Close()
	c, err := NewClient(ClientConfig{ClusterID: "c", Endpoints: []string{srv.URL}}, ClientSettings{Token: func() (string, error) { return "hush", nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), object.Key{Kind: "Pod", Name: "a"}); err != nil || got.Load() != "Bearer hush" {
		t.Errorf("header %v, %v", got.Load(), err)
	}
}
