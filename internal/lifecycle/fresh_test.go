package lifecycle

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestFreshAfterClose: a connection that is accepted while the server ends is closed too.
func TestFreshAfterClose(t *testing.T) {
	var f fresh
	f.close()
	near, far := net.Pipe()
	defer near.Close()
	f.track(far, http.StateNew)
	_ = near.SetReadDeadline(time.Now().Add(time.Second))
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read: %v, want that the other end is closed", err)
	}
}
