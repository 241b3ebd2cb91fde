package churn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/internal/cluster/owned"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Teardown removes everything that the run created and returns when it is gone, or
// when ctx ends. It may be called after an error of any other method and again
// after an error of its own. Heartbeat must have returned.
func (e *Engine) Teardown(ctx context.Context) error {
	e.enter(oplog.PhaseTeardown)
	early, cancel := beforeEnd(ctx)
	defer cancel()
	errs := []error{e.deletePods(early), e.deleteNamespaces(early), e.deleteLeases(ctx), e.deleteNodes(ctx),
		e.definition.undefine(ctx)}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("removing what the run created (label %s=%s): %w", RunLabel, e.cfg.RunID, err)
	}
	return nil
}

// reserve is kept for leases and nodes when namespaces do not go away.
const reserve = 0.2

// beforeEnd ends earlier than ctx by the reserve.
func beforeEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, time.Duration((1-reserve)*float64(time.Until(end))), errTimeUp)
}

var errTimeUp = errors.New("the time for the teardown is up")

// deletePods deletes the known pods many at a time: a collection is deleted one by
// one, which takes long for a large prefill. What it misses goes with the
// namespace.
func (e *Engine) deletePods(ctx context.Context) error {
	e.created.mu.Lock()
	pods := slices.Collect(maps.Values(e.created.pods))
	e.created.mu.Unlock()
	return each(ctx, upTo(len(pods)), func(ctx context.Context, i int) error {
		st, now := pods[i], e.clock.now()
		op := plan.Op{ID: e.freeID(), Phase: oplog.PhaseTeardown, Type: oplog.TypeDelete, Thread: plan.ThreadNone}
		ctx, cancel := context.WithTimeout(ctx, e.timeout)
		defer cancel()
		a := do(ctx,
			e.client.forLane(int64(i)).Delete().Namespace(st.namespace).Resource("pods").Name(st.name).Body(deleteWithin(0,
				st.uid)), true)
		gone := apierrors.IsNotFound(a.err) || apierrors.IsConflict(a.err) // or another pod by now
		e.recordAttempt(op, st, a, 0, times{intended: now, started: now, finished: e.clock.now()})
		if a.err != nil && !gone && ctx.Err() != nil {
			return fmt.Errorf("deleting pod %s/%s: %w", st.namespace, st.name, a.err)
		}
		if a.err == nil || gone {
			e.created.drop(st)
		}
		return nil // the namespace's deletion tries again
	})
}

func (e *Engine) deleteNamespaces(ctx context.Context) error {
	e.created.mu.Lock()
	names := slices.Clone(e.created.namespaces)
	e.created.mu.Unlock()
	errs := make([]error, len(names))
	err := each(ctx, upTo(len(names)), func(ctx context.Context, i int) error {
		r := e.free("Namespace", "", names[i], oplog.TypeDelete)
		if e.profile() {
			errs[i] = e.removeFinalizers(ctx, names[i])
		}
		if errs[i] == nil {
			errs[i] = owned.DeleteNamespace(ctx, e.rest, names[i], e.cfg.RunID)
		}
		e.record(r, outcome(errs[i]))
		return nil
	})
	e.created.mu.Lock()
	e.created.namespaces = slices.DeleteFunc(e.created.namespaces, func(name string) bool {
		i := slices.Index(names, name)
		return errs[i] == nil && err == nil
	})
	e.created.mu.Unlock()
	return errors.Join(append(errs, err)...)
}

func (e *Engine) deleteLeases(ctx context.Context) error {
	return deleteNamed(ctx, e, "Lease", e.created.leases, e.client.controlSet.CoordinationV1().Leases(leaseNamespace))
}

func (e *Engine) deleteNodes(ctx context.Context) error {
	return deleteNamed(ctx, e, "Node", e.created.nodes, e.client.controlSet.CoreV1().Nodes())
}

// namedClient is the part of a typed client that deleteNamed uses.
type namedClient[T metav1.Object] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// outcome is the answer in the record of a deletion that took more than one request.
func outcome(err error) answer {
	if err != nil {
		return answer{err: err}
	}
	return answer{status: http.StatusOK}
}

// deleteNamed deletes objects that live outside the run's namespaces, each only if
// its uid is that of the creation and it carries the run's label.
func deleteNamed[T metav1.Object](ctx context.Context, e *Engine, kind string, of map[string]types.UID,
	client namedClient[T]) error {
	e.created.mu.Lock()
	uids := maps.Clone(of)
	e.created.mu.Unlock()
	names := slices.Sorted(maps.Keys(uids))
	errs := make([]error, len(names))
	err := each(ctx, upTo(len(names)), func(ctx context.Context, i int) error {
		name := names[i]
		r := e.free(kind, "", name, oplog.TypeDelete)
		obj, err := client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			err = nil
		case err != nil:
		case obj.GetLabels()[RunLabel] != e.cfg.RunID:
			err = fmt.Errorf("it does not carry the label %s=%s any more: not deleted", RunLabel, e.cfg.RunID)
		default:
			uid := uids[name]
			if err = client.Delete(ctx, name, *deleteWithin(0, uid)); apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				err = nil // gone, or somebody else's under the same name
			}
			a := outcome(err)
			a.uid = uid
			a.version, _ = parseVersion(obj.GetResourceVersion())
			r.Namespace = obj.GetNamespace()
			e.record(r, a)
		}
		if err != nil {
			errs[i] = fmt.Errorf("%s %s: %w", kind, name, err)
			return nil // the others are deleted all the same
		}
		e.created.mu.Lock()
		delete(of, name)
		e.created.mu.Unlock()
		return nil
	})
	return errors.Join(append(errs, err)...)
}
