package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/watchbench/watchbench/watcher/setting"
)

// Egress lists the addresses that an operator allows.
type Egress struct {
	Allow  []string // networks such as 10.0.0.0/8, in addition to public addresses
	CAFile string   // PEM; empty: the system's
}

// guarded are ports that no receiver of notifications listens on: those of a cluster's own
// parts, which trust their callers.
var guarded = []int{2379, 2380, 10250, 10255, 10257, 10259}

// timeout bounds the dialling of one address, and a TLS handshake.
const timeout = 10 * time.Second

// defaultTimeout bounds one try where the user sets nothing.
const defaultTimeout = 10 * time.Second

// Validate refuses what could not be meant. The errors name the keys as targets have them.
func (c Egress) Validate() error {
	for i, text := range c.Allow {
		p, err := netip.ParsePrefix(text)
		addr, bare := netip.ParseAddr(text)
		switch key := fmt.Sprintf("allow[%d]", i); {
		case bare == nil:
			return KeyError(key, "invalid network %q, want %s/%d for this address alone", text, addr.WithZone(""), addr.BitLen())
		case err != nil:
			return KeyError(key, "invalid network %q, want one such as 10.0.0.0/8 or fd00::/8", text)
		case p != p.Masked():
			return KeyError(key, "%q has bits behind its mask, want %s", text, p.Masked())
		case p.Addr().Is4In6():
			return KeyError(key, "%q is an IPv4 network in IPv6 form, want the IPv4 one, which is dialled", text)
		}
	}
	if c.CAFile != "" {
		if _, err := setting.Pool(c.CAFile); err != nil {
			return KeyError("caFile", "%w", err)
		}
	}
	return nil
}

func checkPort(port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("port %q is none, want 1 to 65535", port)
	}
	if slices.Contains(guarded, int(n)) {
		return fmt.Errorf("port %d belongs to the cluster itself, want another one", n)
	}
	return nil
}

// BlockedError says that an address must not be dialled.
type BlockedError struct{ Err error }

func (e *BlockedError) Error() string { return "address refused: " + e.Err.Error() }

// Unwrap returns why.
func (e *BlockedError) Unwrap() error { return e.Err }

// Dialer dials what is allowed. Safe for concurrent use.
type Dialer struct {
	net net.Dialer
	ca  *setting.File[*x509.CertPool] // nil: the system's
}

// NewDialer makes one of a valid Egress. resolver may be nil.
func NewDialer(c Egress, resolver *net.Resolver) *Dialer {
	var v4, v6 []netip.Prefix
	for _, text := range c.Allow {
		if p := netip.MustParsePrefix(text); p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	guard := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	d := &Dialer{net: net.Dialer{
		Timeout: timeout, Resolver: resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			if err := guard.Safe(network, address, nil); err != nil {
				return &BlockedError{fmt.Errorf("%w; if it is meant, name its network in allow", err)}
			}
			_, port, err := net.SplitHostPort(address)
			if err == nil {
				err = checkPort(port)
			}
			if err != nil {
				return &BlockedError{err}
			}
			return nil
		},
	}}
	if c.CAFile != "" {
		d.ca = setting.NewFile(c.CAFile, setting.Pool)
	}
	return d
}

// Dial connects to host:port.
func (d *Dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return d.net.DialContext(ctx, network, address)
}

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
