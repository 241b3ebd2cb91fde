package churn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
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
	namespaces, err := client.controlSet.CoreV1().Namespaces().List(ctx, opts)
	if err != nil {
		return 0, fmt.Errorf("listing the namespaces of run %s: %w", runID, err)
	}
	leases, leaseErr := client.controlSet.CoordinationV1().Leases(leaseNamespace).List(ctx, opts)
	nodes, nodeErr := client.controlSet.CoreV1().Nodes().List(ctx, opts)
	if err := errors.Join(leaseErr, nodeErr); err != nil {
		return 0, fmt.Errorf("listing the leases and nodes of run %s: %w", runID, err)
	}
	// Whether it had a profile is not known any more.
	w := &wire{cfg: plan.Config{RunID: runID, Load: plan.Load{Profile: "any"}}, rest: client.control, client: client,
		timeout: requestTimeout}
	e := newEngine(newJournal(unrecorded{}), w, slog.New(slog.DiscardHandler))
	e.created.definition = true
	for _, ns := range namespaces.Items {
		e.created.namespaces = append(e.created.namespaces, ns.Name)
	}
	for _, l := range leases.Items {
		e.created.leases[l.Name] = l.UID
	}
	for _, n := range nodes.Items {
		e.created.nodes[n.Name] = n.UID
	}
	found := len(namespaces.Items) + len(leases.Items) + len(nodes.Items)
	return found, e.Teardown(ctx)
}

// unrecorded is the op log of a removal, which has none.
type unrecorded struct{}

func (unrecorded) Append(oplog.Record) {}
