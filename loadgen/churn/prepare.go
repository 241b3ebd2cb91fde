package churn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// prepareWorkers is how many objects are made (and removed) at a time.
const prepareWorkers = 32

// ErrInUse means that objects with the names of this run exist already.
var ErrInUse = errors.New("the run id is in use")

// Prepare makes the namespaces, nodes, bystander objects, prefilled and hot pods, or what
// a profile begins with.
// Whatever it made before an error is removed by Teardown.
func (e *Engine) Prepare(ctx context.Context) error {
	if err := e.reachable(ctx); err != nil {
		return err
	}
	type step struct {
		what string
		do   func(context.Context) error
	}
	steps := []step{
		{"namespaces", e.createNamespaces},
		{"nodes", e.createNodes},
		{"bystander objects", e.createBystanders},
		{"prefilled pods", e.prefill},
		{"hot pods", e.createHotPods},
	}
	if e.profile() {
		steps = []step{
			{"namespaces", e.createNamespaces},
			{"bystander objects", e.createBystanders},
			{"the custom resource", e.define},
			{"what the profile begins with", e.setUp},
		}
	}
	if e.part > 0 {
		steps = []step{
			{"the custom resource", e.awaitDefinition},
			{"what the profile begins with", e.setUp},
		}
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("creating %s: %w", step.what, err)
		}
	}
	return nil
}

// reachable turns the many ways of not reaching an apiserver into one error.
func (e *Engine) reachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if _, err := e.client.controlSet.CoreV1().RESTClient().Get().AbsPath("/version").MaxRetries(0).DoRaw(ctx); err != nil {
		return fmt.Errorf("reaching the apiserver at %s: %w", e.rest.Host, err)
	}
	return nil
}

func (e *Engine) createNamespaces(ctx context.Context) error {
	return each(ctx, upTo(e.cfg.Namespaces), func(ctx context.Context, i int) error {
		ns := e.pods.namespace(i)
		err := e.createOnce(ctx, creation{kind: "Namespace", resource: "namespaces"}, func(id, intended int64) object {
			ns.Annotations = marks(id, intended)
			return ns
		})
		e.created.keep(err, func(c *created) { c.namespaces = append(c.namespaces, ns.Name) })
		if err != nil {
			return err
		}
		// Where the ServiceAccount admission plugin is on, pods are refused until the
		// namespace has this; the controller that makes it may be slow or absent.
		return e.createOnce(ctx, creation{kind: "ServiceAccount", resource: "serviceaccounts", mayExist: true}, func(id, intended int64) object {
			return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
				Name: "default", Namespace: ns.Name, Labels: e.pods.runLabels(), Annotations: marks(id, intended),
			}}
		})
	})
}

func (e *Engine) prefill(ctx context.Context) error {
	ctx, stop := e.health.watch(ctx)
	defer stop()
	err := each(ctx, e.plan.Prefill(), func(ctx context.Context, op plan.Op) error {
		_, err := e.perform(ctx, op, e.newPod(op), e.clock.now())
		return err
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// createHotPods makes the pods that the load's bursts patch.
func (e *Engine) createHotPods(ctx context.Context) error {
	made := e.plan.HotPods()
	e.hot = make([]*pod, len(made))
	return each(ctx, slices.Values(made), func(ctx context.Context, ops []plan.Op) error {
		st := e.newPod(ops[0])
		e.hot[ops[0].Object] = st
		for _, op := range ops {
			if _, err := e.perform(ctx, op, st, e.clock.now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// object is what the engine creates beside pods.
type object interface {
	runtime.Object
	metav1.Object
}

var (
	_ object = (*corev1.Namespace)(nil)
	_ object = (*corev1.Node)(nil)
	_ object = (*coordinationv1.Lease)(nil)
)

// creation says how one kind is created.
type creation struct {
	kind, resource string
	client         rest.Interface // nil: the core group's
	bystander      bool
	mayExist       bool // somebody else may have made it
}

// createOnce creates one object of the prepare phase and records it. The object
// gets its uid.
func (e *Engine) createOnce(ctx context.Context, c creation, build func(id, intended int64) object) error {
	r := e.free(c.kind, "", "", oplog.TypeCreate)
	obj := build(r.ID, r.Intended)
	client := c.client
	if client == nil {
		client = e.client.controlSet.CoreV1().RESTClient()
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	a := do(ctx, client.Post().NamespaceIfScoped(obj.GetNamespace(), obj.GetNamespace() != "").Resource(c.resource).
		VersionedParams(&metav1.CreateOptions{FieldManager: fieldManager}, scheme.ParameterCodec).Body(obj), true)
	r.Namespace, r.Name, r.Bystander = obj.GetNamespace(), obj.GetName(), c.bystander
	e.record(r, a)
	switch {
	case a.err == nil:
		obj.SetUID(a.uid)
		return nil
	case apierrors.IsAlreadyExists(a.err) && c.mayExist:
		return nil
	case apierrors.IsAlreadyExists(a.err):
		return fmt.Errorf("%w: %s %s exists, from a run that is under way or was killed: choose another runID, or clean up with watchbench churn --remove %s",
			ErrInUse, c.kind, obj.GetName(), e.cfg.RunID)
	default:
		return fmt.Errorf("creating %s %s: %w", c.kind, obj.GetName(), a.err)
	}
}

// each calls f for every item, prepareWorkers at a time, until one fails.
func each[T any](ctx context.Context, items iter.Seq[T], f func(context.Context, T) error) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(prepareWorkers)
	for item := range items {
		if within.Err() != nil {
			break
		}
		g.Go(func() error { return f(within, item) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// upTo yields 0 … n-1.
func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

// nodeSince is a node's last transition: long ago, as that of a node at rest.
func nodeSince(now time.Time) time.Time { return now.Add(-time.Hour) }
