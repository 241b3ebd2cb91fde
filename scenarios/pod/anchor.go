package pod

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// AnchorConfig names a run.
type AnchorConfig struct {
	REST      *rest.Config
	Namespace string
	Name      string // of the run, the Owner in a Spec
}

// Anchored is all that a run has made in its namespace.
type Anchored struct {
	place *place
	name  string
}

// Anchor makes nothing: what it returns finds a run's Jobs by their label.
func Anchor(_ context.Context, c AnchorConfig) (*Anchored, error) {
	at, err := newPlace(c.REST, c.Namespace)
	if err != nil {
		return nil, err
	}
	return &Anchored{at, c.Name}, nil
}

// Close removes what stand-ins have left, and returns once nothing of the run is there.
func (a *Anchored) Close(ctx context.Context) error {
	defer a.place.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+removeLimit)
	defer cancel()
	of := metav1.ListOptions{LabelSelector: labelInstance + "=" + a.name}
	jobs, pods := a.place.client.BatchV1().Jobs(a.place.namespace), a.place.client.CoreV1().Pods(a.place.namespace)
	var last error
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
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
		return fmt.Errorf("wait until nothing of the run %s is left in the namespace %s: %w", a.name, a.place.namespace,
			errors.Join(context.Cause(ctx), last))
	}
	return nil
}
