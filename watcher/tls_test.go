package watcher

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/watcher/config"
)

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
	for _, tc := range []struct {
		name, password, want string
		key                  []byte
	}{
		{"plain", "", "", plain},
		{"plain, with a password", "pass-phrase", "", plain},
		{"encrypted", "pass-phrase", "", pem.EncodeToMemory(encrypted)},
		{"wrong password", "wrong-phrase", "decrypt", pem.EncodeToMemory(encrypted)},
		{"PKCS #8", "pass-phrase", "openssl rsa -traditional", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{1}})},
		{"no PEM", "pass-phrase", "PEM", []byte("x")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := certs.WriteFile(f.KeyFile, tc.key); err != nil {
				t.Fatal(err)
			}
			g := f
			g.Password = tc.password
			_, err := clientTLS("bcs.tls", g)
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "phrase")) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
