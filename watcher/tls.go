package watcher

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/setting"
)

// half refuses a certificate without its key, and the reverse; key is where f stands.
func half(key string, f config.TLS) error {
	switch {
	case f.CertFile != "" && f.KeyFile == "":
		return fmt.Errorf("%s.key-file: missing, the certificate of %s.cert-file needs its key", key, key)
	case f.KeyFile != "" && f.CertFile == "":
		return fmt.Errorf("%s.cert-file: missing, the key of %s.key-file needs its certificate", key, key)
	}
	return nil
}

// clientTLS reads the files anew for each connection, so that renewed ones are
// picked up; the server's certificate is verified, unless skipVerify. Files that cannot be read now
// are an error now.
func clientTLS(key string, f config.TLS, skipVerify bool) (func() (*tls.Config, error), error) {
	if err := half(key, f); err != nil {
		return nil, err
	}
	load := func() (*tls.Config, error) {
		t := &tls.Config{MinVersion: tls.VersionTLS12,
			InsecureSkipVerify: skipVerify} //nolint:gosec // asked for, and warned of
		if f.CAFile != "" {
			var err error
			if t.RootCAs, err = setting.Pool(f.CAFile); err != nil {
				return nil, fmt.Errorf("%s.ca-file: %w", key, err)
			}
		}
		if f.CertFile != "" || f.KeyFile != "" {
			cert, err := setting.Pair(f.CertFile, f.KeyFile, f.Password)
			if err != nil {
				return nil, fmt.Errorf("%s.cert-file, %s.key-file: %w", key, key, err)
			}
			t.Certificates = []tls.Certificate{cert}
		}
		return t, nil
	}
	_, err := load()
	return load, err
}

// httpClient reads what load reads for each new connection.
func httpClient(load func() (*tls.Config, error)) *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		t, err := load()
		if err != nil {
			return nil, err
		}
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: t}
		return d.DialContext(ctx, network, address)
	}
	return &http.Client{Transport: &http.Transport{DialTLSContext: dial, MaxIdleConnsPerHost: 2,
		IdleConnTimeout: time.Minute}}
}

// dialTimeout bounds connecting, the handshake included.
const dialTimeout = 5 * time.Second

// serverTLS is the configuration of both servers: plain HTTP without a certificate,
// client certificates required with a CA (contract §7.1). The files are read for each
// connection; while they cannot be, what was read last counts.
func serverTLS(c config.Config, log *slog.Logger) (*tls.Config, error) {
	if c.ServerCertFile == "" {
		return nil, nil
	}
	load := func() (*tls.Config, error) {
		cert, err := setting.Pair(c.ServerCertFile, c.ServerKeyFile, "")
		if err != nil {
			return nil, fmt.Errorf("server_cert_file, server_key_file: %w", err)
		}
		t := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
		if c.CAFile != "" {
			if t.ClientCAs, err = setting.Pool(c.CAFile); err != nil {
				return nil, fmt.Errorf("ca_file: %w", err)
			}
			t.ClientAuth = tls.RequireAndVerifyClientCert
		}
		return t, nil
	}
	return setting.ServerTLS(load, 0, log)
}
