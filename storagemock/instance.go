package storagemock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

// instance is one address with a capacity of its own.
type instance struct {
	srv      *Server
	number   int
	stations *behavior.Stations
	pending  atomic.Int64 // requests between arrival and answer
	gate     *faultlist.Gate
	listener net.Listener // the gate, or TLS over it

	// hard ends when no request may wait any longer, soft when those that would never be answered may not. Both are set
	// by run.
	hard, soft context.Context
	// serving is held for reading by each request; run locks it for good at its end, so that nothing is applied
	// afterwards.
	serving sync.RWMutex
}

// grace is how long requests in progress may take to finish once Run's context has ended.
const grace = 10 * time.Second

// run serves until ctx ends, then lets requests in progress finish within the grace.
func (in *instance) run(ctx context.Context) error {
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	in.hard, in.soft = hard, ctx
	h := &http.Server{
		Handler: in, ReadTimeout: readTimeout, ReadHeaderTimeout: readTimeout, IdleTimeout: -1, MaxHeaderBytes: maxHead,
		ErrorLog: slog.NewLogLogger(in.srv.log.Handler(), slog.LevelDebug),
	}
	if err := lifecycle.Serve(ctx, h, in.listener, grace); err != nil {
		return fmt.Errorf("accepting connections on %s: %w", in.gate.Addr(), errors.Join(err, h.Close()))
	}
	cut() // what still waits has had its grace
	in.serving.Lock()
	return nil
}
