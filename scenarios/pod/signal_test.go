package pod

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestOneSignal: the kernel sends SIGTERM once for each thread of a runner that was killed; the party, which a second one
// would end at once, gets one.
func TestOneSignal(t *testing.T) {
	var sent atomic.Int32
	got := make(chan struct{}, 8)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/signal" && r.URL.Query().Get("signal") == "15" {
			sent.Add(1)
			got <- struct{}{}
		}
	}))
	t.Cleanup(server.Close)
	client := newAgentClient(func(context.Context) (net.Conn, error) { return net.Dial("tcp", server.Listener.Addr().String()) })
	t.Cleanup(client.close)
	signals := make(chan os.Signal, 8)
	for range 4 {
		signals <- syscall.SIGTERM
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&Standin{Signals: signals}).signal(ctx, client)
	}()
	select {
	case <-got:
	case <-time.After(time.Minute):
		t.Fatal("the signal does not arrive")
	}
	select { // long for a request on this machine, and nothing to wait for if all is well
	case <-got:
	case <-time.After(300 * time.Millisecond):
	}
	cancel()
	<-done
	if n := sent.Load(); n != 1 {
		t.Errorf("the party got %d signals, want 1", n)
	}
}
