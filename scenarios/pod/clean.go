package pod

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// Clean removes what the stand-ins of a run, the Owner in their Specs, have left in the namespace, and returns once
// nothing of it is there.
func Clean(ctx context.Context, cfg *rest.Config, namespace, run string) error {
	at, err := newPlace(cfg, namespace)
	if err != nil {
		return err
	}
	defer at.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+removeLimit)
	defer cancel()
	of := metav1.ListOptions{LabelSelector: labelInstance + "=" + run}
	jobs, pods := at.client.BatchV1().Jobs(namespace), at.client.CoreV1().Pods(namespace)
	var last error
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		found, err := jobs.List(ctx, of)
		if last = err; err != nil {
			return false, nil
		}
		for _, j := range found.Items {
			last = errors.Join(last, jobs.Delete(ctx, j.Name,
				metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
		}
		left, err := pods.List(ctx, of)
		last = errors.Join(last, err)
		return err == nil && len(found.Items)+len(left.Items) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait until nothing of the run %s is left in the namespace %s: %w", run, namespace,
			errors.Join(context.Cause(ctx), last))
	}
	return nil
}
