package churn

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/shape"
)

const (
	leaseNamespace = "kube-node-lease"
	// heartbeatPeriod is a kubelet's; a node counts as lost after 40 s without.
	heartbeatPeriod = 10 * time.Second
)

type heart struct {
	*journal
	*wire
	created *created
	logger  *slog.Logger
}

// Heartbeat keeps the nodes alive until ctx ends: every ten seconds each node's lease and Ready condition. During the
// load they are spread over that time; else one follows the other, so that a watcher can be seen to have caught up
// between two rounds. A failed one comes again with the next round. They carry no operation mark. During its open load
// a profile has heartbeats of its own.
func (e *Engine) Heartbeat(ctx context.Context) { e.heart.run(ctx) }

func (h *heart) run(ctx context.Context) {
	since := nodeSince(time.Now())
	for next := h.clock.now(); h.clock.sleepUntil(ctx, next); next = max(next+int64(heartbeatPeriod), h.clock.now()) {
		for i := range h.cfg.Nodes {
			due := next + int64(heartbeatPeriod)*int64(i)/int64(h.cfg.Nodes)
			if ctx.Err() != nil || *h.phase.Load() == oplog.PhaseLoad && !h.clock.sleepUntil(ctx, due) {
				return
			}
			// A heartbeat under way at the end is waited for.
			h.beat(context.WithoutCancel(ctx), h.cfg.NodeName(i), since)
		}
	}
}

func (h *heart) beat(ctx context.Context, node string, since time.Time) {
	now, profile := time.Now(), h.profile()
	if !h.created.has(kindNode, "", node) || profile && *h.phase.Load() == oplog.PhaseLoad {
		return
	}
	if h.created.has(kindLease, leaseNamespace, node) {
		h.patch(ctx, shape.Request{Resource: resource(kindLease), Namespace: leaseNamespace, Name: node,
			Body: fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, now.UTC().Format(metav1.RFC3339Micro))}, kindLease)
	}
	if profile {
		return // the status is the profile's
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": nodeConditions(now, since)}})
	if err != nil {
		h.logger.Error("encoding a heartbeat", "err", err)
		return
	}
	h.patch(ctx, shape.Request{Resource: resource(kindNode), Name: node, Subresource: "status", Body: patch}, kindNode)
}

func (h *heart) patch(ctx context.Context, r shape.Request, kind string) {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	r.Verb, r.PatchType, r.FieldManager = shape.VerbPatch, types.StrategicMergePatchType, fieldManager
	rec := h.free(kind, r.Namespace, r.Name, oplog.TypeHeartbeat)
	a := answer{}
	if request, err := request(h.client.controlSet.CoreV1().RESTClient(), r); err != nil {
		a.err = err
	} else {
		a = do(ctx, request, true)
	}
	if h.record(rec, a); a.err != nil {
		h.logger.Warn("heartbeat failed", "kind", kind, "node", r.Name, "err", a.err)
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
