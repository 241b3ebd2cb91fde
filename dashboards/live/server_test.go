package live

import (
	"context"
	"encoding/json"
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
	s := New(`Watcher at <script>alert(1)</script>`)
	for _, path := range []string{"/", "/page/live.js", "/page/live.css"} {
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

// TestForeignNames: a page elsewhere cannot read what is served on loopback by a name that it points there.
func TestForeignNames(t *testing.T) {
	s := New("Test")
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
		l.Addr().String(): "in use; write host:port", "8080": "missing port", "": "missing port", ":70000": "invalid port",
		"192.0.2.1:0": "or :0 for any free port",
	} {
		if l, err := Listen(addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", addr, l, err, want)
		}
	}
}

func TestNewTarget(t *testing.T) {
	for address, want := range map[string]string{
		"ftp://x": "is not http://HOST", "localhost:80": "is not http://HOST", "http://": "is not http://HOST", "http://\x00": "is not a URL", "": "is not http://HOST",
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
		time.Sleep(3 * minInterval)
		_, _ = io.WriteString(w, ownText(1))
	}))
	defer slow.Close()
	shown := follow(t, slow.URL, 3)
	for _, r := range shown {
		if r.Err != nil || len(r.Metrics) == 0 {
			t.Errorf("%+v", r)
		}
	}
	if most.Load() != 1 || all.Load() != 3 {
		t.Errorf("%d scrapes, %d at once", all.Load(), most.Load())
	}
}

// follow returns the first readings of a target.
func follow(t *testing.T, url string, n int) (shown []Reading) {
	t.Helper()
	target, err := NewTarget(url, minInterval)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	target.follow(ctx, func(r Reading) {
		if shown = append(shown, r); len(shown) == n {
			cancel()
		}
	})
	return shown
}

func TestTargetFailures(t *testing.T) {
	huge := strings.Repeat("# comment\n", maxExposition/10+1)
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"404":      {http.NotFound, "it answers 404 Not Found"},
		"redirect": {http.RedirectHandler("http://192.0.2.1/", http.StatusFound).ServeHTTP, "it answers 302 Found"},
		"login":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "read its metrics"},
		"endless":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, huge) }, "more than 16 MiB"},
	} {
		server := httptest.NewServer(tc.answer)
		var m meter
		if f := m.frame(follow(t, server.URL, 1)[0]); f.Unreachable == nil || !strings.Contains(f.Unreachable.Why, tc.want) {
			t.Errorf("%s: %+v, want %q", name, f.Unreachable, tc.want)
		}
		server.Close()
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	r := follow(t, "http://me:hunter2@"+strings.TrimPrefix(gone.URL, "http://"), 1)[0]
	if r.Err == nil || !strings.Contains(r.Err.Error(), "refused") || strings.Contains(r.Err.Error(), "hunter2") {
		t.Errorf("nobody listens: %v", r.Err)
	}
}

// TestViewers: who comes late gets what is kept, and who returns what it lacks.
func TestViewers(t *testing.T) {
	s := New("Test")
	for i := range int64(History + 10) {
		s.Show(Reading{Time: time.UnixMilli(i)})
	}
	for query, from := range map[string]int64{"": 10, "?next=600": 600, "?next=610": 610, "?next=9": 10, "?next=-1": 10,
		"?next=700": 610} {
		var got struct {
			Boot   string
			Next   int64
			Frames []Frame
		}
		r := get(t, s.handler(false), "127.0.0.1:8", "/frames"+query)
		if err := json.Unmarshal([]byte(body(t, r)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Next != History+10 || int64(len(got.Frames)) != History+10-from || len(got.Frames) > 0 && got.Frames[0].Time != from ||
			got.Boot != s.boot {
			t.Errorf("%s: next %d, %d frames", query, got.Next, len(got.Frames))
		}
	}
}

// TestRunEnds: within a second, once, and nothing is left.
func TestRunEnds(t *testing.T) {
	s := New("Test")
	l, err := Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, l, nil) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + l.Addr().String() + "/frames")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Second):
		t.Error("Run still runs after a second")
		<-done
	}
	if l, err = Listen(":0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), l, nil); err == nil {
		t.Error("a second Run was accepted")
	}
}
