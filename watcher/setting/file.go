package setting

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/userfile"
)

// Pool reads the certificates of a CA file.
func Pool(file string) (*x509.CertPool, error) {
	data, err := userfile.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}
	return pool, nil
}

// Pair reads a certificate and its key, which may be encrypted as the original's may: in PEM itself (RFC 1423).
func Pair(certFile, keyFile, password string) (tls.Certificate, error) {
	cert, err := userfile.ReadFile(certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := userfile.ReadFile(keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	switch block, _ := pem.Decode(key); {
	case block == nil:
	case block.Type == "ENCRYPTED PRIVATE KEY":
		return tls.Certificate{}, fmt.Errorf("%s is encrypted as PKCS #8, which is not supported: "+
			"write it again with openssl rsa -traditional -aes256", keyFile)
	case x509.IsEncryptedPEMBlock(block): //nolint:staticcheck // insecure by design, and what is in use
		plain, err := x509.DecryptPEMBlock(block, []byte(password)) //nolint:staticcheck // the same
		var pair tls.Certificate
		if err == nil { // one wrong password in 256 decrypts to something that is not a key
			pair, err = tls.X509KeyPair(cert, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: plain}))
		}
		if err != nil {
			return tls.Certificate{}, fmt.Errorf("decrypt %s with the password: %w", keyFile, err)
		}
		return pair, nil
	}
	return tls.X509KeyPair(cert, key)
}

// File holds the content of a file and reads it again once the file was replaced.
type File[T any] struct {
	path string
	read func(path string) (T, error)

	mu      sync.Mutex
	value   T         // guarded by mu
	known   bool      // guarded by mu; value was read
	changed time.Time // guarded by mu; the file's modification
}

// NewFile reads nothing yet.
func NewFile[T any](path string, read func(path string) (T, error)) *File[T] {
	return &File[T]{path: path, read: read}
}

// Get returns the current content, or why it cannot be read.
func (f *File[T]) Get() (value T, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return value, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known || !info.ModTime().Equal(f.changed) {
		if value, err = f.read(f.path); err != nil {
			return value, err
		}
		f.value, f.known, f.changed = value, true, info.ModTime()
	}
	return f.value, nil
}

// Latest keeps the last result of a load of files. While they cannot be read it stays, and
// the log says so once.
type Latest[T any] struct {
	load func() (T, error)
	keep time.Duration
	warn func(error)

	mu     sync.Mutex
	last   T         // guarded by mu
	at     time.Time // guarded by mu: of the last load, whether it failed or not
	failed bool      // guarded by mu: the last load failed, and that was logged
}

// NewLatest loads now; that this fails is an error. What was loaded less than keep ago is
// not loaded again. warn gets the first failure in a row.
func NewLatest[T any](load func() (T, error), keep time.Duration, warn func(error)) (*Latest[T], error) {
	last, err := load()
	if err != nil {
		return nil, err
	}
	return &Latest[T]{load: load, keep: keep, warn: warn, last: last, at: time.Now()}, nil
}

// Get loads again unless that was just done.
func (l *Latest[T]) Get() T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keep > 0 && time.Since(l.at) < l.keep {
		return l.last
	}
	t, err := l.load()
	l.at = time.Now()
	switch {
	case err == nil:
		l.last = t
	case !l.failed:
		l.warn(err)
	}
	l.failed = err != nil
	return l.last
}

// ServerTLS is the configuration of a server that takes load's latest for each new connection.
func ServerTLS(load func() (*tls.Config, error), keep time.Duration, log *slog.Logger) (*tls.Config, error) {
	latest, err := NewLatest(load, keep, func(err error) {
		log.Warn("the servers' certificate cannot be read, serving with the last one", "error", err)
	})
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return latest.Get(), nil
	}}, nil
}
