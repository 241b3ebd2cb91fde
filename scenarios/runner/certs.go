package runner

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certs are the files for storage over TLS.
type certs struct {
	caFile            string // what the watcher trusts
	certFile, keyFile string // what storage shows
	dir               string
	kind              string // of storage.tls
}

// oldTLS is the kind in which nothing is wrong with the certificate.
const oldTLS = "tls-1.1"

// refusals are what crypto/tls and crypto/x509 say of each kind: a watcher must have
// refused storage for what is wrong with it and not for something else.
var refusals = map[string]string{
	"wrong-ca":   "certificate signed by unknown authority",
	"expired":    "certificate has expired",
	"wrong-host": "cannot validate certificate for 127.0.0.1",
	oldTLS:       "protocol version",
}

const certLife = 24 * time.Hour

// makeCerts writes a CA for the watcher and a certificate for storage that is as it
// should be, or not.
func makeCerts(dir, kind string) (*certs, error) {
	c := &certs{
		dir: dir, kind: kind, caFile: filepath.Join(dir, "ca.pem"), certFile: filepath.Join(dir, "storage.pem"), keyFile: filepath.Join(dir, "storage-key.pem"),
	}
	return c, c.write()
}

// write makes everything anew.
func (c *certs) write() error {
	now := time.Now()
	ca, caKey, err := authority("watchbench CA", now)
	if err != nil {
		return err
	}
	trusted := ca
	if c.kind == "wrong-ca" {
		if trusted, _, err = authority("another CA", now); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "storage"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	switch c.kind {
	case "expired":
		leaf.NotBefore, leaf.NotAfter = now.Add(-2*certLife), now.Add(-certLife)
	case "wrong-host":
		leaf.IPAddresses, leaf.DNSNames = nil, []string{"elsewhere.example"}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	for _, f := range []struct {
		path, kind string
		der        []byte
	}{{c.certFile, "CERTIFICATE", der}, {c.keyFile, "EC PRIVATE KEY", keyDER}, {c.caFile, "CERTIFICATE", trusted.Raw}} {
		if err := os.WriteFile(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Base(f.path), err)
		}
	}
	return nil
}

func authority(name string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("make a CA: %w", err)
	}
	return cert, key, nil
}

// rotateCA gives storage a certificate of a new CA and the watcher the new ca-file.
// Storage is ended in order and goes on at the same address with the same
// documents; the ledger of its first life is kept.
func (c *cellRun) rotateCA(ctx context.Context) error {
	if err := c.certs.write(); err != nil {
		return err
	}
	return c.restartMock(ctx)
}
