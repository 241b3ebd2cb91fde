package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
)

func authority(t *testing.T, name string) *certs.Authority {
	t.Helper()
	a, err := certs.NewAuthority(name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestVerify: a certificate is good for who trusts its CA, by the names it has, as long as it is valid.
func TestVerify(t *testing.T) {
	a, other := authority(t, "a"), authority(t, "b")
	loopback := []net.IP{net.IPv4(127, 0, 0, 1)}
	past := time.Now().Add(-time.Minute)
	for _, tc := range []struct {
		name   string
		issuer *certs.Authority
		server certs.Server
		want   string // of the error; empty is none
	}{
		{"good", a, certs.Server{Name: "s", IPs: loopback}, ""},
		{"several names", a, certs.Server{Name: "s", IPs: loopback, DNSNames: []string{"localhost"}}, ""},
		{"another CA", other, certs.Server{Name: "s", IPs: loopback}, "unknown authority"},
		{"another host", a, certs.Server{Name: "s", DNSNames: []string{"elsewhere.example"}}, "cannot validate certificate for 127.0.0.1"},
		{"expired", a, certs.Server{Name: "s", IPs: loopback, From: past.Add(-time.Hour), To: past}, "has expired"},
	} {
		cert, err := tc.issuer.Issue(tc.server)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(a.PEM())
		_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1"})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestWriteFiles(t *testing.T) {
	cert, err := authority(t, "a").Issue(certs.Server{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(t.TempDir(), "c.pem"), filepath.Join(t.TempDir(), "k.pem")
	if err := certs.WriteFiles(cert, certFile, keyFile); err != nil {
		t.Fatal(err)
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(keyFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	if err := certs.WriteFiles(cert, filepath.Join(certFile, "x"), keyFile); err == nil {
		t.Error("no error for a file below a file")
	}
}
