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
	var st *pod
	broken := false // the pod's remaining operations are skipped
	free := e.clock.now()
	think := int64(e.cfg.ThinkTime)
	var burst sync.WaitGroup
	defer burst.Wait()
	for op := range ops {
		if op.Hot {
			intended := free + think
			if !e.clock.sleepUntil(waitCtx, intended) {
				return
			}
			e.stats.begin(op)
			burst.Go(func() { e.patchHot(ctx, op, intended) })
			if op.Burst == 0 {
				burst.Wait()
				free = e.clock.now()
			}
			continue
		}
		if op.Target != nil {
			intended := free + think + int64(op.Gap)
			if !e.clock.sleepUntil(waitCtx, intended) {
				return
			}
			e.stats.begin(op)
			_, _ = e.carry(ctx, op, e.targets.of(op.Target, e.newTarget), intended, nil)
			free = e.clock.now()
			continue
		}
		if op.Type == oplog.TypeCreate {
			st, broken = e.newPod(op), false
		}
		if broken {
			if waitCtx.Err() != nil {
				return
			}
			e.stats.begin(op)
			e.stats.skip(op)
			continue
		}
		intended := free + think + int64(op.Gap)
		if !e.clock.sleepUntil(waitCtx, intended) {
			return
		}
		e.stats.begin(op)
		_, err := e.perform(ctx, op, st, intended)
		broken = err != nil
		free = e.clock.now()
	}
}

// patchHot sends one patch of a burst. One that is given up is counted as such and
// stops nothing else.
func (e *Engine) patchHot(ctx context.Context, op plan.Op, intended int64) {
	if op.Target != nil {
		_, _ = e.perform(ctx, op, e.targets.of(op.Target, e.newTarget).pod, intended)
		return
	}
	_, _ = e.perform(ctx, op, e.hot[op.Object], intended)
}

func (e *Engine) newPod(op plan.Op) *pod {
	return &pod{kind: kindPod, namespace: e.cfg.NamespaceName(op.Pod.Namespace), name: op.Pod.Name}
}

// openLoop dispatches every operation at its time, whether or not former ones were
// answered; those of one pod still go one after the other.
func (e *Engine) openLoop(ctx context.Context) error {
	start := e.loadStarted.Load()
	l := newLanes(e.cfg.InFlightLimit())
	pods := map[int64]*openPod{} // by lane; only this goroutine touches the map
	for op := range e.plan.Timed() {
		intended := start + int64(op.At)
		if !e.clock.sleepUntil(ctx, intended) {
			break
		}
		if op.Target != nil {
			e.submitTarget(ctx, l, op, intended)
			continue
		}
		if op.Hot {
			l.submit(hotLane(op), func() {
				if l.acquire(ctx) {
					defer l.release()
					e.patchHot(ctx, op, intended)
				}
			})
			continue
		}
		if op.Type == oplog.TypeCreate {
			pods[op.Pod.Lane] = &openPod{pod: e.newPod(op)}
		}
		st := pods[op.Pod.Lane]
		if op.Last {
			delete(pods, op.Pod.Lane)
		}
		l.submit(op.Pod.Lane, func() {
			if st.broken {
				e.stats.skip(op)
				return
			}
			if !l.acquire(ctx) {
				return
			}
			defer l.release()
			_, err := e.perform(ctx, op, st.pod, intended)
			st.broken = err != nil
		})
	}
	l.wait()
	return ctx.Err()
}

// submitTarget puts a profile's operation into its lane.
func (e *Engine) submitTarget(ctx context.Context, l *lanes, op plan.Op, intended int64) {
	o, lane := e.targetLane(op)
	l.submit(lane, func() { _, _ = e.carry(ctx, op, o, intended, l) })
}

// targetLane is what is known of the target of a profile's operation, and the lane that
// the operation waits in.
func (e *Engine) targetLane(op plan.Op) (*openPod, int64) {
	o := e.targets.of(op.Target, e.newTarget)
	if op.Hot && op.Type != oplog.TypeCreate {
		// Whatever becomes of it, it stops nothing else.
		return &openPod{pod: o.pod}, hotLane(op)
	}
	return o, op.Target.Lane
}

// hotLane is a lane of the operation's own: it waits for no other. Those of pods are not
// negative.
func hotLane(op plan.Op) int64 { return -op.ID }

// trickle updates the bystander objects until ctx ends.
func (e *Engine) trickle(ctx context.Context, phase string) error {
	if e.cfg.Bystander == nil || e.part > 0 {
		return nil
	}
	start := e.clock.now()
	l := newLanes(bystanderInFlight)
	for op := range e.plan.Bystander(phase) {
		intended := start + int64(op.At)
		if !e.clock.sleepUntil(ctx, intended) {
			break
		}
		l.submit(int64(op.Object), func() {
			if l.acquire(ctx) {
				defer l.release()
				e.updateBystander(context.WithoutCancel(ctx), op, intended)
			}
		})
	}
	l.wait()
	return nil
}
