package storage

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config holds the user's settings.
type Config struct {
	// Endpoints are scheme://host:port, http or https, no path. None is allowed
	// where SetEndpoints gives them later.
	Endpoints []string
	ClusterID string
	// Conditional makes a Delete name the uid it means. bcs-storage as it is obeys
	// nothing else of a precondition; the mock's conditional mode does.
	Conditional bool
	// Timeout bounds one request from its first byte written to its last byte read.
	Timeout time.Duration
	// DialTimeout bounds connecting, TLS included.
	DialTimeout time.Duration
	// MaxIdle is how many idle connections are kept per endpoint. In-flight
	// requests are bounded by the pipeline's workers, so connections are too.
	MaxIdle int
	// IdleTimeout closes connections that were not used for so long. It is shorter
	// than what servers use, so that the client closes first.
	IdleTimeout time.Duration
	// MaxResponse bounds the answer that is read, in bytes.
	MaxResponse int64
}

// Default values; the timeouts are the original client's (contract §1.4).
const (
	DefaultTimeout     = 5 * time.Second
	DefaultDialTimeout = 5 * time.Second
	DefaultMaxIdle     = 512
	DefaultIdleTimeout = 30 * time.Second
	DefaultMaxResponse = 64 << 20
)

// Default is a Config without endpoints and cluster.
func Default() Config {
	return Config{
		Timeout:     DefaultTimeout,
		DialTimeout: DefaultDialTimeout,
		MaxIdle:     DefaultMaxIdle,
		IdleTimeout: DefaultIdleTimeout,
		MaxResponse: DefaultMaxResponse,
	}
}

// Validate reports the first value that cannot work.
func (c Config) Validate() error {
	for _, e := range c.Endpoints {
		if _, err := parseEndpoint(e); err != nil {
			return err
		}
	}
	switch {
	case c.ClusterID == "":
		return errors.New("no cluster id: it is part of every storage URL")
	case c.Timeout <= 0, c.DialTimeout <= 0, c.IdleTimeout <= 0:
		return fmt.Errorf("storage timeouts must be positive: timeout %s, dial %s, idle %s", c.Timeout, c.DialTimeout,
			c.IdleTimeout)
	case c.MaxIdle < 1, c.MaxResponse < 1:
		return fmt.Errorf("storage limits must be positive: idle connections %d, response bytes %d", c.MaxIdle, c.MaxResponse)
	}
	return nil
}

func parseEndpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("storage endpoint %q is not a URL, want http://host:port: %w", s, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("storage endpoint %q: scheme must be http or https, as in http://host:port", s)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("storage endpoint %q names no host, want %s://host:port", s, u.Scheme)
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("storage endpoint %q: give %s://%s, with a path at most, without query or user", u.Redacted(),
			u.Scheme, u.Host)
	}
	return u, nil
}

// Settings are passed by code.
type Settings struct {
	// TLS is asked for the configuration of each new https connection, so that
	// renewed certificates are picked up. Nil means the system's roots.
	TLS      func() (*tls.Config, error)
	Registry prometheus.Registerer
	// Token is asked for the bearer token of each request; nil sends none. An error keeps
	// the request here.
	Token func() (string, error)
	// Dial replaces the network, for tests; nil is TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Permit is asked right before a write leaves; an error keeps it here. Nil permits
	// all.
	Permit func() error
}
