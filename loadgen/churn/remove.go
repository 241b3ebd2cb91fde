package churn

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/owned"
)

// Remove deletes what a run left behind that was killed before its teardown:
// namespaces, nodes and leases with the run's label. It returns how many there
// were.
func Remove(ctx context.Context, cfg *rest.Config, runID string) (int, error) {
	client, err := newClients(cfg, 1)
	if err != nil {
		return 0, err
	}
	defer client.close()
	opts := metav1.ListOptions{LabelSelector: RunLabel + "=" + runID}
	var errs []error
	removed := 0
	namespaces, err := client.controlSet.CoreV1().Namespaces().List(ctx, opts)
	if err != nil {
		return 0, fmt.Errorf("listing the namespaces of run %s: %w", runID, err)
	}
	early, cancel := beforeEnd(ctx)
	defer cancel()
	for _, ns := range namespaces.Items {
		errs = append(errs, owned.DeleteNamespace(early, client.control, ns.Name, runID))
		removed++
	}
	remove := func(kind, name string, uid types.UID, del func(context.Context, string, metav1.DeleteOptions) error) {
		removed++
		if err := del(ctx, name, *deleteNow(uid)); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("deleting %s %s: %w", kind, name, err))
		}
	}
	leaseClient := client.controlSet.CoordinationV1().Leases(leaseNamespace)
	leases, err := leaseClient.List(ctx, opts)
	errs = append(errs, err)
	for _, l := range leases.Items {
		remove("lease", l.Name, l.UID, leaseClient.Delete)
	}
	nodeClient := client.controlSet.CoreV1().Nodes()
	nodes, err := nodeClient.List(ctx, opts)
	errs = append(errs, err)
	for _, n := range nodes.Items {
		remove("node", n.Name, n.UID, nodeClient.Delete)
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("removing what run %s left behind: %w", runID, err)
	}
	return removed, nil
}
