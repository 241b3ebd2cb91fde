package storage

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestOldTLSIsRefused: the certificate is trusted in all cases, only versions differ.
func TestOldTLSIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		most uint16
		want string // empty: accepted
	}{
		{"1.0", tls.VersionTLS10, "protocol version not supported; TLS 1.2 or later is wanted"},
		{"1.1", tls.VersionTLS11, "protocol version not supported; TLS 1.2 or later is wanted"},
		{"1.2", tls.VersionTLS12, ""},
		{"1.3", tls.VersionTLS13, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var requests atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":[]}`)
			}))
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tc.most}
			s.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
			s.StartTLS()
			defer s.Close()
			roots := x509.NewCertPool()
			roots.AddCert(s.Certificate())
			err := trusting(t, roots, s.URL).Check(context.Background())
			if tc.want == "" {
				if err != nil || requests.Load() != 1 {
					t.Errorf("%d requests, %v", requests.Load(), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || requests.Load() > 0 {
				t.Errorf("%d requests, %v; want %s", requests.Load(), err, tc.want)
			}
		})
	}
}

// TestServerThatChoosesOldTLS: a server older than the extension that lists versions
// (RFC 8446 §4.2.1) just answers with its own. The client ends the handshake.
func TestServerThatChoosesOldTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	after := make(chan []byte, 1)
	go func() {
		defer close(after)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := readRecord(c); err != nil { // ClientHello
			return
		}
		hello := append([]byte{3, 2}, make([]byte, 32)...) // version 1.1, random
		hello = append(hello, 0, 0xc0, 0x14, 0)            // no session, ECDHE-RSA-AES256-CBC-SHA, no compression
		record := append([]byte{22, 3, 2, 0, byte(len(hello) + 4), 2, 0, 0, byte(len(hello))}, hello...)
		if _, err := c.Write(record); err != nil {
			return
		}
		rest, _ := io.ReadAll(c)
		after <- rest
	}()
	err = trusting(t, x509.NewCertPool(), "https://"+l.Addr().String()).Check(context.Background())
	if err == nil || !strings.Contains(err.Error(), "server selected unsupported protocol version 302; TLS 1.2 or later is wanted") {
		t.Errorf("%v", err)
	}
	// A fatal alert protocol_version (RFC 5246 §7.2), and nothing else.
	if sent := <-after; len(sent) != 7 || sent[0] != 21 || sent[5] != 2 || sent[6] != 70 {
		t.Errorf("the client went on with % x", sent)
	}
}

func readRecord(r io.Reader) ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	_, err := io.ReadFull(r, body)
	return body, err
}

// trusting is a client that trusts roots. It asks for no version: the lowest is the
// package's own.
func trusting(t *testing.T, roots *x509.CertPool, endpoint string) *Client {
	t.Helper()
	return clientWith(t, Settings{TLS: func() (*tls.Config, error) {
		return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10}, nil
	}}, 0, endpoint)
}
