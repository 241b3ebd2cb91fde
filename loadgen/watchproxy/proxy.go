package watchproxy

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
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
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/watchfault"
)

const (
	dialTimeout   = 10 * time.Second
	keepAlive     = 15 * time.Second
	headerTimeout = 10 * time.Second
	// certLife is longer than any run.
	certLife = 30 * 24 * time.Hour
	// adminGrace is for admin requests under way at the end.
	adminGrace = 2 * time.Second
)

// ErrRunTwice is returned by the second Run.
var ErrRunTwice = errors.New("the proxy has been run already; make a new one")

// Proxy is one proxy before one apiserver.
type Proxy struct {
	faults    *watchfault.Injector
	logger    *slog.Logger
	target    *url.URL
	transport http.RoundTripper
	pass      bool // requests say who sends them
	token     string
	gate      *faultlist.Gate
	tls       *tls.Config // nil: plain HTTP
	ca        []byte      // PEM; nil without TLS
	admin     net.Listener
	host      string // as in Config.Listen

	mu       sync.Mutex
	ran      bool           // guarded by mu
	shut     bool           // guarded by mu: no more requests
	handlers sync.WaitGroup // requests being served; raised under mu
}

// New makes a proxy that listens already; requests wait until Run. Close what is
// never run.
func New(c Config, s Settings) (*Proxy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("watchproxy: %w", err)
	}
	if s.REST == nil {
		return nil, errors.New("watchproxy: settings have no REST: want how to reach the apiserver")
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{faults: watchfault.NewInjector(c.Seed), logger: s.Logger, token: rand.Text()}
	if c.Hold {
		p.faults.Hold()
	}
	if err := p.faults.Add(c.Faults); err != nil {
		return nil, fmt.Errorf("watchproxy: %w", err)
	}
	if p.pass = c.PassAuthorization; p.pass {
		s.REST = rest.AnonymousClientConfig(s.REST)
	}
	if err := p.connect(s.REST); err != nil {
		return nil, fmt.Errorf("watchproxy: %w", err)
	}
	if err := p.listen(c); err != nil {
		return nil, fmt.Errorf("watchproxy: %w", errors.Join(err, p.Close()))
	}
	return p, nil
}

// connect prepares the way to the apiserver. HTTP/1.1 gives each watch a connection
// of its own.
func (p *Proxy) connect(base *rest.Config) error {
	cfg := rest.CopyConfig(base)
	cfg.Timeout = 0 // watches last
	cfg.DisableCompression = true
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.Transport == nil && cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	var err error
	if p.transport, err = rest.TransportFor(cfg); err != nil {
		return fmt.Errorf("prepare the connection to the apiserver: %w", err)
	}
	if p.target, _, err = rest.DefaultServerUrlFor(cfg); err != nil {
		return fmt.Errorf("address of the apiserver: %w", err)
	}
	return nil
}

func (p *Proxy) listen(c Config) error {
	var err error
	if p.host, _, err = net.SplitHostPort(c.Listen); err != nil {
		return err
	}
	if c.TLS {
		authority, err := certs.NewAuthority("watchproxy CA", certLife)
		if err != nil {
			return err
		}
		server := certs.Server{Name: "watchproxy", DNSNames: []string{"localhost"}}
		if ip := net.ParseIP(p.host); ip != nil {
			server.IPs = []net.IP{ip}
		}
		cert, err := authority.Issue(server)
		if err != nil {
			return err
		}
		p.ca = authority.PEM()
		p.tls = &tls.Config{
			Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		}
	}
	if p.gate, err = faultlist.NewGate(c.Listen, faultlist.GateSettings{Reset: true, Listen: faultlist.TCP}); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if c.Admin == "" {
		return nil
	}
	if p.admin, err = net.Listen("tcp", c.Admin); err != nil {
		return fmt.Errorf("admin API: %w", err)
	}
	return nil
}

// Close gives up the addresses of a proxy that is not run.
func (p *Proxy) Close() error {
	var errs []error
	if p.gate != nil {
		errs = append(errs, p.gate.Close())
	}
	if p.admin != nil {
		errs = append(errs, p.admin.Close())
	}
	return errors.Join(errs...)
}

// Addr is where the watcher connects to.
func (p *Proxy) Addr() string { return p.gate.Addr().String() }

// AdminAddr is where the admin API listens, empty without one.
func (p *Proxy) AdminAddr() string {
	if p.admin == nil {
		return ""
	}
	return p.admin.Addr().String()
}

// Faults are those in force.
func (p *Proxy) Faults() *watchfault.Injector { return p.faults }

// Run serves until ctx ends. Open watches are cut then.
func (p *Proxy) Run(ctx context.Context) error {
	p.mu.Lock()
	if p.ran {
		p.mu.Unlock()
		return ErrRunTwice
	}
	p.ran = true
	p.mu.Unlock()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.refuseOnTime(ctx) })
	group.Go(func() error { return p.serve(ctx) })
	if p.admin != nil {
		group.Go(func() error { return p.serveAdmin(ctx) })
	}
	err := group.Wait()
	utilnet.CloseIdleConnectionsFor(p.transport)
	return err
}

func (p *Proxy) serve(ctx context.Context) error {
	logs := slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug) // broken connections are expected
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
		ReadHeaderTimeout: headerTimeout, ErrorLog: logs,
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
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.handlers.Add(1)
	}
	return !p.shut
}

// prefix is the path below which the apiserver is served. It holds the token: with
// plain HTTP client-go sends no token of a kubeconfig otherwise.
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

func (p *Proxy) serveAdmin(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("/", p.faults.AdminHandler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	logs := slog.NewLogLogger(p.logger.Handler(), slog.LevelWarn)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ErrorLog: logs}
	if err := lifecycle.Serve(ctx, srv, lifecycle.Bound(p.admin, lifecycle.AdminBounds), adminGrace); err != nil {
		return fmt.Errorf("admin API: %w", err)
	}
	return nil
}

// Config is how a client in this process reaches the proxy.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.url(), TLSClientConfig: rest.TLSClientConfig{CAData: p.ca}}
}

func (p *Proxy) url() string {
	scheme := "http"
	if p.tls != nil {
		scheme = "https"
	}
	_, port, _ := net.SplitHostPort(p.Addr()) // made by a listener
	return scheme + "://" + net.JoinHostPort(p.host, port) + p.prefix()
}

// kubeconfigName names the only cluster, user and context of the kubeconfig.
const kubeconfigName = "watchproxy"

// WriteKubeconfig writes a kubeconfig that leads to the proxy, readable by its owner
// only.
func (p *Proxy) WriteKubeconfig(path string) error {
	return kubeapi.WriteConfig(path, kubeapi.ConfigFor(kubeconfigName, p.Config()))
}

// Written reports whether the file at path is a kubeconfig that a Proxy wrote, and
// nothing else: no other cluster, user or context is in it.
func Written(path string) bool {
	cfg, err := clientcmd.LoadFromFile(path)
	return err == nil && len(cfg.Clusters) == 1 && len(cfg.AuthInfos) == 1 && len(cfg.Contexts) == 1 &&
		cfg.Clusters[kubeconfigName] != nil && cfg.AuthInfos[kubeconfigName] != nil && cfg.Contexts[kubeconfigName] != nil
}

// reopenRetry is the time between attempts to listen again on the same port.
const reopenRetry = 100 * time.Millisecond

// refuseOnTime shuts and opens the port according to the faults until ctx ends.
func (p *Proxy) refuseOnTime(ctx context.Context) error {
	refusing := false
	for {
		refuse, edge, changed := p.faults.Refusal()
		timer := time.NewTimer(time.Until(edge))
		if edge.IsZero() {
			timer.Stop()
		}
		if refuse != refusing {
			if err := p.gate.Refuse(refuse); err != nil {
				p.logger.Warn("accepting connections again", "error", err)
				timer.Reset(reopenRetry)
			} else {
				refusing = refuse
				p.logger.Info("connections", "refused", refuse)
			}
		}
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}
