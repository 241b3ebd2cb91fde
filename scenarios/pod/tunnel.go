package pod

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// tunnel connects to the ports of a Pod through the API server. client-go's PortForwarder would drop all connections
// when the Pod refuses one, as it does while a party does not listen yet.
type tunnel struct {
	at  *Place
	pod string

	mu   sync.Mutex // guards what follows; held while a connection is made
	conn httpstream.Connection
	next int // id of a pair of streams

	heard atomic.Int64 // ns: when bytes came last, or the tunnel was made
}

// silent is how long nothing has come through.
func (t *tunnel) silent() time.Duration { return time.Since(time.Unix(0, t.heard.Load())) }

// connectionLocked returns one that works, as far as is known; the caller holds mu.
func (t *tunnel) connectionLocked() (httpstream.Connection, error) {
	if t.conn != nil {
		select {
		case <-t.conn.CloseChan():
		default:
			return t.conn, nil
		}
	}
	url := t.at.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(t.at.namespace).Name(t.pod).
		SubResource("portforward").URL()
	sockets, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, t.at.cfg)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(t.at.cfg)
	if err != nil {
		return nil, err
	}
	plain := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	dialer := portforward.NewFallbackDialerForStreaming(sockets, plain, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("reach the Pod %s through the API server: %w", t.pod, err)
	}
	t.conn = conn
	return conn, nil
}

// dial connects to the port of an address in the Pod. A refusal shows as the end of what is read.
func (t *tunnel) dial(_ context.Context, _, addr string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	conn, err := t.connectionLocked()
	t.next++
	id := t.next
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, port)
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(id))
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failure, err := conn.CreateStream(headers)
	var data httpstream.Stream
	if err == nil {
		_ = failure.Close()                                 // nothing is written to it
		go func() { _, _ = io.Copy(io.Discard, failure) }() // ends with the connection; unread, it would hold up others
		headers.Set(corev1.StreamType, corev1.StreamTypeData)
		data, err = conn.CreateStream(headers)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &stream{Stream: data, heard: &t.heard, close: func() {
		_ = data.Reset()
		_ = failure.Reset()
		conn.RemoveStreams(data, failure)
	}}, nil
}

// reset drops a connection that does not answer; the next one to open makes another.
func (t *tunnel) reset() {
	if t.mu.TryLock() { // else a new one is being made
		defer t.mu.Unlock()
		if t.conn != nil {
			_ = t.conn.Close()
			t.conn = nil
		}
	}
}

// proxy serves an HTTP proxy on this machine, through which the Pod's ports are asked as if they were local.
func (t *tunnel) proxy(through http.RoundTripper) (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for requests to the Pod %s: %w", t.pod, err)
	}
	server := &http.Server{ReadHeaderTimeout: askTimeout, Handler: &httputil.ReverseProxy{Transport: through,
		Rewrite:  func(*httputil.ProxyRequest) {}, // it has the whole URL
		ErrorLog: log.New(io.Discard, "", 0),      // whoever asked sees it
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "ask the Pod "+t.pod+": "+err.Error(), http.StatusBadGateway)
		}}}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // ends with Close
	return "http://" + listener.Addr().String(), func() {
		_ = server.Close()
		serving.Wait()
	}, nil
}

// stream is one connection in a tunnel.
type stream struct {
	httpstream.Stream
	heard *atomic.Int64
	close func()
	once  sync.Once
}

var _ net.Conn = (*stream)(nil)

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	if n > 0 {
		s.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

func (s *stream) Close() error {
	s.once.Do(s.close)
	return nil
}

func (s *stream) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (s *stream) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (s *stream) SetDeadline(time.Time) error      { return nil } // requests end with their context
func (s *stream) SetReadDeadline(time.Time) error  { return nil }
func (s *stream) SetWriteDeadline(time.Time) error { return nil }
