package legacy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/object"
)

// TestClient: what an answer means, and how many requests it takes, each over a connection of its own.
func TestClient(t *testing.T) {
	const yes, no = `{"result":true}`, `{"result":false,"code":1405082,"message":"refused"}`
	for name, tc := range map[string]struct {
		status int
		answer string
		tries  int
		ok     bool
	}{
		"taken":                        {200, yes, 1, true},
		"refused":                      {200, no, 1, false},
		"an error that says yes":       {404, yes, 1, true},
		"no JSON":                      {200, "<html>", 1, false},
		"an error that is resent":      {500, no, attempts, false},
		"another error that is resent": {400, yes, attempts, true},
		"an error that is not":         {503, no, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			peers := map[string]bool{}
			var method, path, body string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				text, _ := io.ReadAll(r.Body)
				peers[r.RemoteAddr], method, path, body = true, r.Method, r.URL.Path, string(text)
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.answer)
			}))
			defer srv.Close()
			c := clientFor(t, srv.URL)
			o := &object.Object{Key: pod("p"), Raw: []byte(`{"kind":"Pod"}`)}
			tries, err := c.send(t.Context(), o.Key, o)
			mu.Lock()
			defer mu.Unlock()
			if tries != tc.tries || (err == nil) != tc.ok || len(peers) != tc.tries {
				t.Errorf("%d tries over %d connections, %v; want %d, success %t", tries, len(peers), err, tc.tries, tc.ok)
			}
			const want = "/bcsstorage/v1/k8s/dynamic/namespace_resources/clusters/c/namespaces/team-a/Pod/p"
			if method != http.MethodPut || path != want || body != `{"data":{"kind":"Pod"}}` {
				t.Errorf("%s %s %s", method, path, body)
			}
		})
	}
}

// TestFailover: a storage that does not answer costs its timeout, and the next endpoint is asked.
func TestFailover(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"result":true}`) }))
	defer good.Close()
	for _, first := range []string{silent.URL, "http://127.0.0.1:1"} {
		c := clientFor(t, first, good.URL)
		for range 5 { // the order is random
			if _, err := c.send(t.Context(), pod("p"), nil); err != nil {
				t.Errorf("%s: %v", first, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := clientFor(t, silent.URL).send(ctx, pod("p"), nil); err == nil {
		t.Error("no error after the end")
	}
}

func clientFor(t *testing.T, endpoints ...string) *client {
	t.Helper()
	cfg := config.Default()
	cfg.Default.ClusterID, cfg.BCS.CustomStorageEndpoints, cfg.BCS.StorageTimeout = "c", endpoints, config.Duration(200*time.Millisecond)
	c, err := newClient(cfg, (&net.Dialer{}).DialContext, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
