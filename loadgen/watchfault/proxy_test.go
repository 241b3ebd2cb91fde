package watchfault_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/watchfault"
)

// proxied is a simulated apiserver over TLS that wants a token, a proxy before it, and a client of the proxy.
type proxied struct {
	t      *testing.T
	sim    *apisim.Server
	proxy  *watchfault.Proxy
	client *http.Client
	stop   func()
}

func newProxied(t *testing.T, c watchfault.ProxyConfig) *proxied {
	t.Helper()
	sim, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, user := "Bearer upstream", ""
		if c.OwnRights {
			want, user = "Bearer stranger", "root"
		}
		if r.Header.Get("Authorization") != want || r.Header.Get("Impersonate-User") != user || r.ProtoMajor != 1 {
			t.Errorf("%s %s: %v", r.Proto, r.URL, r.Header)
		}
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	proxy, err := watchfault.NewProxy(c, &rest.Config{
		Host: upstream.URL, BearerToken: "upstream", TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(proxy.Config())
	if err != nil {
		t.Fatal(err)
	}
	w := &proxied{t: t, sim: sim, proxy: proxy, client: client}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- proxy.Run(ctx) }()
	w.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		done <- nil
		client.CloseIdleConnections()
	}
	t.Cleanup(w.stop)
	return w
}

func (w *proxied) put(name string) {
	w.t.Helper()
	if _, err := w.sim.Apply("pods", fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":%q}}`, name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *proxied) add(faults string) {
	w.t.Helper()
	if err := w.proxy.Faults().Add(faults); err != nil {
		w.t.Fatal(err)
	}
}

func (w *proxied) get(query string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.proxy.Config().Host+"/api/v1/pods"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer stranger")
	req.Header.Set("Impersonate-User", "root")
	return w.client.Do(req)
}

func configs(t *testing.T, run func(t *testing.T, c watchfault.ProxyConfig)) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%t", secure), func(t *testing.T) {
			c := watchfault.ProxyConfig{Seed: 1}
			c.OwnRights = secure
			run(t, c)
		})
	}
}

// TestWhoseRights: the proxy lends its certificate and takes the sender's token away, or passes the token on and shows
// no certificate.
func TestWhoseRights(t *testing.T) {
	for _, pass := range []bool{false, true} {
		t.Run(fmt.Sprint("pass=", pass), func(t *testing.T) {
			var token string
			var certificates int
			upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				token, certificates = r.Header.Get("Authorization"), len(r.TLS.PeerCertificates)
				w.WriteHeader(http.StatusUnauthorized)
			}))
			upstream.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
			upstream.StartTLS()
			defer upstream.Close()
			pair := upstream.TLS.Certificates[0] // any will do
			key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
			if err != nil {
				t.Fatal(err)
			}
			proxy, err := watchfault.NewProxy(watchfault.ProxyConfig{OwnRights: pass}, &rest.Config{Host: upstream.URL, TLSClientConfig: rest.TLSClientConfig{
				Insecure: true,
				CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
				KeyData:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
			}}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			client, err := rest.HTTPClientFor(proxy.Config())
			if err != nil {
				t.Fatal(err)
			}
			w := &proxied{t: t, proxy: proxy, client: client}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- proxy.Run(ctx) }()
			defer func() {
				client.CloseIdleConnections()
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			resp, err := w.get("")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("status %d: the apiserver's answer did not come through", resp.StatusCode)
			}
			want, shown := "", 1
			if pass {
				want, shown = "Bearer stranger", 0
			}
			if token != want || certificates != shown {
				t.Errorf("the apiserver saw %q and %d certificates, want %q and %d", token, certificates, want, shown)
			}
		})
	}
}

// TestResetsAreResets: a connection that is reset looks so over real sockets, before the answer and within it.
func TestResetsAreResets(t *testing.T) {
	configs(t, func(t *testing.T, c watchfault.ProxyConfig) {
		w := newProxied(t, c)
		w.put("p")
		resp, err := w.get("?watch=1&resourceVersion=1000")
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(resp.Body)
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, `"ADDED"`) {
			t.Fatalf("%s %v", line, err)
		}
		w.add("reset(verb=watch|list)")
		if _, err := in.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("an open watch: %v", err)
		}
		_ = resp.Body.Close()
		if _, err := w.get(""); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a list: %v", err)
		}
	})
}

// idleConn is a connection that the proxy has accepted: one answer came over it.
func idleConn(t *testing.T, addr string, useTLS bool) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if useTLS {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: proxy\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestGoneIsRefused(t *testing.T) {
	configs(t, func(t *testing.T, c watchfault.ProxyConfig) {
		w := newProxied(t, c)
		addr := w.proxy.Addr()
		resp, err := w.get("?watch=1&resourceVersion=1000")
		if err != nil {
			t.Fatal(err)
		}
		idle := idleConn(t, addr, c.OwnRights)
		defer func() { _ = idle.Close() }()
		start := time.Now()
		w.add("gone(500ms)")
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("an open watch: %v", err)
		}
		_ = resp.Body.Close()
		if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("an idle connection: %v", err)
		}
		if _, err := w.get(""); !errors.Is(err, syscall.ECONNREFUSED) && time.Since(start) < 400*time.Millisecond {
			t.Errorf("a new connection: %v", err)
		}
		for {
			resp, err := w.get("")
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				break
			}
			if time.Since(start) > 10*time.Second {
				t.Fatalf("never came back: %v", err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Since(start); d < 500*time.Millisecond {
			t.Errorf("back after %s", d)
		}
		if f := w.proxy.Faults().List()[0]; f.Fired != 1 {
			t.Errorf("%+v", f)
		}
	})
}

// TestEndWithOpenWatches: Run returns although watches are open, silent ones too.
func TestEndWithOpenWatches(t *testing.T) {
	configs(t, func(t *testing.T, c watchfault.ProxyConfig) {
		c.Faults = "silent:50%"
		w := newProxied(t, c)
		for range 8 {
			resp, err := w.get("?watch=1&resourceVersion=1000")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
		}
		w.put("p")
		start := time.Now()
		w.stop()
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

// TestOneSlowReader: a client that does not read holds back its own watch only, and the proxy keeps no more than what
// is on the wire.
func TestOneSlowReader(t *testing.T) {
	w := newProxied(t, watchfault.ProxyConfig{Seed: 1})
	slow, err := w.get("?watch=1&resourceVersion=1000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Body.Close() }()
	quick, err := w.get("?watch=1&resourceVersion=1000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = quick.Body.Close() }()
	in := bufio.NewReader(quick.Body)
	big := strings.Repeat("x", 1<<20)
	for i := range 20 {
		if _, err := w.sim.Apply("pods", fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"p%d"},"data":%q}`, i, big)); err != nil {
			t.Fatal(err)
		}
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, fmt.Sprintf(`"p%d"`, i)) {
			t.Fatalf("event %d: %.80s %v", i, line, err)
		}
	}
}

func TestUnreachableApiserver(t *testing.T) {
	proxy, err := watchfault.NewProxy(watchfault.ProxyConfig{Seed: 1}, &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- proxy.Run(ctx) }()
	if resp, err := http.Get(proxy.Config().Host + "/api/v1/pods"); err == nil {
		t.Errorf("%s from nowhere", resp.Status)
		_ = resp.Body.Close()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}
