// Package certs makes certificate authorities and server certificates that live as long as one run.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
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

// skew lets certificates be valid on machines whose clocks are behind.
const skew = time.Hour

// Authority is a CA. It keeps its key in memory only.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes a self-signed CA that is valid from now on for that long.
func NewAuthority(name string, life time.Duration) (*Authority, error) {
	now := time.Now()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(life),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, der, err := (&Authority{cert: template}).sign(template)
	if err != nil {
		return nil, fmt.Errorf("make the CA %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the CA %s: %w", name, err)
	}
	return &Authority{cert: cert, key: key}, nil
}

// PEM is the CA's certificate, for those who are to trust it.
func (a *Authority) PEM() []byte { return block("CERTIFICATE", a.cert.Raw) }

// Server describes a server's certificate.
type Server struct {
	Name string // common name; clients do not look at it
	// IPs and DNSNames are the names that clients may use.
	IPs      []net.IP
	DNSNames []string
	// From and To bound its validity; zero means the CA's.
	From, To time.Time
}

// Issue makes a key and a certificate for a server, which a client may use too.
func (a *Authority) Issue(s Server) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: s.Name}, NotBefore: s.From, NotAfter: s.To,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth},
		IPAddresses: s.IPs, DNSNames: s.DNSNames,
	}
	if s.From.IsZero() {
		template.NotBefore = a.cert.NotBefore
	}
	if s.To.IsZero() {
		template.NotAfter = a.cert.NotAfter
	}
	key, der, err := a.sign(template)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate for %s: %w", s.Name, err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// sign makes a key and a certificate for it. An authority without a key of its own,
// one that is being made, signs with the new one.
func (a *Authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), signer)
	return key, der, err
}

// WriteFiles writes a certificate of Issue and its key as PEM, readable by their owner only.
func WriteFiles(cert tls.Certificate, certFile, keyFile string) error {
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		return fmt.Errorf("encode the key: %w", err)
	}
	if err := WriteFile(certFile, block("CERTIFICATE", cert.Certificate[0])); err != nil {
		return err
	}
	return WriteFile(keyFile, block("PRIVATE KEY", key))
}

// WriteFile writes PEM, readable by its owner only.
func WriteFile(path string, pem []byte) error {
	if err := os.WriteFile(path, pem, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
