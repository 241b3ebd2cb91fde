package watchfault

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	dialTimeout = 10 * time.Second
	keepAlive   = 15 * time.Second
	// certLife is longer than any run.
	certLife = 30 * 24 * time.Hour
	// adminGrace is for admin requests under way at the end.
	adminGrace = 2 * time.Second

	loopback = "127.0.0.1:0"
)

// ProxyConfig configures a Proxy.
type ProxyConfig struct {
	Faults string `json:"faults"` // in force from the start
	Hold   bool   `json:"hold"`   // they fire after the admin API's start only
	Seed   uint64 `json:"seed"`
	// OwnRights has the proxy serve TLS, send what a request says of its sender on to the apiserver, and show nothing
	// of its own rights. Otherwise it serves plain HTTP and lends its rights.
	OwnRights bool `json:"ownRights"`
}

// Proxy stands between a watcher and a real apiserver, on loopback, and injects faults.
//
//  1. Without a fault in force, everything passes as the apiserver and the client sent it, frame by frame and without
//     delay.
//  2. Each connection of a client's watch is one of the proxy's own to the apiserver, so that a slow reader here is a
//     slow reader there.
//  3. While connections are refused nobody listens: they fail as they would if the apiserver's process were gone, and
//     open ones are reset. A client's connections are also reset while the apiserver cannot be reached.
//  4. Requests need the token in the path of the written kubeconfig's server.
type Proxy struct {
	faults    *Injector
	logger    *slog.Logger
	target    *url.URL
	transport http.RoundTripper
	pass      bool // requests name their sender
	token     string
	gate      *faultlist.Gate
	tls       *tls.Config // nil: plain HTTP
	ca        []byte      // PEM; nil without TLS
	admin     net.Listener

	mu       sync.Mutex
	shut     bool           // guarded by mu: no more requests
	handlers sync.WaitGroup // requests being served; raised under mu
}

// NewProxy makes a proxy that listens already; requests wait until Run, which is called once.
func NewProxy(c ProxyConfig, to *rest.Config, logger *slog.Logger) (*Proxy, error) {
	p := &Proxy{faults: NewInjector(c.Seed), logger: logger, token: rand.Text(), pass: c.OwnRights}
	if c.Hold {
		p.faults.Hold()
	}
	if err := p.faults.Add(c.Faults); err != nil {
		return nil, err
	}
	if p.pass {
		to = rest.AnonymousClientConfig(to)
	}
	if err := p.connect(to); err != nil {
		return nil, err
	}
	if err := p.listen(); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return p, nil
}

// connect prepares the way to the apiserver. HTTP/1.1 gives each watch a connection of its own.
func (p *Proxy) connect(base *rest.Config) (err error) {
	cfg := rest.CopyConfig(base)
	cfg.Timeout = 0 // watches last
	cfg.DisableCompression = true
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.Transport == nil && cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	if p.transport, err = rest.TransportFor(cfg); err != nil {
		return fmt.Errorf("prepare the connection to the apiserver: %w", err)
	}
	if p.target, _, err = rest.DefaultServerUrlFor(cfg); err != nil {
		return fmt.Errorf("address of the apiserver: %w", err)
	}
	return nil
}

func (p *Proxy) listen() (err error) {
	if p.pass {
		authority, err := certs.NewAuthority("watchproxy CA", certLife)
		if err != nil {
			return err
		}
		cert, err := authority.Issue(certs.Server{Name: "watchproxy", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
		if err != nil {
			return err
		}
		p.ca = authority.PEM()
		p.tls = &tls.Config{
			Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		}
	}
	if p.gate, err = faultlist.NewGate(loopback, faultlist.GateSettings{Reset: true, Listen: faultlist.TCP}); err != nil {
		return err
	}
	if p.admin, err = net.Listen("tcp", loopback); err != nil {
		return errors.Join(err, p.gate.Close())
	}
	return nil
}

// Addr is where the watcher connects to.
func (p *Proxy) Addr() string { return p.gate.Addr().String() }

// AdminAddr is where the admin API is.
func (p *Proxy) AdminAddr() string { return p.admin.Addr().String() }

// Faults are those in force.
func (p *Proxy) Faults() *Injector { return p.faults }

// Run serves until ctx ends. Open watches are cut then. It returns after all its goroutines have ended.
func (p *Proxy) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.faults.RefuseOnTime(ctx, p.logger, func(string) {}, p.gate) })
	group.Go(func() error { return p.serve(ctx) })
	group.Go(func() error {
		api := &http.Server{Handler: p.faults.AdminHandler(), ErrorLog: slog.NewLogLogger(p.logger.Handler(), slog.LevelWarn)}
		return lifecycle.Serve(ctx, api, lifecycle.Bound(p.admin, lifecycle.AdminBounds), adminGrace)
	})
	err := group.Wait()
	utilnet.CloseIdleConnectionsFor(p.transport)
	return err
}

func (p *Proxy) serve(ctx context.Context) error {
	wrapped := http.StripPrefix(p.prefix(), p.faults.Wrap(p.reverse()))
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !p.enter() {
				panic(http.ErrAbortHandler)
			}
			defer p.handlers.Done()
			if !p.knows(r) {
				kubeapi.WriteStatus(w, apierrors.NewUnauthorized(
					"use the server of the kubeconfig that the proxy wrote, its path included"))
				return
			}
			wrapped.ServeHTTP(w, r)
		}),
		ErrorLog: slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug), // broken connections are expected
	}
	var l net.Listener = p.gate
	if p.tls != nil {
		l = tls.NewListener(l, p.tls)
	}
	err := lifecycle.Serve(ctx, srv, l, 0)
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.handlers.Wait()
	return err
}

func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.handlers.Add(1)
	}
	return !p.shut
}

// prefix is the path below which the apiserver is served. It holds the token: with plain HTTP client-go sends no token
// of a kubeconfig otherwise.
func (p *Proxy) prefix() string { return "/" + p.token }

// knows reports whether a request's path begins with the token.
func (p *Proxy) knows(r *http.Request) bool {
	given, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return rest != "" && subtle.ConstantTimeCompare([]byte(given), []byte(p.token)) == 1
}

// reverse passes requests on with the proxy's own rights, or those of the sender.
func (p *Proxy) reverse() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.target)
			if p.pass {
				return
			}
			r.Out.Header.Del("Authorization") // the transport adds the right one
			for name := range r.Out.Header {
				if strings.HasPrefix(name, "Impersonate-") {
					r.Out.Header.Del(name)
				}
			}
		},
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug),
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				p.logger.Warn("the apiserver did not answer", "path", r.URL.Path, "error", err)
			}
			panic(http.ErrAbortHandler)
		},
	}
}

// Config is how a client reaches the proxy.
func (p *Proxy) Config() *rest.Config {
	scheme := "http"
	if p.tls != nil {
		scheme = "https"
	}
	return &rest.Config{Host: scheme + "://" + p.Addr() + p.prefix(), TLSClientConfig: rest.TLSClientConfig{CAData: p.ca}}
}
