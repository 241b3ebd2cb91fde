package storage

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestDoubtEnds: a write that failed though reads are answered makes an endpoint count as
// down; where nobody writes any more, nothing would ever say the contrary, and reads are
// believed again after a while.
func TestDoubtEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Bool // are answered; writes never are
		reads.Store(true)
		dial := func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer func() { _ = far.Close() }()
				in := bufio.NewReader(far)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if r.Method != http.MethodGet || !reads.Load() {
						return
					}
					if _, err := io.WriteString(far, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 54\r\n\r\n"+okBody); err != nil {
						return
					}
				}
			}()
			return near, nil
		}
		c := clientWith(t, Settings{Dial: dial}, 0, "http://storage:50024")
		is := func(when string, up bool) {
			t.Helper()
			synctest.Wait()
			if err := c.Reachable(); (err == nil) != up || (testutil.ToFloat64(c.up.WithLabelValues("http://storage:50024")) == 1) != up {
				t.Errorf("%s: %v, want up %t, and the metric alike", when, err, up)
			}
		}
		fail := func() {
			t.Helper()
			if c.Put(t.Context(), pod) == nil {
				t.Fatal("a write was answered")
			}
		}
		for range tolerated + 1 {
			fail()
		}
		is("after failed writes", false)
		time.Sleep(maxDown)
		is("after an answered read", true)
		fail()
		is("after one more failed write", false)
		time.Sleep(doubt - time.Second)
		is("while writes may still come", false)
		fail()
		time.Sleep(doubt - time.Second)
		is("after another one", false)
		time.Sleep(maxDown)
		is("with no write for long", true)
		fail()
		is("with one again", false)
		reads.Store(false)
		time.Sleep(time.Hour)
		is("with no reads either", false)
	})
}
