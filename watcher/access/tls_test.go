package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/pipetest"
)

// place is where a server's certificate is.
type place struct {
	dir string
	ca  *certs.Authority
	t   *testing.T
}

func newPlace(t *testing.T) *place {
	p := &place{dir: t.TempDir(), t: t}
	p.renew()
	return p
}

func (p *place) file(name string) string { return filepath.Join(p.dir, name) }

// renew replaces the CA and the certificate.
func (p *place) renew() {
	var err error
	if p.ca, err = certs.NewAuthority("ca", time.Hour); err != nil {
		p.t.Fatal(err)
	}
	cert := p.issue(certs.Server{Name: "here", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err := errors.Join(certs.WriteFile(p.file("ca"), p.ca.PEM()), certs.WriteFiles(cert, p.file("cert"), p.file("key"))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) issue(s certs.Server) tls.Certificate {
	cert, err := p.ca.Issue(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return cert
}

func (p *place) config() Config {
	c := guarded()
	c.CertFile, c.KeyFile = p.file("cert"), p.file("key")
	return c
}

// client trusts the CA as it is now.
func (p *place) client(h2 bool, certs ...tls.Certificate) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(p.ca.PEM())
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: certs},
		ForceAttemptHTTP2: h2,
	}}
}

// ask asks once over a connection of its own.
func ask(c *http.Client, url, token string) (code int, proto string, err error) {
	defer c.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Proto, resp.Body.Close()
}

// TestTLS: both protocols, nothing before TLS 1.2, no plain HTTP, and renewed files.
func TestTLS(t *testing.T) {
	p := newPlace(t)
	fake := newFake()
	r, _ := fake.reviewer(t, p.config())
	log := &logged{}
	s := serve(t, p.config(), ServerSettings{Guard: r, Handler: ok, Logger: log.logger()})
	url := "https://" + s.Addr().String()
	for _, h2 := range []bool{false, true} {
		code, proto, err := ask(p.client(h2), url, "good")
		if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]; code != 200 || proto != want {
			t.Errorf("%d %s %v, want %s", code, proto, err, want)
		}
		if code, _, err := ask(p.client(h2), url, ""); code != 401 {
			t.Errorf("%d %v", code, err)
		}
	}
	old := p.client(false)
	old.Transport.(*http.Transport).TLSClientConfig.MinVersion = tls.VersionTLS10
	old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
	if code, _, err := ask(old, url, "good"); err == nil {
		t.Errorf("TLS 1.1: %d", code)
	}
	if code, _, err := ask(http.DefaultClient, "http://"+s.Addr().String(), "good"); code == 200 {
		t.Errorf("plain HTTP: %d %v", code, err)
	}
	before := p.client(true)
	p.renew()
	deadline := time.Now().Add(10 * fileAge)
	for {
		code, _, err := ask(p.client(true), url, "good")
		if err == nil && code == 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the renewed certificate is not served: %v", err)
		}
	}
	if code, _, err := ask(before, url, "good"); err == nil {
		t.Errorf("the certificate before is still served: %d", code)
	}
	if err := os.Remove(p.file("key")); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(log.String(), "cannot be read") {
		if code, _, err := ask(p.client(true), url, "good"); err != nil || code != 200 {
			t.Fatal("while the key is gone:", code, err)
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is logged")
		}
	}
}

// TestWatchLastsOverHTTP2: what bounds a request's time does not end an answer that lasts.
func TestWatchLastsOverHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, network := newPlace(t), pipetest.Listen()
		r, _ := newFake().reviewer(t, p.config())
		ctx, cancel := context.WithCancel(t.Context())
		server, err := NewServer(ctx, p.config(), ServerSettings{Guard: r, Listen: func(string) (net.Listener, error) { return network, nil }, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(time.Minute):
					_, _ = io.WriteString(w, "x")
					_ = http.NewResponseController(w).Flush()
				}
			}
		})})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- server.Run(ctx) }()
		c := p.client(true)
		c.Transport.(*http.Transport).DialContext = network.Dial
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			req := must(http.NewRequest(method, "https://127.0.0.1", strings.NewReader("x")))
			req.Header.Set("Authorization", "Bearer good")
			resp := must(c.Do(req))
			if n, err := io.ReadFull(resp.Body, make([]byte, 60)); err != nil || resp.ProtoMajor != 2 {
				t.Errorf("%s over %s: ended after %d minutes: %v", method, resp.Proto, n, err)
			}
			_ = resp.Body.Close()
		}
		c.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
