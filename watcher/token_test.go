package watcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/leader"
)

// doorkeeper is an apiserver that knows one token: it has no Pods, ends watches after
// watchLife and keeps a Lease.
type doorkeeper struct {
	mu      sync.Mutex // guards what follows
	valid   string
	refused []time.Time
	watches []time.Time // that were let in
	lease   string
}

const watchLife = 5 * time.Second

func (d *doorkeeper) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := func(status int, body io.Reader) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
	}
	if r.Header.Get("Authorization") != "Bearer "+d.valid {
		d.refused = append(d.refused, time.Now())
		return answer(http.StatusUnauthorized, strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`))
	}
	switch {
	case strings.Contains(r.URL.Path, "/leases") && r.Method == http.MethodGet && d.lease == "":
		return answer(http.StatusNotFound, strings.NewReader("{}"))
	case strings.Contains(r.URL.Path, "/leases"):
		if r.Method != http.MethodGet {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			d.lease = string(b)
		}
		return answer(http.StatusOK, strings.NewReader(d.lease))
	case r.URL.Query().Get("watch") != "true":
		return answer(http.StatusOK, strings.NewReader(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`))
	}
	d.watches = append(d.watches, time.Now())
	out, in := io.Pipe()
	var end *time.Timer
	stop := context.AfterFunc(r.Context(), func() { end.Stop(); _ = in.CloseWithError(context.Canceled) })
	end = time.AfterFunc(watchLife, func() { stop(); _ = in.Close() })
	return answer(http.StatusOK, out)
}

// CloseIdleConnections is for client-go, which looks for it.
func (d *doorkeeper) CloseIdleConnections() {}

// renew makes another token the valid one.
func (d *doorkeeper) renew(token string) { d.mu.Lock(); d.valid = token; d.mu.Unlock() }

// seen are the times of refusals and of watches since a time.
func (d *doorkeeper) seen(since time.Time) (refused, watches []time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range []struct {
		from []time.Time
		to   *[]time.Duration
	}{{d.refused, &refused}, {d.watches, &watches}} {
		for _, t := range l.from {
			if t.After(since) {
				*l.to = append(*l.to, t.Sub(since))
			}
		}
	}
	return refused, watches
}

// tokenFiles are the two ways in which a token comes from a file.
func tokenFiles(t *testing.T, log *slog.Logger) (path string, configs map[string]func() (*rest.Config, error)) {
	dir := t.TempDir()
	path = filepath.Join(dir, "token")
	replace(t, path, "first")
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],`+
		`"clusters":[{"name":"c","cluster":{"server":"https://apiserver.example"}}],"users":[{"name":"u","user":{"tokenFile":%q}}]}`, path)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, map[string]func() (*rest.Config, error){
		"kubeconfig": func() (*rest.Config, error) { return restConfig(config.K8s{Kubeconfig: kubeconfig}, log) },
		"in a pod": func() (*rest.Config, error) { // as rest.InClusterConfig fills it in
			cfg := &rest.Config{Host: "https://apiserver.example", BearerToken: "first", BearerTokenFile: path}
			return cfg, followToken(cfg, log)
		},
	}
}

// replace writes a token as kubelet does: by renaming.
func replace(t *testing.T, path, token string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestTokenIsFollowed: a token that is replaced before it is refused costs nothing, one
// that is refused before it is replaced the pause between two tries, and neither ends
// the collector or, unless nobody could know, the time as leader.
func TestTokenIsFollowed(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // they sleep by a clock that the bubble sets back
	defer func() { utilruntime.ErrorHandlers = handlers }()
	for _, tc := range []struct {
		name         string
		late         time.Duration // from the end of the first token until the second is in the file
		leads        bool
		refusals     int // at most
		firstWatchIn time.Duration
	}{
		{"in time", 0, true, 0, watchLife + 2*time.Second},
		{"late", 40 * time.Second, false, 40, 40*time.Second + maxPause},
	} {
		for _, how := range []string{"kubeconfig", "in a pod"} {
			t.Run(tc.name+"/"+how, func(t *testing.T) {
				var log bytes.Buffer
				path, configs := tokenFiles(t, slog.New(slog.NewTextHandler(&log, nil)))
				cfg, err := configs[how]()
				if err != nil {
					t.Fatal(err)
				}
				synctest.Test(t, func(t *testing.T) {
					api := &doorkeeper{valid: "first"}
					cfg.Transport = api
					stop := runClients(t, cfg)
					time.Sleep(33 * time.Second)
					if refused, watches := api.seen(time.Time{}); len(refused) > 0 || len(watches) == 0 {
						t.Fatalf("at first: %d requests refused, %d watches", len(refused), len(watches))
					}
					changed := time.Now()
					if tc.late == 0 {
						replace(t, path, "second")
						api.renew("second")
					} else {
						api.renew("second")
						time.Sleep(tc.late)
						replace(t, path, "second")
					}
					time.Sleep(2 * time.Minute)
					refused, watches := api.seen(changed)
					if len(refused) > tc.refusals || tc.late > 0 && len(refused) == 0 {
						t.Errorf("%d requests were refused, want at most %d: %v", len(refused), tc.refusals, refused)
					}
					if len(watches) < 3 || watches[0] > tc.firstWatchIn {
						t.Errorf("watches after the change at %v, want the first within %s", watches, tc.firstWatchIn)
					}
					if led := stop(); led != tc.leads {
						t.Errorf("it led to the end: %v, want %v", led, tc.leads)
					}
				})
				if s := log.String(); strings.Contains(s, "=first") || strings.Contains(s, "=second") || strings.Count(s, "was replaced") != 1 {
					t.Errorf("log:\n%s", s)
				}
			})
		}
	}
}

// maxPause is client-go's longest pause of a reflector, 30 s, with its jitter.
const maxPause = time.Minute

// runClients starts what talks to the apiserver. The returned function ends it and
// tells whether the elector had led to the end.
func runClients(t *testing.T, cfg *rest.Config) (stop func() bool) {
	t.Helper()
	pods := collector.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	c, err := collector.New(collector.Config{Resources: []collector.Resource{pods}, PlainList: true}, collector.Settings{Client: cfg, Sink: collector.Discard})
	if err != nil {
		t.Fatal(err)
	}
	lc := leader.For(0)
	lc.Namespace, lc.Name, lc.Identity = "default", "l", "me"
	e, err := leader.New(lc, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	collected, led := make(chan error, 1), make(chan error, 1)
	go func() { collected <- c.Run(ctx) }()
	go func() {
		led <- e.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	return func() bool {
		leading := e.Leading()
		cancel()
		if err := <-collected; err != nil {
			t.Errorf("collector: %v", err)
		}
		if err := <-led; err != nil && !errors.Is(err, leader.ErrLost) {
			t.Errorf("elector: %v", err)
		}
		return leading
	}
}

// TestTokenFileUnreadable: what is not there at the start is an error, what goes away
// later is not.
func TestTokenFileUnreadable(t *testing.T) {
	var log bytes.Buffer
	path, configs := tokenFiles(t, slog.New(slog.NewTextHandler(&log, nil)))
	cfg, err := configs["in a pod"]()
	if err != nil {
		t.Fatal(err)
	}
	api := &doorkeeper{valid: "first"}
	cfg.Transport = api
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	status := func() int {
		resp, err := client.Get("https://apiserver.example/api/v1/pods")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for _, tc := range []struct {
		what   string
		do     func() error
		status int
	}{
		{"there", func() error { return nil }, 200},
		{"gone", func() error { return os.Remove(path) }, 200},
		{"empty", func() error { return os.WriteFile(path, []byte("\n"), 0o600) }, 200},
		{"wrong", func() error { return os.WriteFile(path, []byte("third"), 0o600) }, 401},
		{"right again", func() error { return os.WriteFile(path, []byte("first"), 0o600) }, 200},
	} {
		if err := tc.do(); err != nil {
			t.Fatal(err)
		}
		if got := status(); got != tc.status {
			t.Errorf("%s: status %d, want %d", tc.what, got, tc.status)
		}
	}
	if n := strings.Count(log.String(), "the last token for the apiserver is used"); n != 1 {
		t.Errorf("said %d times that the file cannot be read:\n%s", n, log.String())
	}
	for _, content := range []*string{nil, new(string)} {
		_ = os.Remove(path)
		if content != nil {
			if err := os.WriteFile(path, []byte(*content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for how, get := range configs {
			if _, err := get(); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", how, err)
			}
		}
	}
}

// TestStorageTokenIsReplaced: the file's new content counts a second later; what is no token
// leaves the last one in use.
func TestStorageTokenIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		write := func(s string) {
			if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("one\n")
		token, err := storageToken(config.BCS{CustomStorageTokenFile: file}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ write, want string }{{"two", "two"}, {"", "two"}, {"a\nb", "two"}, {"three", "three"}} {
			write(step.write)
			time.Sleep(time.Second)
			if got, err := token(); got != step.want || err != nil {
				t.Errorf("after %q: %q, %v", step.write, got, err)
			}
		}
	})
}
