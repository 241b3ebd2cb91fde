package watcher

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/watchbench/watchbench/watcher/config"
)

// clientTLS reads the files anew for each connection, so that renewed ones are
// picked up; the server's certificate is verified. Files that cannot be read now
// are an error now.
func clientTLS(key string, f config.TLS) (func() (*tls.Config, error), error) {
	load := func() (*tls.Config, error) {
		t := &tls.Config{MinVersion: tls.VersionTLS12}
		if f.CAFile != "" {
			var err error
			if t.RootCAs, err = certPool(key+".ca-file", f.CAFile); err != nil {
				return nil, err
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
	cert, err := os.ReadFile(f.CertFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := os.ReadFile(f.KeyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	switch block, _ := pem.Decode(key); {
	case block == nil:
	case block.Type == "ENCRYPTED PRIVATE KEY":
		return tls.Certificate{}, fmt.Errorf("%s is encrypted as PKCS #8, which is not supported: write it again with openssl rsa -traditional -aes256", f.KeyFile)
	case x509.IsEncryptedPEMBlock(block): //nolint:staticcheck // insecure by design, and what is in use
		plain, err := x509.DecryptPEMBlock(block, []byte(f.Password)) //nolint:staticcheck // the same
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("decrypt %s with the password: %w", f.KeyFile, err)
		}
		key = pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: plain})
	}
	return tls.X509KeyPair(cert, key)
}

// certPool reads the certificates of a CA file; key names it in errors.
func certPool(key, file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s: %s holds no PEM certificate", key, file)
	}
	return pool, nil
}

// platformClient is the HTTP client for the platform's services, with the certificates
// of this moment.
func (w *Watcher) platformClient() (*http.Client, error) {
	load, err := clientTLS("bcs.tls", w.cfg.BCS.TLS)
	if err != nil {
		return nil, &InputError{Err: err}
	}
	t, err := load()
	if err != nil {
		return nil, &InputError{Err: err}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: t, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}}, nil
}
