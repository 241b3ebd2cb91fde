package lifecycle

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// ServeHTTP serves on l until ctx ends, then gives requests under way the grace and
// cuts the rest; l is closed when it returns. The end of ctx is no error.
func ServeHTTP(ctx context.Context, srv *http.Server, l net.Listener, grace time.Duration) error {
	failed := make(chan error, 1) // one send, by Serve
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		_ = srv.Close()
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if srv.Shutdown(limit) != nil {
		_ = srv.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
