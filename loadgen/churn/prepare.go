package churn

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/shape"
)

const prepareWorkers = 32

// ErrInUse means that objects with the names of this run exist already.
var ErrInUse = errors.New("the run id is in use")

// Prepare makes whatever exists before the load. What it made before an error is removed by Teardown.
func (e *Engine) Prepare(ctx context.Context) error {
	if err := e.reachable(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{{"namespaces", e.createNamespaces}, {"the custom resource", e.define}, {"what the load begins with", e.setUp}} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("creating %s: %w", step.what, err)
		}
	}
	return nil
}

// reachable reports the many ways of not reaching an apiserver as one error.
func (e *Engine) reachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if _, err := e.client.controlSet.CoreV1().RESTClient().Get().AbsPath("/version").MaxRetries(0).DoRaw(ctx); err != nil {
		return fmt.Errorf("reaching the apiserver at %s: %w", e.rest.Host, err)
	}
	return nil
}

// createNamespaces makes the namespaces with their ServiceAccounts; shards but the first wait for it to do so.
func (e *Engine) createNamespaces(ctx context.Context) error {
	return each(ctx, upTo(e.cfg.Namespaces), func(ctx context.Context, i int) error {
		ns := namespace(&e.cfg, i)
		if !e.plan.Shard().First() {
			return e.poll(ctx, meetLimit, "the first shard to make "+ns.Name, func(ctx context.Context) error {
				_, err := e.client.controlSet.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
				return err
			})
		}
		err := e.createOnce(ctx, corev1.SchemeGroupVersion.WithResource("namespaces"), "Namespace", ns)
		if !errors.Is(err, ErrInUse) { // after any other error it may exist all the same
			e.created.mu.Lock()
			e.created.namespaces = append(e.created.namespaces, ns.Name)
			e.created.mu.Unlock()
		}
		if err != nil {
			return err
		}
		// The ServiceAccount admission plugin refuses pods without this, and its controller may be slow or absent.
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: ns.Name,
			Labels: runLabels(&e.cfg)}}
		err = e.createOnce(ctx, corev1.SchemeGroupVersion.WithResource("serviceaccounts"), "ServiceAccount", account)
		if !errors.Is(err, ErrInUse) {
			return err
		}
		return nil // somebody else made it
	})
}

// createOnce creates and records an object that is none of the plan's.
func (e *Engine) createOnce(ctx context.Context, in schema.GroupVersionResource, kind string, obj shape.Object) error {
	rec := e.free(kind, obj.GetNamespace(), obj.GetName(), oplog.TypeCreate)
	obj.SetAnnotations(Marks(rec.ID, rec.Intended))
	r, err := request(e.client.controlSet.CoreV1().RESTClient(), shape.Request{Verb: shape.VerbCreate, Resource: in,
		Namespace: rec.Namespace, Name: rec.Name, FieldManager: fieldManager, Object: obj})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	a := do(ctx, r, true)
	e.record(rec, a)
	if kind == kindDefinition && !apierrors.IsAlreadyExists(a.err) {
		e.created.keep(outside{kind: kind, in: in, name: rec.Name}, a.uid)
	}
	if a.err != nil {
		return e.notCreated(kind, rec.Name, a.err)
	}
	return nil
}

func (e *Engine) notCreated(kind, name string, err error) error {
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w: %s %s exists, from a run that is under way or was killed: choose another runID, or clean up "+
			"with kubectl delete namespaces,nodes,leases,crd -A -l %s=%s", ErrInUse, kind, name, RunLabel, e.cfg.RunID)
	}
	return fmt.Errorf("creating %s %s: %w", kind, name, err)
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
