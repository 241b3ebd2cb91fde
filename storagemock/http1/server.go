package http1

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Handler serves one request. ctx ends when the server must stop at once.
type Handler interface {
	Serve(ctx context.Context, x *Exchange)
}

// HandlerFunc is a Handler.
type HandlerFunc func(ctx context.Context, x *Exchange)

// Serve calls f.
func (f HandlerFunc) Serve(ctx context.Context, x *Exchange) { f(ctx, x) }

// Limits bound what a client can make the server hold.
type Limits struct {
	Body         int64         // bytes of a request's body
	Conns        int           // connections at once; more wait to be accepted
	ReadTimeout  time.Duration // for a head and for a body, once begun
	WriteTimeout time.Duration // for each write of a large answer
	Grace        time.Duration // for requests under way when Run's context ends
}

// DefaultLimits suit a mock beside a watcher. An object of Kubernetes has at most
// 1.5 MiB in etcd; as JSON it is rarely twice that.
func DefaultLimits() Limits {
	return Limits{Body: 8 << 20, Conns: 20000, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, Grace: 10 * time.Second}
}

// Server serves connections of one listener.
type Server struct {
	handler Handler
	limits  Limits
	log     *slog.Logger
	refusal func(status int, text string) (body []byte, contentType string)

	bytesIn, bytesOut atomic.Int64
	accepted          atomic.Int64
	stopping          atomic.Bool
	started           atomic.Bool

	mu    sync.Mutex // guards conns
	conns map[*conn]struct{}
	wg    sync.WaitGroup
}

// New returns a server. Log gets panics of the handler and failures to accept.
func New(h Handler, limits Limits, log *slog.Logger) *Server {
	return &Server{handler: h, limits: limits, log: log, conns: map[*conn]struct{}{}, refusal: plainRefusal}
}

// RefuseWith sets the body of answers to what is not a readable request. Call it
// before Run.
func (s *Server) RefuseWith(f func(status int, text string) (body []byte, contentType string)) {
	s.refusal = f
}

func plainRefusal(_ int, text string) ([]byte, string) {
	return []byte(text + "\n"), "text/plain; charset=utf-8"
}

// Traffic is the number of bytes read and written so far, and of connections
// accepted.
func (s *Server) Traffic() (in, out, conns int64) {
	return s.bytesIn.Load(), s.bytesOut.Load(), s.accepted.Load()
}

// errTwice is returned by a second Run.
var errTwice = errors.New("http1: Run was called before")

// Run accepts and serves until ctx ends; then it lets requests under way finish
// within the grace and returns nil. It closes the listener.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	if s.started.Swap(true) {
		return errTwice
	}
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, func() {
		s.stopping.Store(true)
		_ = l.Close()
		s.closeConns(true)
	})
	defer stop()
	err := s.accept(ctx, hard, l)
	s.stopping.Store(true)
	_ = l.Close()
	s.closeConns(true)

	ended := make(chan struct{})
	go func() { s.wg.Wait(); close(ended) }()
	timer := time.NewTimer(s.limits.Grace)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		cut()
		s.closeConns(false)
		<-ended
	}
	return err
}

// DropConns closes every connection at once, also those with a request under way.
func (s *Server) DropConns() { s.closeConns(false) }

// closeConns closes connections: those between requests, or all.
func (s *Server) closeConns(idleOnly bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if !idleOnly || c.idle.Load() {
			_ = c.Close()
		}
	}
}

func (s *Server) accept(ctx, hard context.Context, l net.Listener) error {
	places := make(chan struct{}, s.limits.Conns) // one per connection
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		nc, err := l.Accept()
		if err != nil {
			<-places
			if ctx.Err() != nil {
				return nil
			}
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() || isTemporary(err) {
				s.log.Warn("accepting a connection", "error", err)
				if !pause(ctx, 10*time.Millisecond) {
					return nil
				}
				continue
			}
			return fmt.Errorf("accepting connections on %s: %w", l.Addr(), err)
		}
		s.accepted.Add(1)
		c := &conn{Conn: nc, srv: s}
		c.idle.Store(true)
		s.mu.Lock()
		s.conns[c] = struct{}{}
		s.mu.Unlock()
		if s.stopping.Load() {
			_ = nc.Close()
		}
		s.wg.Go(func() {
			defer func() { <-places }()
			s.serve(hard, c)
		})
	}
}

func (s *Server) serve(ctx context.Context, c *conn) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in a handler; the connection is dropped", "panic", p, "stack", string(debug.Stack()))
		}
		_ = c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	c.serve(ctx)
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
