package notify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/setting"
)

var hookEvent = notify.Event{ID: "u:7:ADDED", Type: "ADDED", Body: []byte(`{"type":"ADDED","object":{}}`)}

func hook(t testing.TB, c notify.Webhook) *notify.WebhookTarget {
	t.Helper()
	if c.Allow == nil {
		c.Allow = []string{"127.0.0.0/8"}
	}
	made := must(notify.NewWebhook(c, 2))
	t.Cleanup(made.Close)
	return made
}

func serveHook(t testing.TB, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// TestWebhookRequest: what a receiver sees.
func TestWebhookRequest(t *testing.T) {
	key := []byte("0123456789012345678901234567")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("whsec_"+base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got *http.Request
	var body []byte
	s := serveHook(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	if err := hook(t, notify.Webhook{URL: s.URL + "/path?q=1", SecretFile: file}).Deliver(t.Context(), hookEvent); err != nil {
		t.Fatal(err)
	}
	at, err := strconv.ParseInt(got.Header.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(at, 0)); err != nil || age < -time.Second || age > 10*time.Second {
		t.Errorf("webhook-timestamp %q", got.Header.Get("webhook-timestamp"))
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("u:7:ADDED." + got.Header.Get("webhook-timestamp") + "." + string(body)))
	for name, want := range map[string]string{
		"webhook-id": "u:7:ADDED", "Content-Type": "application/json", "User-Agent": "k8s-watch",
		"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	} {
		if h := got.Header.Get(name); h != want {
			t.Errorf("%s: %q, want %q", name, h, want)
		}
	}
	if string(body) != string(hookEvent.Body) || got.Method != http.MethodPost || got.RequestURI != "/path?q=1" {
		t.Errorf("%s %s %s", got.Method, got.RequestURI, body)
	}
}

// TestStatus: what each status means for the hookEvent.
func TestStatus(t *testing.T) {
	for status, want := range map[int]string{
		200: "taken", 201: "taken", 202: "taken", 204: "taken",
		400: "refused", 415: "refused", 422: "refused", 413: "too_large",
		// These may be a proxy's.
		301: "again", 302: "again", 303: "again", 304: "again", 307: "again", 308: "again",
		401: "again", 403: "again", 404: "again", 405: "again", 407: "again", 410: "again", 421: "again",
		408: "again", 409: "again", 425: "again", 429: "again, all after 3s",
		500: "again after 3s", 502: "again after 3s", 503: "again after 3s", 504: "again after 3s", 599: "again after 3s",
	} {
		s := serveHook(t, func(w http.ResponseWriter, _ *http.Request) {
			if status >= 429 {
				w.Header().Set("Retry-After", "3")
			}
			w.WriteHeader(status)
		})
		err := hook(t, notify.Webhook{URL: s.URL}).Deliver(t.Context(), hookEvent)
		var permanent *notify.PermanentError
		var later *notify.RetryAfterError
		got := "again"
		switch {
		case err == nil:
			got = "taken"
		case errors.As(err, &permanent):
			got = string(permanent.Reason)
		case errors.As(err, &later) && later.All:
			got = "again, all after " + later.After.String()
		case errors.As(err, &later):
			got = "again after " + later.After.String()
		}
		if got != want {
			t.Errorf("%d: %s (%v), want %s", status, got, err, want)
		}
	}
}

// TestRedirect: nobody is asked but the receiver itself, whatever it answers.
func TestRedirect(t *testing.T) {
	var asked atomic.Int64
	other := serveHook(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, location := range []string{other.URL, "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "/elsewhere"} {
		s := serveHook(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				asked.Add(1)
			}
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		if err := hook(t, notify.Webhook{URL: s.URL}).Deliver(t.Context(), hookEvent); err == nil || !strings.Contains(err.Error(), "HTTP 307") {
			t.Errorf("to %s: %v", location, err)
		}
	}
	s := serveHook(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://[::1?token=hush")
		w.WriteHeader(http.StatusFound)
	})
	err := hook(t, notify.Webhook{URL: s.URL}).Deliver(t.Context(), hookEvent)
	if err == nil || !strings.Contains(err.Error(), "HTTP 302: redirects are not followed") || strings.Contains(err.Error(), "hush") {
		t.Errorf("to what is no URL: %v", err)
	}
	if asked.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestNoProxy: the environment's proxy is not used.
func TestNoProxy(t *testing.T) {
	var asked atomic.Int64
	proxy := serveHook(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	// net/http reads the environment once, at the first request that asks for it: what is asked
	// of must not be loopback, which no proxy is used for.
	err := hook(t, notify.Webhook{URL: "http://192.0.2.1:9/", Timeout: setting.Duration(time.Second)}).Deliver(t.Context(), hookEvent)
	var blocked *notify.BlockedError
	if !errors.As(err, &blocked) || asked.Load() != 0 {
		t.Errorf("%v, the proxy was asked %d times", err, asked.Load())
	}
}

// TestReply: of an answer not more than 64 KiB are read, however long it is.
func TestReply(t *testing.T) {
	var wrote atomic.Int64
	stopped := make(chan struct{}, 1)
	s := serveHook(t, func(w http.ResponseWriter, _ *http.Request) {
		defer func() { stopped <- struct{}{} }()
		page := make([]byte, 16<<10)
		for { // for ever, for who reads for ever
			n, err := w.Write(page)
			wrote.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	began := time.Now()
	if err := hook(t, notify.Webhook{URL: s.URL, Timeout: setting.Duration(20 * time.Second)}).Deliver(t.Context(), hookEvent); err != nil {
		t.Error(err)
	}
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Error("the connection is still read")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	t.Logf("%d bytes were written into the connection", wrote.Load())
	exact := serveHook(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	if err := hook(t, notify.Webhook{URL: exact.URL}).Deliver(t.Context(), hookEvent); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
}

// TestFailures: none of these is for ever, and none says what the URL is.
func TestFailures(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	closed := must(net.Listen("tcp", "127.0.0.1:0"))
	_ = closed.Close()
	for name, url := range map[string]string{
		"hangs":        serveHook(t, func(http.ResponseWriter, *http.Request) { <-hang }).URL,
		"resets":       serveHook(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }).URL,
		"no HTTP":      garbage(t),
		"long header":  serveHook(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }).URL,
		"nobody there": "http://" + closed.Addr().String(),
		"TLS wanted":   strings.Replace(serveHook(t, func(http.ResponseWriter, *http.Request) {}).URL, "http:", "https:", 1),
		"no such name": "http://no-such-name.invalid",
		"blocked":      "http://10.0.0.1",
	} {
		err := hook(t, notify.Webhook{URL: url + "/?token=hidden", Timeout: setting.Duration(300 * time.Millisecond)}).Deliver(t.Context(), hookEvent)
		var permanent *notify.PermanentError
		var unreachable *notify.UnreachableError
		if err == nil || errors.As(err, &permanent) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", name, err)
		}
		reached := name == "hangs" || name == "resets" || name == "no HTTP" || name == "long header"
		if errors.As(err, &unreachable) == reached {
			t.Errorf("%s: %v, want unreachable %t", name, err, !reached)
		}
	}
}

// garbage answers with what is no HTTP.
func garbage(t *testing.T) string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n")
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// TestConnections: one connection is used again and again, also after failures.
func TestConnections(t *testing.T) {
	var opened, n atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%3 == 0 {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(make([]byte, 60<<10))
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	to := hook(t, notify.Webhook{URL: s.URL})
	for range 50 {
		_ = to.Deliver(t.Context(), hookEvent)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}
