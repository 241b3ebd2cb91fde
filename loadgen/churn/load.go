package churn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Warmup sends the plan's warm-up, if it has one, as a closed loop.
func (e *Engine) Warmup(ctx context.Context) error {
	threads := e.plan.WarmupThreads()
	if threads == 0 {
		return nil
	}
	e.enter(oplog.PhaseWarmup)
	err := e.besideBystander(ctx, oplog.PhaseWarmup, func(ctx context.Context) error {
		return e.closedLoop(ctx, threads, e.plan.WarmupThread, time.Time{})
	})
	if err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	return nil
}

// Load sends the plan's load and reports on it. begun, unless nil, is called with the
// time at which it begins, in Unix nanoseconds. When ctx ends first, the Stats cover
// what was sent.
func (e *Engine) Load(ctx context.Context, begun func(started int64)) (Stats, error) {
	return e.load(ctx, begun, func(ctx context.Context) error {
		if e.cfg.Model == plan.ModelOpen {
			return e.openLoop(ctx)
		}
		var deadline time.Time
		if e.cfg.Duration > 0 {
			deadline = time.Now().Add(e.cfg.Duration.Std())
		}
		return e.closedLoop(ctx, e.cfg.Threads, e.plan.Thread, deadline)
	})
}

// load is the phase around send, which sends the operations.
func (e *Engine) load(ctx context.Context, begun func(started int64), send func(context.Context) error) (Stats, error) {
	e.enter(oplog.PhaseLoad)
	e.stats.reset()
	e.loadStarted.Store(e.clock.now())
	if begun != nil {
		begun(e.loadStarted.Load())
	}
	err := e.besideBystander(ctx, oplog.PhaseLoad, send)
	finished := e.clock.now()
	e.loadFinished.Store(finished)
	e.enter(oplog.PhaseDrain)
	if err != nil {
		err = fmt.Errorf("sending the load: %w", err)
	}
	return e.snapshot(), err
}

// besideBystander runs send with the bystander's trickle beside it.
func (e *Engine) besideBystander(ctx context.Context, phase string, send func(context.Context) error) error {
	ctx, stop := e.health.watch(ctx)
	defer stop()
	trickle, done := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { return e.trickle(trickle, phase) })
	err := send(ctx)
	done()
	err = errors.Join(err, g.Wait())
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// closedLoop runs the threads until their operations are sent or the deadline (if
// it is not zero) has passed. Requests under way at the deadline are waited for.
func (e *Engine) closedLoop(ctx context.Context, threads int, ops func(int) iter.Seq[plan.Op], deadline time.Time) error {
	// Only waiting ends at the deadline, not requests.
	waitCtx, cancel := ctx, context.CancelFunc(func() {})
	if !deadline.IsZero() {
		waitCtx, cancel = context.WithDeadline(ctx, deadline)
	}
	defer cancel()
	var g errgroup.Group
	for k := range threads {
		g.Go(func() error {
			e.thread(ctx, waitCtx, ops(k))
			return ctx.Err()
		})
	}
	return g.Wait()
}

// thread sends one operation after the other, and the patches of a burst all at once.
// An operation is intended for the moment the thread is free, plus think time and the
// stage's gap.
func (e *Engine) thread(ctx, waitCtx context.Context, ops iter.Seq[plan.Op]) {
	free := e.clock.now()
	var burst sync.WaitGroup
	defer burst.Wait()
	for op := range ops {
		o := e.targets.of(op.Target, e.newTarget)
		intended := free + int64(e.cfg.ThinkTime)
		if op.Hot {
			if !e.clock.sleepUntil(waitCtx, intended) {
				return
			}
			e.stats.begin(op)
			burst.Go(func() { _, _ = e.perform(ctx, op, o.object, intended) }) // given up, it stops nothing else
			if op.Burst == 0 {
				burst.Wait()
				free = e.clock.now()
			}
			continue
		}
		intended += int64(op.Gap)
		if o.broken { // it is skipped
			intended = e.clock.now()
		}
		if !e.clock.sleepUntil(waitCtx, intended) {
			return
		}
		e.stats.begin(op)
		_, _ = e.carry(ctx, op, o, intended, nil)
		free = e.clock.now()
	}
}

// openLoop dispatches every operation at its time, whether or not former ones were
// answered; those of one pod still go one after the other.
func (e *Engine) openLoop(ctx context.Context) error {
	start := e.loadStarted.Load()
	l := newLanes(e.cfg.InFlightLimit())
	for op := range e.plan.Timed() {
		intended := start + int64(op.At)
		if !e.clock.sleepUntil(ctx, intended) {
			break
		}
		o, lane := e.targetLane(op)
		l.submit(lane, func() { _, _ = e.carry(ctx, op, o, intended, l) })
	}
	l.wait()
	return ctx.Err()
}

// targetLane is what is known of an operation's target, and the lane that the operation
// waits in: that of a hot patch is its own, since it waits for no other, and whatever becomes
// of it, it stops nothing else. Lanes of targets are not negative.
func (e *Engine) targetLane(op plan.Op) (*openObject, int64) {
	o := e.targets.of(op.Target, e.newTarget)
	if op.Hot {
		return &openObject{object: o.object}, -op.ID
	}
	return o, op.Target.Lane
}
