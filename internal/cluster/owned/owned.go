// Package owned deletes namespaces, and only those that the caller created.
//
// Everything that a run creates in a cluster is in namespaces that carry the label RunLabel with the run's id.
// DeleteNamespace refuses any other, so that a wrong name or a wrong kubeconfig cannot cost somebody their data.
package owned

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// RunLabel is the label whose value is the id of the run that created an object.
const RunLabel = "watchbench.dev/run"

// ForeignError says that a namespace was not created by the run that wants to delete it.
type ForeignError struct {
	Namespace string
	Run       string // who asked
	Label     string // what the namespace says; empty if it has no label
}

func (e *ForeignError) Error() string {
	if e.Label == "" {
		return fmt.Sprintf("namespace %q does not carry the label %s, so no run created it: not deleted", e.Namespace,
			RunLabel)
	}
	return fmt.Sprintf("namespace %q belongs to run %q, not to %q: not deleted", e.Namespace, e.Label, e.Run)
}

const poll = 100 * time.Millisecond

// DeleteNamespace deletes a namespace with all in it, and waits. One of another run is a *ForeignError.
func DeleteNamespace(ctx context.Context, cfg *rest.Config, name, run string) error {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // emptying asks once per kind
	// The apiserver warns of deprecated kinds, all of which it lists itself.
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	namespaces := client.CoreV1().Namespaces()
	ns, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at namespace %q: %w", name, err)
	}
	if label := ns.Labels[RunLabel]; run == "" || label != run {
		return &ForeignError{Namespace: name, Run: run, Label: label}
	}
	// The uid ensures that only the object that was inspected is deleted.
	err = namespaces.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &ns.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete namespace %q: %w", name, err)
	}
	// A namespace controller would wait for a kubelet to end the pods, and the nodes that a run makes have none.
	if err := empty(ctx, cfg, client.Discovery(), name); err != nil {
		return fmt.Errorf("empty namespace %q: %w", name, err)
	}
	controllers, err := HasControllers(ctx, client)
	if err != nil {
		return err
	}
	if !controllers {
		if err := finalize(ctx, client, ns); err != nil {
			return fmt.Errorf("finalize namespace %q: %w", name, err)
		}
	}
	return gone(ctx, client, ns)
}

// HasControllers reports whether a controller manager runs: it gives every namespace a service account at once.
func HasControllers(ctx context.Context, client kubernetes.Interface) (bool, error) {
	_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Get(ctx, "default", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("see whether the cluster has controllers: %w", err)
	}
	return true, nil
}

// empty deletes all objects in a namespace, without grace. The namespace is terminating, so nothing new can appear.
func empty(ctx context.Context, cfg *rest.Config, disco discovery.DiscoveryInterface, name string) error {
	lists, err := disco.ServerPreferredNamespacedResources()
	if err != nil && len(lists) == 0 {
		return fmt.Errorf("discover the kinds: %w", err)
	}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	// Jobs are orphaned by default, and would wait for a collector to do it.
	now, policy := int64(0), metav1.DeletePropagationBackground
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"deletecollection"}}, lists)
	resources, err := discovery.GroupVersionResources(lists)
	errs := []error{err}
	for r := range resources {
		err := objects.Resource(r).Namespace(name).DeleteCollection(ctx,
			metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &policy}, metav1.ListOptions{})
		// Of what we may not delete we made nothing.
		passes := apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsForbidden(err)
		if err != nil && !passes {
			errs = append(errs, fmt.Errorf("delete the %s: %w", r.Resource, err))
		}
	}
	return errors.Join(errs...)
}

func finalize(ctx context.Context, client kubernetes.Interface, ns *corev1.Namespace) error {
	current, err := client.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if current.UID != ns.UID || current.DeletionTimestamp == nil {
		return nil // another one by now
	}
	current.Spec.Finalizers = nil
	_, err = client.CoreV1().Namespaces().Finalize(ctx, current, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func gone(ctx context.Context, client kubernetes.Interface, ns *corev1.Namespace) error {
	err := wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) {
		current, err := client.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && current.UID != ns.UID {
			return true, nil
		}
		if err != nil && ctx.Err() == nil {
			return false, fmt.Errorf("wait for the end of namespace %q: %w", ns.Name, err)
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("namespace %q is still terminating: %w", ns.Name, context.Cause(ctx))
	}
	return err
}
