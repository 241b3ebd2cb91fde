package party

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestProbesLeaveNoConnection: a probe has a connection of its own, counts as a request, and closes it.
func TestProbesLeaveNoConnection(t *testing.T) {
	var opened, closed, asked atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			closed.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	w := &Watcher{Process: &Process{}, setup: WatcherSetup{Asked: &asked}, health: srv.URL}
	for range 3 {
		if _, err := w.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(time.Minute); closed.Load() < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if opened.Load() != 3 || closed.Load() != 3 || asked.Load() != 3 {
		t.Errorf("%d connections opened, %d closed, %d requests counted", opened.Load(), closed.Load(), asked.Load())
	}
}
