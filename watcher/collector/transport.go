package collector

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/call"
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

// connect makes the HTTP client of all kinds. Answers are not compressed: the
// apiserver is near, and gzip costs more CPU on both sides than the bytes are worth.
func connect(cfg *rest.Config, c Config, m *metrics) (*connection, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0 // watches last
	cfg.DisableCompression = true
	// Each watch has a connection of its own: cheaper per byte than HTTP/2, and a kind that is held
	// back holds back no other.
	cfg.NextProtos = []string{"http/1.1"}
	if cfg.Transport == nil {
		dial := dialFunc(cfg.Dial)
		if dial == nil {
			dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
		}
		cfg.Dial = metered(dial, c.ReadPace, &m.bytesIn, &m.bytesOut)
	}
	client, base, err := call.APIServer(cfg)
	if err != nil {
		return nil, err
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
	req.Header.Set("Accept-Encoding", "identity") // without it a gateway may take any for accepted (RFC 9110 §12.5.3)
	return c.client.Do(req)
}

// closeIdle ends the connections that are kept for a next request, behind whatever client-go has wrapped around them.
func (c *connection) closeIdle() { utilnet.CloseIdleConnectionsFor(c.client.Transport) }
