package pod

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// removeLimit bounds the removal of Jobs whose parties have ended; what is left then is the run's to remove.
const removeLimit = time.Minute

// Clean removes what the stand-ins of a run, the Owner in their Specs, have left in the namespace, and returns once
// nothing of it is there.
func (p *Place) Clean(ctx context.Context, run string) error {
	defer p.close()
	return p.remove(ctx, grace+removeLimit, labelInstance+"="+run)
}

// remove deletes the Jobs with these labels, also after the end of ctx, and returns once they and their Pods are gone.
func (p *Place) remove(ctx context.Context, limit time.Duration, labels string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	of := metav1.ListOptions{LabelSelector: labels}
	jobs, pods := p.client.BatchV1().Jobs(p.namespace), p.client.CoreV1().Pods(p.namespace)
	var last error
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		found, err := jobs.List(ctx, of)
		if last = err; err != nil {
			return apierrors.IsForbidden(err), nil
		}
		for _, j := range found.Items {
			last = errors.Join(last, jobs.Delete(ctx, j.Name,
				metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
		}
		left, err := pods.List(ctx, of)
		last = errors.Join(last, err)
		return err == nil && len(found.Items)+len(left.Items) == 0 || apierrors.IsForbidden(last), nil
	})
	if err = errors.Join(err, last); err != nil {
		return fmt.Errorf("remove what has the labels %s in the namespace %s: %w", labels, p.namespace, err)
	}
	return nil
}
