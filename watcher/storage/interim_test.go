package storage

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// scriptedServer answers each request with the bytes that script gives for its number,
// from 0, over all connections; nil ends the connection.
func scriptedServer(t *testing.T, script func(n int, c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveScript(t, l, script)
	return "http://" + l.Addr().String()
}

func serveScript(t *testing.T, l net.Listener, script func(n int, c net.Conn)) {
	t.Helper()
	t.Cleanup(func() { _ = l.Close() })
	var n atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						return
					}
					script(int(n.Add(1))-1, c)
				}
			}()
		}
	}()
}

func final(status int) string {
	body := okBody
	if status != http.StatusOK {
		body = refusal
	}
	return fmt.Sprintf("HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// long is a good answer with so many bytes more than it needs.
func long(more int) string {
	return fmt.Sprintf("HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n%s%*s", len(okBody)+more, okBody, more, "")
}

func interim(status int) string {
	return fmt.Sprintf("HTTP/1.1 %d x\r\nLink: </style.css>\r\n\r\n", status)
}

// TestInterimAnswersAreSkipped: every request gets its own final answer, however many
// interim ones came before it (RFC 9110 §15.2).
func TestInterimAnswersAreSkipped(t *testing.T) {
	for name, before := range map[string]string{
		"100": interim(100), "102": interim(102), "103": interim(103), "unassigned": interim(177),
		"several": interim(100) + interim(102) + interim(102) + interim(103),
		"many":    strings.Repeat(interim(102), mostInterim),
	} {
		for _, apart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", apart ", apart), func(t *testing.T) {
				script := func(n int, c net.Conn) {
					status := http.StatusOK
					if n%2 == 1 {
						status = http.StatusInternalServerError
					}
					if apart {
						_, _ = io.WriteString(c, before)
						time.Sleep(time.Millisecond)
						_, _ = io.WriteString(c, final(status))
						return
					}
					_, _ = io.WriteString(c, before+final(status))
				}
				c := client(t, 0, scriptedServer(t, script))
				for i := range 6 {
					err := c.Put(t.Context(), pod)
					if _, refused := errors.AsType[*TransientError](err); refused != (i%2 == 1) || !refused && err != nil {
						t.Fatalf("PUT %d: %v", i, err)
					}
				}
				if n := testutil.ToFloat64(c.metrics.Opened); n != 1 {
					t.Errorf("%v connections opened, want one that is reused", n)
				}
			})
		}
	}
}

// TestAnswersThatNeverBecomeFinal end with an error, with their connection, and within a
// bound of what is read; so does 101, which nobody asked for.
func TestAnswersThatNeverBecomeFinal(t *testing.T) {
	for name, tc := range map[string]struct {
		once, again string
		want        error
	}{
		"101":               {"HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "", errSwitched},
		"interim for ever":  {"", interim(102), errNoFinal},
		"a head for ever":   {"HTTP/1.1 200 OK\r\n", "X: y\r\n", errNoFinal},
		"a line for ever":   {"HTTP/1.1 200 OK\r\nX: ", strings.Repeat("y", 100), errNoFinal},
		"a trailer, no end": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int64
			s := scriptedServer(t, func(_ int, c net.Conn) {
				_, err := io.WriteString(c, tc.once)
				for err == nil && tc.again != "" {
					var n int
					n, err = io.WriteString(c, tc.again)
					sent.Add(int64(n))
				}
			})
			c := client(t, 2*time.Second, s)
			start := time.Now()
			err := c.Put(t.Context(), pod)
			if _, unknown := errors.AsType[*UnknownOutcomeError](err); !unknown || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("error %v, want an unknown outcome: %v", err, tc.want)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("after %s", took)
			}
			if n := len((*c.endpoints.Load())[0].idle); n != 0 {
				t.Errorf("%d connections are kept", n)
			}
			if in := c.traffic.in.Load(); in > 2*maxHead {
				t.Errorf("%d bytes were read of it", in)
			}
		})
	}
}

// TestStrayBytes: what a server sends without having been asked is the answer to nothing,
// however soon the next request follows.
func TestStrayBytes(t *testing.T) {
	for name, tc := range map[string]struct {
		stray string
		long  int           // bytes that the answer before them has besides
		wait  time.Duration // from the answer to the stray bytes
		rest  time.Duration // till the next request
	}{
		"at once":            {final(http.StatusOK), 0, 0, 0},
		"with the answer":    {final(http.StatusOK), 0, -1, 0},
		"with a long answer": {final(http.StatusOK), 8 << 10, -1, 0},
		"a blank line":       {"\r\n", 0, -1, 0},
		"a little later":     {final(http.StatusOK), 0, 5 * time.Millisecond, 30 * time.Millisecond},
		"no answer":          {"\r\n", 0, 5 * time.Millisecond, 30 * time.Millisecond},
		"an interim answer":  {interim(103), 0, 5 * time.Millisecond, 30 * time.Millisecond},
		"later than trusted": {final(http.StatusOK), 0, 5 * time.Millisecond, 300 * time.Millisecond},
	} {
		for _, scheme := range []string{"http", "https"} {
			t.Run(name+" "+scheme, func(t *testing.T) {
				t.Parallel()
				strayed := make(chan struct{}, 1)
				script := func(n int, c net.Conn) {
					switch {
					case n > 0:
						_, _ = io.WriteString(c, final(http.StatusInternalServerError))
					case tc.wait < 0:
						_, _ = io.WriteString(c, long(tc.long)+tc.stray)
						strayed <- struct{}{}
					default:
						_, _ = io.WriteString(c, long(tc.long))
						time.Sleep(tc.wait)
						_, _ = io.WriteString(c, tc.stray)
						strayed <- struct{}{}
					}
				}
				var c *Client
				if scheme == "http" {
					c = client(t, 0, scriptedServer(t, script))
				} else {
					l, roots := listenTLS(t)
					serveScript(t, l, script)
					c = trusting(t, roots, "https://"+l.Addr().String())
				}
				err := c.Put(t.Context(), pod)
				doubted := errors.As(err, new(*UnknownOutcomeError))
				if err != nil && (!doubted || tc.wait > 0) {
					t.Fatal(err)
				}
				<-strayed
				time.Sleep(tc.rest)
				for range 3 {
					if _, refused := errors.AsType[*TransientError](c.Put(t.Context(), pod)); !refused {
						t.Error("a PUT that storage refused counts as stored")
					}
				}
				if n := testutil.ToFloat64(c.metrics.Opened); n != 2 {
					t.Errorf("%v connections opened, want a second one after the stray bytes, and no third", n)
				}
			})
		}
	}
}

// listenTLS listens with a certificate of httptest.
func listenTLS(t *testing.T) (net.Listener, *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates, MinVersion: minTLS})
	if err != nil {
		t.Fatal(err)
	}
	return l, roots
}
