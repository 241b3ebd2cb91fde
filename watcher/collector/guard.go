package collector

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// errIdle ends a connection on which nothing arrives.
var errIdle = errors.New("nothing arrived for too long")

// cause prefers the reason for which ctx was cancelled over what it led to.
func cause(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errIdle) {
		return errIdle
	}
	return err
}

// idleGuard cancels a request when a read takes too long. It runs only while a
// read is under way: a consumer that blocks does not count against the connection.
type idleGuard struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil: never
	limit  time.Duration
}

// guardIdle starts the clock at once, for the time until the answer begins.
func guardIdle(ctx context.Context, limit time.Duration) (context.Context, *idleGuard) {
	ctx, cancel := context.WithCancelCause(ctx)
	g := &idleGuard{cancel: cancel, limit: limit}
	if limit > 0 {
		g.timer = time.AfterFunc(limit, func() { cancel(errIdle) })
	}
	return ctx, g
}

func (g *idleGuard) start() {
	if g.timer != nil {
		g.timer.Reset(g.limit)
	}
}

func (g *idleGuard) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

func (g *idleGuard) close() {
	g.stop()
	g.cancel(nil)
}

// guardedReader runs the guard during each read.
type guardedReader struct {
	io.Reader
	guard *idleGuard
	life  *life // of the kind that is read; nil: of none
}

func (r *guardedReader) Read(p []byte) (int, error) {
	r.guard.start()
	n, err := r.Reader.Read(p)
	r.guard.stop()
	if n > 0 && r.life != nil {
		r.life.sign()
	}
	return n, err
}

// turns is a mutex for what may wait long, like a Sink's room: waiting for it in
// virtual time does not stop the clock.
type turns struct {
	once sync.Once
	turn chan struct{} // size 1: the token is with the holder
}

func (t *turns) Lock() {
	t.once.Do(func() { t.turn = make(chan struct{}, 1) })
	t.turn <- struct{}{}
}

func (t *turns) Unlock() { <-t.turn }

// gate counts what is running, and lets nothing new in once it is shut: client-go's
// reflector leaves a goroutine behind that may still want to list.
type gate struct {
	mu   sync.Mutex
	shut bool // guarded by mu
	wg   sync.WaitGroup
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.wg.Add(1)
	return true
}

func (g *gate) leave() { g.wg.Done() }

// wait shuts the gate and returns when everything has left.
func (g *gate) wait() {
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()
	g.wg.Wait()
}
