package watcher

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/watchbench/watchbench/watcher/config"
)

// clientTLS reads the files anew for each connection, so that renewed ones are
// picked up; the server's certificate is verified. Files that cannot be read now
// are an error now.
func clientTLS(key string, f config.TLS) (func() (*tls.Config, error), error) {
	load := func() (*tls.Config, error) {
		t := &tls.Config{MinVersion: tls.VersionTLS12}
		if f.CAFile != "" {
			pem, err := os.ReadFile(f.CAFile)
			if err != nil {
				return nil, fmt.Errorf("%s.ca-file: %w", key, err)
			}
			t.RootCAs = x509.NewCertPool()
			if !t.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("%s.ca-file: %s holds no PEM certificate", key, f.CAFile)
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
