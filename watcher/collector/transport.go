package collector

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const (
	dialTimeout = 10 * time.Second
	// keepAlive notices a peer that vanished without a word.
	keepAlive = 15 * time.Second
)

// connection is how to talk to the apiserver.
type connection struct {
	client *http.Client
	base   *url.URL
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// connect makes the HTTP client of all kinds. Answers are not compressed: the
// apiserver is near, and gzip costs more CPU on both sides than the bytes are worth.
func connect(cfg *rest.Config, c Config, m *metrics) (*connection, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0 // watches last
	cfg.DisableCompression = true
	if !c.HTTP2 {
		cfg.NextProtos = []string{"http/1.1"}
	}
	if cfg.Transport == nil {
		dial := dialFunc(cfg.Dial)
		if dial == nil {
			dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
		}
		cfg.Dial = countBytes(dial, m.bytesIn, m.bytesOut)
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for the apiserver: %w", err)
	}
	secure := len(cfg.CAFile) > 0 || len(cfg.CAData) > 0 || len(cfg.CertFile) > 0 || len(cfg.CertData) > 0 || cfg.Insecure
	base, _, err := rest.DefaultServerURL(cfg.Host, "", schema.GroupVersion{}, secure)
	if err != nil {
		return nil, fmt.Errorf("address of the apiserver: %w", err)
	}
	return &connection{client: client, base: base}, nil
}

// get requests path below the apiserver's base. The caller closes the body.
func (c *connection) get(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	return c.client.Do(req)
}

// countBytes makes connections that count what passes: the bytes on the wire, TLS
// and headers included.
func countBytes(dial dialFunc, in, out prometheus.Counter) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countingConn{Conn: c, in: in, out: out}, nil
	}
}

type countingConn struct {
	net.Conn
	in, out prometheus.Counter
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.in.Add(float64(n))
	return n, err
}

func (c *countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.out.Add(float64(n))
	return n, err
}
