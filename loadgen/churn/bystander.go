package churn

import (
	"context"

	"github.com/watchbench/watchbench/loadgen/plan"
)

const bystanderInFlight = 10

// trickle updates the bystander objects until ctx ends.
func (e *Engine) trickle(ctx context.Context, phase string) error {
	start := e.clock.now()
	l := newLanes(bystanderInFlight)
	for op := range e.plan.Bystander(phase) {
		intended := start + int64(op.At)
		if !e.clock.sleepUntil(ctx, intended) {
			break
		}
		l.submit(op.Target.Lane, func() {
			if l.acquire(ctx) {
				defer l.release()
				e.updateBystander(context.WithoutCancel(ctx), op, intended)
			}
		})
	}
	l.wait()
	return nil
}

// updateBystander sends one update of the trickle. A failed one is recorded and not repeated: the next is not far.
func (e *Engine) updateBystander(ctx context.Context, op plan.Op, intended int64) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	started := e.clock.now()
	a := e.send(ctx, op, intended)
	o := e.newTarget(op.Target)
	o.uid = a.uid
	e.recordAttempt(op, o, a, 0, times{intended: intended, started: started, finished: e.clock.now()})
}
