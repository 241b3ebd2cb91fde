package churn

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// targets holds the state of the objects that operations write, each as long as somebody holds its target: an Event
// needs the uid of a pod that is long gone.
type targets struct {
	mu  sync.Mutex // guards all
	all map[weak.Pointer[plan.Target]]*openObject
}

// of returns the state of a target; build makes it the first time.
func (t *targets) of(target *plan.Target, build func(*plan.Target) *object) *openObject {
	key := weak.Make(target)
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.all[key]
	if o == nil {
		o = &openObject{object: build(target), made: make(chan struct{})}
		t.all[key] = o
		runtime.AddCleanup(target, t.forget, key)
	}
	return o
}

func (t *targets) forget(key weak.Pointer[plan.Target]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, key)
}

// UID returns the uid of a target whose creation was acknowledged, else "".
func (t *targets) UID(target *plan.Target) types.UID {
	t.mu.Lock()
	o := t.all[weak.Make(target)]
	t.mu.Unlock()
	if o == nil {
		return ""
	}
	select {
	case <-o.made:
		return o.uid
	default:
		return ""
	}
}

// openObject is an object of a plan's operations; only its lane touches broken.
type openObject struct {
	*object
	broken bool          // the operations that follow are skipped
	made   chan struct{} // closed when its creation was answered or given up
}

// dependsOn are the targets that must have been created before op is sent.
func dependsOn(op plan.Op) []*plan.Target {
	var all []*plan.Target
	if op.Type == oplog.TypeCreate {
		if op.Target.Owner != nil {
			all = append(all, op.Target.Owner)
		}
		if op.Target.Subject != nil {
			all = append(all, op.Target.Subject)
		}
	}
	if op.State != nil {
		all = append(all, op.State.Endpoints...)
	}
	return all
}

// awaitTargets waits until all that op names were created. It returns false if ctx ended, or if there is no owner.
func (e *Engine) awaitTargets(ctx context.Context, op plan.Op) bool {
	for _, t := range dependsOn(op) {
		o := e.targets.of(t, e.newTarget)
		select {
		case <-o.made:
		default:
			select {
			case <-o.made:
			case <-ctx.Done():
				return false
			}
		}
		if t == op.Target.Owner && o.uid == "" {
			return false
		}
	}
	return true
}

// carry sends an operation once what it names is there and l has a place. It returns when it began, 0 for never.
func (e *Engine) carry(ctx context.Context, op plan.Op, o *openObject, intended int64, l *lanes) (started int64,
	err error) {
	if op.Type == oplog.TypeCreate {
		defer close(o.made)
	}
	switch {
	case o.broken:
	case !e.awaitTargets(ctx, op):
		o.broken = true
	case l != nil && !l.acquire(ctx):
		return 0, context.Cause(ctx)
	default:
		if l != nil {
			defer l.release()
		}
		started, err = e.perform(ctx, op, o.object, intended)
		o.broken = err != nil
		return started, err
	}
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	e.stats.skip(op)
	return 0, ErrSkipped
}
