package watchproxy

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
)

// certLife is longer than any run.
const certLife = 30 * 24 * time.Hour

// selfSigned makes a CA and a certificate of it for host, and returns the CA as PEM.
func selfSigned(host string) (cert tls.Certificate, ca []byte, err error) {
	authority, err := certs.NewAuthority("watchproxy CA", certLife)
	if err != nil {
		return cert, nil, err
	}
	server := certs.Server{Name: "watchproxy", DNSNames: []string{"localhost"}, IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}}
	if ip := net.ParseIP(host); ip != nil {
		server.IPs = append(server.IPs, ip)
	} else if host != "" {
		server.DNSNames = append(server.DNSNames, host)
	}
	cert, err = authority.Issue(server)
	return cert, authority.PEM(), err
}
