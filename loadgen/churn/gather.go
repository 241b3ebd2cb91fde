package churn

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shards that no process controls meet by Leases in the run's first namespace: one of each shard when it is ready, one
// of the first shard with the instant at which all begin, and one of each shard when its load is over.
const (
	meetReady = "watchbench-ready"
	meetStart = "watchbench-start"
	meetOver  = "watchbench-over"
)

const (
	// meetLimit bounds the wait for other shards, which may have more to prepare or to send.
	meetLimit = 10 * time.Minute
	// meetLead is how long before the start it is decided: some polls, and what clocks of nodes differ by.
	meetLead = 2 * time.Second
)

// Gather returns when the load is to begin, the same for all shards, once all are ready.
func (e *Engine) Gather(ctx context.Context) (at time.Time, err error) {
	s := e.plan.Shard()
	if !s.Divides() {
		return time.Now(), nil
	}
	if err = e.meet(ctx, fmt.Sprintf("%s-%d", meetReady, s.Index), time.Now()); err == nil && s.First() {
		if err = e.awaitShards(ctx, meetReady); err == nil {
			err = e.meet(ctx, meetStart, time.Now().Add(meetLead))
		}
	}
	if err != nil {
		return at, err
	}
	return at, e.poll(ctx, meetLimit, "the shards' common start", func(ctx context.Context) error {
		l, err := e.client.controlSet.CoordinationV1().Leases(e.cfg.NamespaceName(0)).Get(ctx, meetStart, metav1.GetOptions{})
		if err == nil && l.Spec.AcquireTime != nil {
			at = l.Spec.AcquireTime.Time
		}
		return err
	})
}

// Disperse has the first shard, which removes the namespaces, wait for the end of the others' loads.
func (e *Engine) Disperse(ctx context.Context) error {
	s := e.plan.Shard()
	if !s.Divides() {
		return nil
	}
	err := e.meet(context.WithoutCancel(ctx), fmt.Sprintf("%s-%d", meetOver, s.Index), time.Now())
	if err == nil && s.First() {
		err = e.awaitShards(ctx, meetOver)
	}
	return err
}

// meet makes a Lease with a time.
func (e *Engine) meet(ctx context.Context, name string, at time.Time) error {
	return e.createOnce(ctx, resource(kindLease), kindLease, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.cfg.NamespaceName(0), Name: name, Labels: runLabels(&e.cfg)},
		Spec:       coordinationv1.LeaseSpec{AcquireTime: new(metav1.NewMicroTime(at))},
	})
}

// awaitShards waits for the Lease of each shard.
func (e *Engine) awaitShards(ctx context.Context, prefix string) error {
	var errs []error
	for i := 1; i <= e.plan.Shard().Of; i++ {
		name := fmt.Sprintf("%s-%d", prefix, i)
		errs = append(errs, e.poll(ctx, meetLimit, "shard "+name, func(ctx context.Context) error {
			_, err := e.client.meta.Resource(resource(kindLease)).Namespace(e.cfg.NamespaceName(0)).Get(ctx, name, metav1.GetOptions{})
			return err
		}))
	}
	return errors.Join(errs...)
}
