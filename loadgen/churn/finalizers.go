package churn

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// finalizerPage is how many pods are listed at a time.
const finalizerPage = 500

// removeFinalizers takes the finalizers off the pods of a namespace of the run: those of
// Jobs have one, which no controller would take off, and the namespace waits for them.
func (e *Engine) removeFinalizers(ctx context.Context, namespace string) error {
	client, err := metadata.NewForConfig(e.rest)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace)
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
