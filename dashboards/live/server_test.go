package live

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func get(t *testing.T, h http.Handler, host, path string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPageRunsOnlyItsOwnFiles: nothing inline, a policy, and a title that stays text.
func TestPageRunsOnlyItsOwnFiles(t *testing.T) {
	s, err := New(`Watcher at <script>alert(1)</script>`, nothing{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/live.js", "/live.css", "/options.json"} {
		r := get(t, s.handler(false), "127.0.0.1:8", path)
		text := body(t, r)
		if r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Content-Security-Policy"), "script-src 'self';") || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s %v", path, r.Status, r.Header)
		}
		if path == "/" && (strings.Contains(text, "<script>") || strings.Contains(text, " onload") || strings.Contains(text, "style=") || !strings.Contains(text, "&lt;script&gt;alert(1)")) {
			t.Errorf("the page has something inline:\n%s", text)
		}
	}
	if r := get(t, s.handler(false), "127.0.0.1:8", "/../server.go"); r.StatusCode == http.StatusOK {
		t.Error("a file outside is served")
	}
}

// TestForeignNames: a page elsewhere cannot read what is served on loopback by a name that it
// points there.
func TestForeignNames(t *testing.T) {
	s := newServer(t, nothing{})
	for host, want := range map[string]int{
		"127.0.0.1:80": 200, "[::1]:80": 200, "localhost:8": 200, "localhost": 200, "evil.example:80": 421, "127.0.0.1.evil.example": 421, "": 421,
	} {
		if r := get(t, s.handler(false), host, "/"); r.StatusCode != want {
			t.Errorf("host %q: %d, want %d", host, r.StatusCode, want)
		}
	}
	if r := get(t, s.handler(true), "bench.example", "/"); r.StatusCode != 200 {
		t.Errorf("a page for other machines: %s", r.Status)
	}
}

func TestListen(t *testing.T) {
	l, err := Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !strings.HasPrefix(l.Addr().String(), "127.0.0.1:") || Remote(l) {
		t.Errorf("an address without host is %s", l.Addr())
	}
	for addr, want := range map[string]string{
		l.Addr().String(): "is in use; use another, or :0", "8080": "is not an address; write host:port", "": "is not an address",
		":http": "has no port of 0 to 65535", ":70000": "has no port of 0 to 65535", "192.0.2.1:0": "use an address of this machine",
	} {
		if l, err := Listen(addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", addr, l, err, want)
		}
	}
}

func TestNewTarget(t *testing.T) {
	for address, want := range map[string]string{
		"ftp://x": `does not begin with http:// or https://`, "localhost:80": `does not begin with`, "http://": "names no host", "http://\x00": "is not a URL", "": "does not begin with",
	} {
		if _, err := NewTarget(address, time.Second); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
	if _, err := NewTarget("ftp://me:hunter2@x", time.Second); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the password is told: %v", err)
	}
	target, err := NewTarget("http://x:1", time.Second)
	if err != nil || target.url != "http://x:1/metrics" || target.Host() != "x:1" {
		t.Errorf("%+v, %v", target, err)
	}
}

// TestTargetScrapesOneAtATime: a slow target has one request, not many.
func TestTargetScrapesOneAtATime(t *testing.T) {
	var now, most, all atomic.Int32
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		all.Add(1)
		time.Sleep(3 * MinInterval)
		_, _ = io.WriteString(w, ownText(1))
	}))
	defer slow.Close()
	target, err := NewTarget(slow.URL, MinInterval)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if f, err := target.Next(t.Context()); err != nil || f.Unreachable != nil {
			t.Fatalf("%v, %+v", err, f.Unreachable)
		}
	}
	target.client.CloseIdleConnections()
	if most.Load() != 1 || all.Load() != 3 {
		t.Errorf("%d scrapes, %d at once", all.Load(), most.Load())
	}
}

func TestTargetFailures(t *testing.T) {
	huge := strings.Repeat("# comment\n", maxExposition/10+1)
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"404":      {http.NotFound, "it answers 404 Not Found"},
		"redirect": {http.RedirectHandler("http://192.0.2.1/", http.StatusFound).ServeHTTP, "it answers 302 Found"},
		"login":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "no metric of k8s-watch"},
		"endless":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, huge) }, "more than 16 MiB"},
	} {
		server := httptest.NewServer(tc.answer)
		target, err := NewTarget(server.URL, MinInterval)
		if err != nil {
			t.Fatal(err)
		}
		f, err := target.Next(t.Context())
		if err != nil || f.Unreachable == nil || !strings.Contains(f.Unreachable.Why, tc.want) {
			t.Errorf("%s: %v, %+v, want %q", name, err, f.Unreachable, tc.want)
		}
		target.client.CloseIdleConnections()
		server.Close()
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	target, err := NewTarget("http://me:hunter2@"+strings.TrimPrefix(gone.URL, "http://"), MinInterval)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := target.Next(t.Context()); err != nil || f.Unreachable == nil || !strings.Contains(f.Unreachable.Why, "refused") || strings.Contains(f.Unreachable.Why, "hunter2") {
		t.Errorf("nobody listens: %v, %+v", err, f.Unreachable)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := target.Next(ctx); err == nil {
		t.Error("it goes on after the end")
	}
}
