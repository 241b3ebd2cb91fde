package watcher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/internal/userfile"
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
			cert, err := keyPair(f)
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

// keyPair reads a certificate and its key, which may be encrypted as the original's may:
// in PEM itself (RFC 1423).
func keyPair(f config.TLS) (tls.Certificate, error) {
	cert, err := userfile.ReadFile(f.CertFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := userfile.ReadFile(f.KeyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	switch block, _ := pem.Decode(key); {
	case block == nil:
	case block.Type == "ENCRYPTED PRIVATE KEY":
		return tls.Certificate{}, fmt.Errorf("%s is encrypted as PKCS #8, which is not supported: "+
			"write it again with openssl rsa -traditional -aes256", f.KeyFile)
	case x509.IsEncryptedPEMBlock(block): //nolint:staticcheck // insecure by design, and what is in use
		plain, err := x509.DecryptPEMBlock(block, []byte(f.Password)) //nolint:staticcheck // the same
		var pair tls.Certificate
		if err == nil { // one wrong password in 256 decrypts to something that is not a key
			pair, err = tls.X509KeyPair(cert, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: plain}))
		}
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("decrypt %s with the password: %w", f.KeyFile, err)
		}
		return pair, nil
	}
	return tls.X509KeyPair(cert, key)
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
		cert, err := setting.Pair(c.ServerCertFile, c.ServerKeyFile)
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
