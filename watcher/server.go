package watcher

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

// closeGrace is how long requests to the health and metrics servers may take
// once the process ends.
const closeGrace = time.Second

// serverConnections bounds the connections of the health and the metrics server each. One more
// evicts another, so that a probe gets through (lifecycle.Bounds.Evict).
const serverConnections = 128

// serverPatience is how long a client may take to accept 64 KiB from them.
const serverPatience = 10 * time.Second

// server is an HTTP server whose address is bound when it is made, so that a port in use fails the start.
type server struct {
	listener net.Listener
	http     http.Server
}

type listenFunc = func(address string) (net.Listener, error)

func listenTCP(addr string) (net.Listener, error) {
	return net.Listen("tcp", addr) //nolint:noctx // binding does not block
}

// inUse adds the remedy where another process has the port, and names the key of an unknown host; section is the
// prefix of the keys port and address.
func inUse(err error, section, port string) error {
	if unknown, is := errors.AsType[*net.DNSError](err); is {
		return &InputError{Key: section + "address", Err: unknown}
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("%w: another process has it; give the key %s another port, or the key %saddress another address",
		err, section+port, section)
}

// bind binds a port for a handler; listen nil is TCP, tlsConfig nil plain HTTP.
func bind(listen listenFunc, address string, port uint16, tlsConfig *tls.Config, h http.Handler) (*server, error) {
	if listen == nil {
		listen = listenTCP
	}
	l, err := listen(net.JoinHostPort(address, strconv.Itoa(int(port))))
	if err != nil {
		return nil, err
	}
	b := lifecycle.Bound(l, lifecycle.Bounds{Connections: serverConnections, Patience: serverPatience, Evict: true})
	l = b
	if tlsConfig != nil {
		l = b.Secure(tlsConfig)
	}
	return &server{listener: l, http: http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}}, nil
}

// close frees the address where Run was never reached.
func (s *server) close() { _ = s.listener.Close() }

// Run serves until ctx ends.
func (s *server) Run(ctx context.Context) error {
	return lifecycle.Serve(ctx, &s.http, s.listener, closeGrace)
}

// healthHandler answers /healthz while the process lives and /readyz once ready
// says so, with what ails it all the same on further lines; with debug it serves pprof too.
func healthHandler(ready func() error, ails func() []error, debug bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, badinput.Redact(err.Error()), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok"))
		for _, err := range ails() {
			_, _ = fmt.Fprintf(w, "\n%v", badinput.Redacted(err))
		}
	})
	if debug {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// metricsHandler makes one answer at a time, in memory: a client that does not read holds its text, not what was
// gathered, and no other up.
func metricsHandler(g prometheus.Gatherer) http.Handler {
	turn := make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		select {
		case turn <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		work := lifecycle.BeginWork()
		text, err := exposition(g)
		work.Rest() // constant scraping must not take the processor
		<-turn
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
		_, _ = w.Write(text)
	})
	return mux
}

func exposition(g prometheus.Gatherer) ([]byte, error) {
	families, err := g.Gather()
	var text bytes.Buffer
	for _, f := range families {
		_, failed := expfmt.MetricFamilyToText(&text, f)
		err = errors.Join(err, failed)
	}
	return text.Bytes(), err
}
