package watcher

import (
	"crypto/tls"
	"crypto/x509"
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
			cert, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
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

// certPool reads the certificates of a CA file; key names it in errors.
func certPool(key, file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
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
