package lifecycle

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/pipetest"
)

// TestConnectionRate: as many as an honest crowd has come in at once, and what a kernel's
// queue holds does so within seconds, but not in one go; nobody waits for a server that evicts.
func TestConnectionRate(t *testing.T) {
	for _, tc := range []struct {
		connections int
		evict       bool
		want        time.Duration
	}{
		{connectionBurst, false, 0},
		{500, false, 218 * time.Millisecond},
		{4096, false, 2016 * time.Millisecond},
		{4096, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := pipetest.Listen()
			b := Bound(network, Bounds{Connections: 1, Patience: time.Minute, Evict: tc.evict})
			go func() {
				for range tc.connections {
					_ = network.Connect().Close()
				}
			}()
			began := time.Now()
			for range tc.connections {
				c, err := b.Accept()
				if err != nil {
					t.Fatal(err)
				}
				_ = c.Close()
			}
			if took := time.Since(began).Round(time.Millisecond); took != tc.want {
				t.Errorf("%d connections were accepted within %s, want %s", tc.connections, took, tc.want)
			}
		})
	}
}

// TestCloseEndsAccept: also where it waits for a slot, for its turn, or for a client.
func TestCloseEndsAccept(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(*Bounded)
	}{
		{"a slot", func(b *Bounded) { b.free <- struct{}{} }},
		{"its turn", func(b *Bounded) { b.pace.ReserveN(time.Now(), connectionBurst) }},
		{"a client", func(*Bounded) {}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := Bound(pipetest.Listen(), Bounds{Connections: 1, Patience: time.Minute})
			tc.prepare(b)
			began := time.Now()
			ended := make(chan error, 1)
			go func() {
				_, err := b.Accept()
				ended <- err
			}()
			synctest.Wait()
			_ = b.Close()
			if err := <-ended; !errors.Is(err, net.ErrClosed) || time.Since(began) > 0 {
				t.Errorf("%s: %v after %s, want %v at once", tc.name, err, time.Since(began), net.ErrClosed)
			}
		})
	}
}

// TestCloseEndsHandshakes: those that wait for their turn, which would outlive the server.
func TestCloseEndsHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Bound(pipetest.Listen(), Bounds{Connections: 1, Patience: time.Minute})
		began := time.Now()
		b.pace.ReserveN(began, connectionBurst)
		ended := make(chan error, 1)
		go func() { ended <- b.handshake(t.Context()) }()
		synctest.Wait()
		_ = b.Close()
		if err := <-ended; err == nil || time.Since(began) > 0 {
			t.Errorf("%v after %s, want an error at once", err, time.Since(began))
		}
	})
}

// TestHandshakesAtOnce: those of clients that have connected before and begin at the same
// moment are made one after the other, a new connection waits with them, and who would wait
// for longer than a handshake may take is told at once.
func TestHandshakesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := pipetest.Listen()
		b := Bound(network, Bounds{Connections: 1, Patience: time.Minute})
		began := time.Now()
		b.pace.ReserveN(began, handshakeCost/2) // so that none waits for exactly as long as it may
		const most = (connectionBurst - handshakeCost/2 + connectionRate*int(HandshakeTimeout/time.Second)) / handshakeCost
		var all sync.WaitGroup
		var mu sync.Mutex
		var last time.Duration
		passed, refused := 0, 0
		for range most + 10 {
			all.Go(func() {
				err := b.handshake(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					passed++
					last = time.Since(began)
				} else if refused++; time.Since(began) > 0 {
					t.Errorf("refused after %s: %v", time.Since(began), err)
				}
			})
		}
		synctest.Wait()
		go func() { _ = network.Connect().Close() }()
		c, err := b.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if waited := time.Since(began); waited < HandshakeTimeout-100*time.Millisecond || waited > HandshakeTimeout+100*time.Millisecond {
			t.Errorf("a connection was accepted after %s, want the time of the handshakes before it, %s", waited, HandshakeTimeout)
		}
		all.Wait()
		if passed != most || refused != 10 || last > HandshakeTimeout || last < HandshakeTimeout-100*time.Millisecond {
			t.Errorf("%d handshakes within %s, %d refused; want %d within %s, 10", passed, last, refused, most, HandshakeTimeout)
		}
	})
}

// TestHandshakeIsPaced: a TLS server has its handshakes wait.
func TestHandshakeIsPaced(t *testing.T) {
	ca, err := certs.NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(certs.Server{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	serving := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	synctest.Test(t, func(t *testing.T) {
		network := pipetest.Listen()
		b := Bound(network, Bounds{Connections: 1, Patience: time.Minute})
		l := b.Secure(&tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return serving, nil }})
		began := time.Now()
		b.pace.ReserveN(began, connectionBurst)
		go func() {
			c := tls.Client(network.Connect(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // of no interest here
			defer c.Close()
			if err := c.Handshake(); err != nil {
				t.Error(err)
			}
		}()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.(*tls.Conn).HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want, took := (1+handshakeCost)*time.Second/connectionRate, time.Since(began); took != want {
			t.Errorf("connected after %s, want %s", took, want)
		}
	})
}
