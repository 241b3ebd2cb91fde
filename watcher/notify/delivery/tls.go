package delivery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// Roots are the certificates that servers are verified by, nil for the system's.
func (d *Dialer) Roots() (*x509.CertPool, error) {
	if d.ca == nil {
		return nil, nil
	}
	return d.ca.Get()
}

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
