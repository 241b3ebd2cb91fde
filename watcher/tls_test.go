package watcher

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/watcher/call"
	"github.com/watchbench/watchbench/watcher/config"
)

// authority is a CA whose certificate stands in a file, with a certificate of its own
// beside it.
func authority(t *testing.T, f config.TLS) *certs.Authority {
	t.Helper()
	ca, err := certs.NewAuthority("ca", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(certs.Server{Name: "here", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(certs.WriteFile(f.CAFile, ca.PEM()), certs.WriteFiles(cert, f.CertFile, f.KeyFile)); err != nil {
		t.Fatal(err)
	}
	return ca
}

func tlsFiles(t *testing.T) config.TLS {
	dir := t.TempDir()
	return config.TLS{CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
}

// The client for netservice and the HTTP servers take
// renewed certificates, those of another CA included, for new connections. While a file
// cannot be read the servers go on with what they had.
func TestFilesAreReadAgain(t *testing.T) {
	f := tlsFiles(t)
	authority(t, f)
	var log bytes.Buffer
	cfg := config.Config{CAFile: f.CAFile, ServerCertFile: f.CertFile, ServerKeyFile: f.KeyFile}
	serving, err := serverTLS(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := bind(nil, "127.0.0.1", 0, serving, healthHandler(func() error { return nil }, func() []error { return nil }, false))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() { cancel(); <-done }()
	client := func(f config.TLS) *http.Client {
		load, err := clientTLS("bcs.tls", f, false)
		if err != nil {
			t.Fatal(err)
		}
		return httpClient(load)
	}
	platform := client(f)
	ask := func() error {
		platform.CloseIdleConnections() // renewed certificates are for new ones
		_, _, err := call.Do(t.Context(), platform, call.Request{Method: http.MethodGet, URL: "https://" + s.listener.Addr().String() + "/healthz", Limit: 10})
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	authority(t, f)
	if err := ask(); err != nil {
		t.Error("after a renewal:", err)
	}
	fresh := tlsFiles(t) // what the client has meanwhile
	for from, to := range map[string]string{f.CAFile: fresh.CAFile, f.CertFile: fresh.CertFile, f.KeyFile: fresh.KeyFile} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	platform = client(fresh)
	for range 2 {
		if err := ask(); err != nil {
			t.Error("while the server's files are gone:", err)
		}
	}
	if n := strings.Count(log.String(), "certificate cannot be read"); n != 1 {
		t.Errorf("said %d times: %s", n, &log)
	}
}

// Verification is off only with bcs.insecureSkipVerify, and each start says so.
func TestInsecureSkipVerify(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[]}`)
	}))
	s.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	defer s.Close()
	for _, skip := range []bool{false, true} {
		cfg := config.Default()
		cfg.Default.ClusterID = "c"
		cfg.BCS.CustomStorageEndpoints = config.List{s.URL}
		cfg.BCS.InsecureSkipVerify = skip
		cfg.WatchResource.DisableNetService = true
		var log bytes.Buffer
		w, err := New(cfg, config.Filter{}, Settings{Kube: &rest.Config{Host: "http://127.0.0.1:1"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.copying.platform.storage.Check(t.Context()); (err == nil) != skip {
			t.Errorf("insecureSkipVerify %v: storage: %v", skip, err)
		}
		platform := w.copying.platform.client
		if _, _, err := call.Do(t.Context(), platform, call.Request{Method: http.MethodGet, URL: s.URL, Limit: 1 << 10}); (err == nil) != skip {
			t.Errorf("insecureSkipVerify %v: platform: %v", skip, err)
		}
		if warned := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "bcs.insecureSkipVerify"); warned != skip {
			t.Errorf("insecureSkipVerify %v: log %s", skip, &log)
		}
		platform.CloseIdleConnections()
	}
}

// An encrypted key is opened with bcs.tls.password, which is never repeated.
func TestEncryptedKey(t *testing.T) {
	ca, err := certs.NewAuthority("ca", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(certs.Server{Name: "client"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := config.TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"), Password: "pass-phrase"}
	if err := certs.WriteFiles(cert, f.CertFile, f.KeyFile); err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile(f.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(plain)
	encrypted, err := x509.EncryptPEMBlock(rand.Reader, block.Type, block.Bytes, []byte(f.Password), x509.PEMCipherAES256) //nolint:staticcheck // what is in use
	if err != nil {
		t.Fatal(err)
	}
	garbage, err := x509.EncryptPEMBlock(rand.Reader, block.Type, []byte("no key"), []byte(f.Password), x509.PEMCipherAES256) //nolint:staticcheck // as above
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, password, want string
		key                  []byte
	}{
		{"plain", "", "", plain},
		{"plain, with a password", "pass-phrase", "", plain},
		{"encrypted", "pass-phrase", "", pem.EncodeToMemory(encrypted)},
		{"wrong password", "wrong-phrase", "decrypt", pem.EncodeToMemory(encrypted)},
		{"wrong password that decrypts", "pass-phrase", "decrypt", pem.EncodeToMemory(garbage)},
		{"PKCS #8", "pass-phrase", "openssl rsa -traditional", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}})},
		{"no PEM", "pass-phrase", "PEM", []byte("x")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := certs.WriteFile(f.KeyFile, tc.key); err != nil {
				t.Fatal(err)
			}
			g := f
			g.Password = tc.password
			_, err := clientTLS("bcs.tls", g, false)
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "phrase")) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
