package churn

import (
	"cmp"
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

// Teardown removes everything that the run created, and waits. It may be called after any error, its own included.
func (e *Engine) Teardown(ctx context.Context) error {
	e.enter(oplog.PhaseTeardown)
	early, cancel := beforeEnd(ctx)
	defer cancel()
	if err := errors.Join(e.deletePods(early), e.deleteNamespaces(early), e.deleteOutside(ctx)); err != nil {
		return fmt.Errorf("removing what the run created (label %s=%s): %w", RunLabel, e.cfg.RunID, err)
	}
	return nil
}

// reserve is kept for leases and nodes when namespaces do not go away.
const reserve = 0.2

func beforeEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, time.Duration((1-reserve)*float64(time.Until(end))), errTimeUp)
}

var errTimeUp = errors.New("the time for the teardown is up")

// deletePods deletes many at a time, where a collection goes one by one. What it misses goes with the namespace.
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
	return errors.Join(append(errs, err)...)
}

const finalizerPage = 500

// removeFinalizers frees the pods of Jobs: no controller would, and the namespace waits for them.
func (e *Engine) removeFinalizers(ctx context.Context, namespace string) error {
	pods := e.client.meta.Resource(resource(kindPod)).Namespace(namespace)
	opts := metav1.ListOptions{LabelSelector: RunLabel + "=" + e.cfg.RunID, Limit: finalizerPage}
	for {
		list, err := pods.List(ctx, opts)
		if err != nil {
			return fmt.Errorf("listing the pods of namespace %s: %w", namespace, err)
		}
		for _, p := range list.Items {
			if len(p.Finalizers) == 0 {
				continue
			}
			_, err := pods.Patch(ctx, p.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
				metav1.PatchOptions{FieldManager: fieldManager})
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("taking the finalizers off pod %s/%s: %w", namespace, p.Name, err)
			}
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// Inherit has Teardown remove what any shard made: one has died.
func (e *Engine) Inherit() {
	c := e.created
	c.mu.Lock()
	defer c.mu.Unlock()
	c.namespaces = nil
	for i := range e.cfg.Namespaces {
		c.namespaces = append(c.namespaces, e.cfg.NamespaceName(i))
	}
	take := func(o outside) {
		uid := c.outside[o] // "" where it is not known: whatever it is
		c.outside[o] = uid
	}
	for i := range e.cfg.Nodes {
		take(outside{kindNode, resource(kindNode), "", e.cfg.NodeName(i)})
		take(outside{kindLease, resource(kindLease), leaseNamespace, e.cfg.NodeName(i)})
	}
	if e.cfg.HasWidgets() {
		take(outside{kindDefinition, definitions, "", definition(nil).GetName()})
	}
}

// outcome is the answer in the record of a deletion that took more than one request.
func outcome(err error) answer {
	if err != nil {
		return answer{err: err}
	}
	return answer{status: http.StatusOK}
}

func (e *Engine) deleteOutside(ctx context.Context) error {
	e.created.mu.Lock()
	uids := maps.Clone(e.created.outside)
	e.created.mu.Unlock()
	all := slices.Collect(maps.Keys(uids))
	errs := make([]error, len(all))
	err := each(ctx, upTo(len(all)), func(ctx context.Context, i int) error {
		if err := e.deleteOne(ctx, all[i], uids[all[i]]); err != nil {
			errs[i] = fmt.Errorf("%s %s: %w", all[i].kind, all[i].name, err)
		}
		return nil // the others are deleted all the same
	})
	return errors.Join(append(errs, err)...)
}

// deleteOne deletes an object only if it has the uid of its creation, where known, and the run's label. It waits for
// the end of a definition, which another run would use.
func (e *Engine) deleteOne(ctx context.Context, o outside, uid types.UID) error {
	client := e.client.meta.Resource(o.in).Namespace(o.namespace)
	r := e.free(o.kind, o.namespace, o.name, oplog.TypeDelete)
	m, err := client.Get(ctx, o.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case m.Labels[RunLabel] != e.cfg.RunID && o.kind == kindDefinition:
		return nil // another run has taken it over
	case m.Labels[RunLabel] != e.cfg.RunID:
		return fmt.Errorf("it does not carry the label %s=%s any more: not deleted", RunLabel, e.cfg.RunID)
	}
	uid = cmp.Or(uid, m.UID)
	err = client.Delete(ctx, o.name, *deleteWithin(0, uid))
	others := apierrors.IsNotFound(err) || apierrors.IsConflict(err) // gone, or somebody else's under the same name
	if others {
		err = nil
	}
	a := outcome(err)
	a.uid = uid
	a.version, _ = parseVersion(m.ResourceVersion)
	e.record(r, a)
	if err != nil || others || o.kind != kindDefinition {
		return err
	}
	return e.poll(ctx, servedLimit, "its end", func(ctx context.Context) error {
		if _, err := client.Get(ctx, o.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.New("it is still there")
		}
		return nil
	})
}
