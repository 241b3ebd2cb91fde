package churn

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// bystanderInFlight bounds the trickle's requests under way.
const bystanderInFlight = 10

// createBystanders makes the objects that the trickle updates.
func (e *Engine) createBystanders(ctx context.Context) error {
	if e.cfg.Bystander == nil {
		return nil
	}
	return each(ctx, upTo(e.cfg.Bystander.Count()), func(ctx context.Context, i int) error {
		return e.createOnce(ctx, creation{kind: "ConfigMap", resource: "configmaps", bystander: true}, func(id, intended int64) object {
			return e.pods.bystander(i, id, intended)
		})
	})
}

// updateBystander sends one update of the trickle. A failed one is recorded and not
// repeated: the next is not far.
func (e *Engine) updateBystander(ctx context.Context, op plan.Op, intended int64) {
	if op.Phase == oplog.PhaseLoad {
		e.stats.bystanderDone(true, nil)
	}
	namespace := e.cfg.NamespaceName(op.Object % e.cfg.Namespaces)
	name := e.cfg.BystanderName(op.Object)
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	started := e.clock.now()
	a := do(ctx, e.client.controlSet.CoreV1().RESTClient().Patch(types.MergePatchType).
		Namespace(namespace).Resource("configmaps").Name(name).
		VersionedParams(&metav1.PatchOptions{FieldManager: fieldManager}, scheme.ParameterCodec).
		Body(bystanderPatch(op, intended)), true)
	e.record(oplog.Record{
		ID: op.ID, Phase: op.Phase, Type: op.Type, Thread: op.Thread, Bystander: true,
		Kind: "ConfigMap", Namespace: namespace, Name: name, Intended: intended, Started: started,
	}, a)
	if op.Phase == oplog.PhaseLoad {
		e.stats.bystanderDone(false, a.err)
	}
}
