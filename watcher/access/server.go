package access

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/setting"
)

// Bounds of what a client may send and how long it may take.
const (
	headerTimeout = lifecycle.HandshakeTimeout
	readTimeout   = 10 * time.Second // header and body; net/http ends it with the body, so that watches last
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10 // bytes
	maxBody       = 64 << 10 // bytes
	// writePatience is how long a client may take to accept 64 KiB of an answer.
	writePatience = 30 * time.Second
	// maxStreams are requests at a time on one HTTP/2 connection. net/http ends a connection
	// on which four times as many wait, as they do when a client opens and resets them.
	maxStreams = 100
	// pingAfter silence an HTTP/2 client is asked whether it is still there.
	pingAfter = 30 * time.Second
	// fileAge is how old a certificate may be that was read from a file: not each of many handshakes reads it.
	fileAge = time.Second
	// closeGrace is how long requests may take once the process ends.
	closeGrace = time.Second
)

// ServerSettings are passed by code.
type ServerSettings struct {
	Logger *slog.Logger // nil: no logs
	// Handler gets requests whose sender is known: Guard.Authenticate is then quick and succeeds.
	Handler http.Handler
	Guard   Guard
	// Listen replaces the network, for tests in virtual time; nil is TCP.
	Listen func(address string) (net.Listener, error)
}

// Server carries the API. Its address is bound when it is made, so that a port in use ends the start, not the run.
type Server struct {
	http     http.Server
	listener net.Listener
	guard    Guard
	ran      atomic.Bool
}

// NewServer binds the address. It refuses one beyond loopback without TLS or
// authentication, whatever the configuration says that the guard was made of.
func NewServer(ctx context.Context, c Config, s ServerSettings) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	_, unguarded := s.Guard.(open)
	if unguarded != (c.Authentication == None) {
		return nil, fmt.Errorf("authentication: %s, and the guard is another's", c.Authentication)
	}
	serving, err := serverTLS(c, s.Logger)
	if err != nil {
		return nil, err
	}
	host := c.Address
	if host == localhost {
		host = "127.0.0.1"
	}
	listen := s.Listen
	if listen == nil {
		listen = func(address string) (net.Listener, error) {
			return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		}
	}
	l, err := listen(net.JoinHostPort(host, strconv.Itoa(int(c.Port))))
	if err != nil {
		return nil, err
	}
	b := lifecycle.Bound(l, lifecycle.Bounds{Connections: c.MaxConnections, Patience: writePatience})
	l = b
	if serving != nil {
		l = b.Secure(serving) // outside: conn writes its records
	}
	f := front{next: s.Handler, guard: s.Guard, hosts: unguarded}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true) // over TLS only
	return &Server{
		listener: l, guard: s.Guard,
		http: http.Server{
			Handler: f, TLSConfig: serving, Protocols: protocols,
			ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
			HTTP2: &http.HTTP2Config{
				MaxConcurrentStreams: maxStreams, MaxReadFrameSize: 16 << 10,
				MaxReceiveBufferPerConnection: 2 * maxBody, MaxReceiveBufferPerStream: maxBody,
				SendPingTimeout: pingAfter, WriteByteTimeout: writePatience,
			},
			ErrorLog: log.New(complaints{s.Logger}, "", 0),
		},
	}, nil
}

// CheckFiles reads the files that NewServer would.
func (c Config) CheckFiles() error {
	_, err := serverTLS(c, slog.New(slog.DiscardHandler))
	return err
}

// serverTLS is nil without a certificate.
func serverTLS(c Config, log *slog.Logger) (*tls.Config, error) {
	if c.CertFile == "" {
		return nil, nil
	}
	protocols := []string{"h2", "http/1.1"}
	load := func() (*tls.Config, error) {
		cert, err := setting.Pair(c.CertFile, c.KeyFile, "")
		if err != nil {
			return nil, fmt.Errorf("certFile, keyFile: %w", err)
		}
		t := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: protocols}
		return t, nil
	}
	t, err := setting.ServerTLS(load, fileAge, log)
	if err == nil {
		t.NextProtos = protocols
	}
	return t, err
}

// Addr is the address that is bound.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close frees the address where Run was never reached.
func (s *Server) Close() { _ = s.listener.Close() }

// Run serves until ctx ends. It refuses a second call.
func (s *Server) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("access: Run called twice")
	}
	if g, ok := s.guard.(interface{ CloseIdleConnections() }); ok {
		defer g.CloseIdleConnections()
	}
	return lifecycle.Serve(ctx, &s.http, s.listener, closeGrace)
}

// complaints takes net/http's log: a handler's panic is an error, a client's mistake is logged at debug level.
type complaints struct{ log *slog.Logger }

func (c complaints) Write(p []byte) (int, error) {
	level := slog.LevelDebug
	if strings.Contains(string(p), "panic serving") {
		level = slog.LevelError
	}
	c.log.Log(context.Background(), level, strings.TrimSpace(string(p)))
	return len(p), nil
}
