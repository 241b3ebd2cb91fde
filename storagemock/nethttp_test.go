package storagemock

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/storagemock/http1"
)

// ServeNetHTTP serves PUTs over net/http as the server's own loop does: same
// routing, store, ledger and metrics. It is the other half of BenchmarkPut.
func ServeNetHTTP(ctx context.Context, s *Server, l net.Listener) error {
	srv := &http.Server{ReadTimeout: 30 * time.Second, IdleTimeout: -1, Handler: http.HandlerFunc(s.netHTTPPut)}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *Server) netHTTPPut(w http.ResponseWriter, r *http.Request) {
	path, query, _ := strings.Cut(r.RequestURI, "?")
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	x := &http1.Exchange{Request: http1.Request{Method: r.Method, Path: path, Query: query, Body: body, Received: time.Now()}}
	c, rep, ok := newCall(x, 0)
	if !ok {
		w.WriteHeader(rep.status)
		return
	}
	rep = s.apply(&c, s.clock.Now())
	now := s.clock.Now()
	s.answered(rep, now.UnixNano(), rep.status)
	s.metrics.count(c.method, c.key.Kind, rep.outcome(&c), now.Sub(c.received))
	w.Header()["Content-Type"] = []string{contentType}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(rep.body))}
	w.WriteHeader(rep.status)
	_, err := w.Write(rep.body)
	if errors.Join(err, rc.Flush()) != nil {
		s.answered(rep, 0, 0)
	}
}
