package delivery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/watchbench/watchbench/watcher/certfile"
)

// pool is the certificates of a CA file, read again when it was replaced.
type pool struct {
	file string

	mu      sync.Mutex
	certs   *x509.CertPool // guarded by mu
	changed time.Time      // guarded by mu; the file's modification
}

func (p *pool) get() (*x509.CertPool, error) {
	if p.file == "" {
		return nil, nil
	}
	info, err := os.Stat(p.file)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.certs == nil || !info.ModTime().Equal(p.changed) {
		certs, err := certfile.Pool(p.file)
		if err != nil {
			return nil, err
		}
		p.certs, p.changed = certs, info.ModTime()
	}
	return p.certs, nil
}

// Roots are the certificates that servers are verified by, nil for the system's.
func (d *Dialer) Roots() (*x509.CertPool, error) { return d.pool.get() }

// TLS is the configuration for one connection to host.
func (d *Dialer) TLS(host string) (*tls.Config, error) {
	roots, err := d.Roots()
	if err != nil {
		return nil, fmt.Errorf("caFile: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: roots}, nil
}

// DialTLS connects to host:port, and verifies that it is the host.
func (d *Dialer) DialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	cfg, err := d.TLS(host)
	if err != nil {
		return nil, err
	}
	plain, err := d.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errors.New("the TLS handshake takes too long"))
	defer cancel()
	conn := tls.Client(plain, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return conn, nil
}
