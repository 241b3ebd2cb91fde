package storagemock_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock"
)

// mock is a running server under test.
type mock struct {
	*storagemock.Server
	t      testing.TB
	base   string // http://host:port/bcsstorage/v1
	client *http.Client
	admin  *httptest.Server
	stop   func()
}

// start runs a server until the test ends.
func start(t testing.TB, edit func(*storagemock.Config)) *mock {
	t.Helper()
	cfg := storagemock.DefaultConfig()
	if edit != nil {
		edit(&cfg)
	}
	reg := prometheus.NewRegistry()
	srv, err := storagemock.New(cfg, storagemock.Settings{Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	tr := &http.Transport{MaxIdleConnsPerHost: 100}
	m := &mock{Server: srv, t: t, base: "http://" + srv.Addrs()[0] + bcsapi.Base, client: &http.Client{Transport: tr}}
	m.admin = httptest.NewServer(srv.AdminHandler(reg, false))
	m.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		tr.CloseIdleConnections()
		m.admin.Close()
	})
	t.Cleanup(m.stop)
	return m
}

// do sends a request to a URL and returns status and body.
func (m *mock) do(method, url, body string, header ...string) (int, string) {
	m.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := m.client.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// api sends a request below the API's base.
func (m *mock) api(method, path, body string) (int, string) {
	m.t.Helper()
	return m.do(method, m.base+path, body)
}

// must sends a request that has to succeed.
func (m *mock) must(method, path, body string) string {
	m.t.Helper()
	status, answer := m.api(method, path, body)
	if status != 200 || !strings.Contains(answer, `"result":true`) {
		m.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}
