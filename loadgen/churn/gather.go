package churn

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// meetLimit bounds the wait for another shard, which may have more to prepare or to send.
	meetLimit = 10 * time.Minute
	// meetLead is from when the last is ready to the start: some polls, and what clocks of nodes differ by.
	meetLead = 2 * time.Second
)

// meet has the shards of a plan that no process controls wait for each other: it makes a Lease in the run's first
// namespace, and awaits those of all. It returns the latest of their times.
func (e *Engine) meet(ctx context.Context, what string, wait bool) (last time.Time, err error) {
	if !e.meets {
		return last, nil
	}
	s, namespace := e.plan.Shard(), e.cfg.NamespaceName(0)
	name := func(i int) string { return fmt.Sprintf("watchbench-%s-%d", what, i) }
	err = e.createOnce(context.WithoutCancel(ctx), resource(kindLease), kindLease, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name(s.Index), Labels: runLabels(&e.cfg)},
		Spec:       coordinationv1.LeaseSpec{AcquireTime: new(metav1.NowMicro())},
	})
	for i := 1; err == nil && wait && i <= s.Of; i++ {
		err = e.poll(ctx, meetLimit, fmt.Sprintf("shard %d to be %s", i, what), func(ctx context.Context) error {
			l, err := e.client.controlSet.CoordinationV1().Leases(namespace).Get(ctx, name(i), metav1.GetOptions{})
			if err == nil && l.Spec.AcquireTime != nil && l.Spec.AcquireTime.After(last) {
				last = l.Spec.AcquireTime.Time
			}
			return err
		})
	}
	return last, err
}
