package churn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

const (
	leaseNamespace = "kube-node-lease"
	// heartbeatPeriod is a kubelet's; a node counts as lost after 40 s without.
	heartbeatPeriod = 10 * time.Second
)

// Heartbeat keeps the nodes alive until ctx ends: every ten seconds each node's lease and
// Ready condition. During the load they are spread over that time; before and after it
// one follows right after the other, so that between two rounds nothing is written and a
// watcher can be seen to have caught up (with some hundred nodes; a round of a thousand
// fills the time). A failed heartbeat is recorded and comes again with the next round. Its
// writes carry no operation mark: a heartbeat that changes more than its time would not look
// like one. During its open load a profile has heartbeats of its own.
func (e *Engine) Heartbeat(ctx context.Context) {
	since := nodeSince(time.Now())
	for next := e.clock.now(); e.clock.sleepUntil(ctx, next); next = max(next+int64(heartbeatPeriod), e.clock.now()) {
		for i := range e.cfg.Nodes {
			due := next + int64(heartbeatPeriod)*int64(i)/int64(e.cfg.Nodes)
			if ctx.Err() != nil || *e.phase.Load() == oplog.PhaseLoad && !e.clock.sleepUntil(ctx, due) {
				return
			}
			// A heartbeat under way at the end is waited for.
			e.beat(context.WithoutCancel(ctx), e.cfg.NodeName(i), since)
		}
	}
}

func (e *Engine) beat(ctx context.Context, node string, since time.Time) {
	now, profile := time.Now(), e.profile()
	e.created.mu.Lock()
	_, alive := e.created.nodes[node]
	_, leased := e.created.leases[node]
	e.created.mu.Unlock()
	if !alive || profile && e.cfg.Model == plan.ModelOpen && *e.phase.Load() == oplog.PhaseLoad {
		return
	}
	if leased {
		e.patchHeartbeat(ctx, heartbeat{kind: "Lease", node: node,
			patch: fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, now.UTC().Format(metav1.RFC3339Micro))})
	}
	if profile {
		return // the status is the profile's
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": nodeConditions(now, since)}})
	if err != nil {
		e.logger.Error("encoding a heartbeat", "err", err)
		return
	}
	e.patchHeartbeat(ctx, heartbeat{kind: "Node", node: node, patch: patch})
}

type heartbeat struct {
	kind, node string
	patch      []byte
}

func (e *Engine) patchHeartbeat(ctx context.Context, h heartbeat) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	client, kindPath, namespace := e.client.controlSet.CoreV1().RESTClient(), "nodes", ""
	if h.kind == "Lease" {
		client, kindPath, namespace = e.client.controlSet.CoordinationV1().RESTClient(), "leases", leaseNamespace
	}
	request := client.Patch(types.StrategicMergePatchType).NamespaceIfScoped(namespace, namespace != "").Resource(kindPath).Name(h.node)
	if h.kind == "Node" {
		request = request.SubResource("status")
	}
	r := e.free(h.kind, namespace, h.node, oplog.TypeHeartbeat)
	a := do(ctx, request.VersionedParams(&metav1.PatchOptions{FieldManager: fieldManager}, scheme.ParameterCodec).Body(h.patch), true)
	if e.record(r, a); a.err != nil {
		e.logger.Warn("heartbeat failed", "kind", h.kind, "node", h.node, "err", a.err)
	}
}

func nodeConditions(now, since time.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason,
			LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(since),
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}

// nodeSince is a node's last transition: long ago, as that of a node at rest.
func nodeSince(now time.Time) time.Time { return now.Add(-time.Hour) }
