package churn

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// setUp makes what exists before the load: each object after those that it names, prepareWorkers at a time.
func (e *Engine) setUp(ctx context.Context) error {
	ctx, stop := e.health.watch(ctx)
	defer stop()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l := newLanes(prepareWorkers)
	// The first of what is dispatched depends on nothing that is not done, so it never waits for what is not dispatched.
	room := make(chan struct{}, 4*prepareWorkers)
	var once sync.Once
	for op := range e.plan.Setup() {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		o := e.targets.of(op.Target, e.newTarget)
		l.submit(op.Target.Lane, func() {
			defer func() { <-room }()
			_, err := e.carry(ctx, op, o, e.clock.now(), l)
			switch {
			case err == nil || errors.Is(err, ErrSkipped):
			case op.Target.Kind == kindLease && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)):
				// A cluster without the namespace for it has no controller that looks for it.
				e.logger.Warn("node gets no lease", "node", op.Target.Name, "err", err)
			case op.Type == oplog.TypeCreate:
				if !apierrors.IsAlreadyExists(err) && o.kind != kindPod {
					e.created.add(o.object) // it may exist all the same
				}
				once.Do(func() { fail(e.notCreated(op.Target.Kind, op.Target.Name, err)) })
			default:
				once.Do(func() { fail(fmt.Errorf("%s %s %s: %w", op.Type, op.Target.Kind, op.Target.Name, err)) })
			}
		})
	}
	l.wait()
	return context.Cause(ctx)
}
