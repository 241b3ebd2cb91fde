package xk6

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"sync/atomic"

	"go.k6.io/k6/lib"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

type shared struct {
	mu   sync.Mutex // guards host
	host *host
}

func (s *shared) get(o Options) (*host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host != nil {
		if !reflect.DeepEqual(s.host.options, o) {
			return nil, fmt.Errorf("%w: one process has one Churn; all virtual users must give the same options", ErrOptions)
		}
		return s.host, nil
	}
	p, err := plan.New(o.Plan)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	s.host = &host{options: o, plan: p, loading: make(chan *churn.Sender, 1), over: make(chan struct{}),
		ended: make(chan struct{})}
	return s.host, nil
}

// host runs a session while k6's virtual users send its load.
type host struct {
	options Options
	plan    *plan.Plan // from prepare on, the shard's part

	begin, end sync.Once
	loading    chan *churn.Sender // one, when the load begins
	over       chan struct{}      // closed when the load is to end
	ended      chan struct{}      // closed when the session has
	err        error              // of the session; read after ended

	sender atomic.Pointer[churn.Sender] // while the load runs
}

// Errors of a script's order of calls.
var (
	errNotPrepared = errors.New("the load has not begun: call prepare() in setup()")
	errBegun       = errors.New("prepare() was called before")
)

// prepare begins the session and returns when its load has begun.
func (h *host) prepare(ctx context.Context, segment *lib.ExecutionSegment) error {
	err := errBegun
	h.begin.Do(func() { err = h.start(ctx, segment) })
	return err
}

func (h *host) start(ctx context.Context, segment *lib.ExecutionSegment) (err error) {
	running := false
	defer func() {
		if !running {
			close(h.ended)
		}
	}()
	cfg, err := kubeapi.ReadConfig(h.options.Kubeconfig, h.options.Context)
	if err != nil {
		return err
	}
	path, shard := h.options.OpLog, h.options.Shard
	if shard == nil {
		all, err := segmentShard(segment)
		if err != nil {
			return err
		}
		if shard = &all; shard.Divides() { // all runners have the script and its options in common
			path = oplog.PartPath(path, shard.Index)
		}
	}
	h.plan = h.plan.Part(*shard)
	if err = userfile.CheckOutputs(oplog.Output("opLog", path)); err != nil {
		return err
	}
	log, err := oplog.Create(path)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	engine, err := churn.New(h.plan, churn.Settings{REST: cfg, Log: log, Logger: logger, Meet: !h.options.Wait})
	if err != nil {
		return errors.Join(err, log.Close())
	}
	settings := churn.SessionSettings{Out: io.Discard, Quiet: true, Log: log, Logger: logger}
	if h.options.Wait {
		settings.Out, settings.Wait, settings.In, settings.Quiet = os.Stdout, true, os.Stdin, false
	}
	// The session outlives setup(); finish ends it, and so does the end of standard input.
	run := context.WithoutCancel(ctx)
	running = true
	go func() {
		defer close(h.ended)
		defer engine.Close()
		if h.err = errors.Join(churn.NewSession(driven{engine, h}, h.plan.Config(), settings).Run(run),
			log.Close()); h.err != nil {
			logger.Error("the load ended", "err", h.err)
		}
	}()
	select {
	case s := <-h.loading:
		h.sender.Store(s)
		return nil
	case <-h.ended:
		return h.err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), h.finish())
	}
}

// finish ends the load and returns when the session has removed what it made.
func (h *host) finish() error {
	h.end.Do(func() { close(h.over) })
	h.begin.Do(func() { close(h.ended) }) // there is nothing to end
	<-h.ended
	return h.err
}

// driven is an engine whose load the virtual users send.
type driven struct {
	*churn.Engine
	host *host
}

var _ churn.Driven = driven{}

// Load implements churn.Driven.
func (d driven) Load(ctx context.Context, begun func(started int64)) (churn.Stats, error) {
	return d.LoadBy(ctx, begun, func(ctx context.Context, s *churn.Sender) error {
		d.host.loading <- s
		defer d.host.sender.Store(nil)
		select {
		case <-d.host.over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}
