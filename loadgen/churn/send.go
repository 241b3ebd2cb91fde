package churn

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// answer is what the apiserver said to one request.
type answer struct {
	status  int // HTTP; 0 when none came
	uid     types.UID
	version uint64 // of the state that the write produced; for a delete of the deletion
	gone    bool   // the object is no more: it had no time to end in
	err     error
}

// sendPod sends one operation on a pod, once.
func (e *Engine) sendPod(ctx context.Context, op plan.Op, st *pod, intended int64) answer {
	client := e.client.forLane(op.Pod.Lane)
	switch op.Type {
	case oplog.TypeCreate:
		return do(ctx, client.Post().Namespace(st.namespace).Resource("pods").
			VersionedParams(&metav1.CreateOptions{FieldManager: fieldManager}, scheme.ParameterCodec).
			Body(e.pods.pod(op, intended)), true)
	case oplog.TypeBind:
		return do(ctx, client.Post().Namespace(st.namespace).Resource("pods").Name(st.name).SubResource("binding").
			VersionedParams(&metav1.CreateOptions{FieldManager: fieldManager}, scheme.ParameterCodec).
			Body(e.pods.binding(op, st, intended)), false)
	case oplog.TypeTerminate, oplog.TypeDelete:
		// A second request for grace changes nothing and is answered with the pod as it is:
		// a retry reads what the attempt before it may have made.
		grace := int64(0)
		if op.Type == oplog.TypeTerminate {
			grace = gracePeriodSeconds
		}
		return do(ctx, client.Delete().Namespace(st.namespace).Resource("pods").Name(st.name).
			Body(deleteWithin(grace, st.uid)), true)
	default:
		return do(ctx, client.Patch(types.StrategicMergePatchType).Namespace(st.namespace).Resource("pods").Name(st.name).SubResource("status").
			VersionedParams(&metav1.PatchOptions{FieldManager: fieldManager}, scheme.ParameterCodec).
			Body(statusPatch(op, st.uid, intended)), true)
	}
}

// gracePeriodSeconds is Kubernetes' default. Containers may end earlier, and those of the
// generator's pods do: the plan's gaps say when.
const gracePeriodSeconds = 30

// deleteWithin asks for a deletion of this uid and no other, after so many seconds of
// grace at the latest.
func deleteWithin(grace int64, uid types.UID) *metav1.DeleteOptions {
	opts := &metav1.DeleteOptions{GracePeriodSeconds: &grace}
	if uid != "" {
		opts.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return opts
}

// readPod reads a pod's metadata from the apiserver's database.
func (e *Engine) readPod(ctx context.Context, op plan.Op, st *pod) (*corev1.Pod, error) {
	p := &corev1.Pod{}
	err := e.client.forLane(op.Pod.Lane).Get().Namespace(st.namespace).Resource("pods").Name(st.name).
		MaxRetries(0).Do(ctx).Into(p)
	if err != nil {
		return nil, fmt.Errorf("reading pod %s/%s: %w", st.namespace, st.name, err)
	}
	return p, nil
}

// do sends a request once: client-go's own retries would hide what the apiserver
// answered. object says that the answer
// holds the object and not only a status.
func do(ctx context.Context, r *rest.Request, object bool) answer {
	var a answer
	result := r.MaxRetries(0).Do(ctx).StatusCode(&a.status)
	if a.err = result.Error(); a.err != nil {
		var status apierrors.APIStatus
		if a.status == 0 && errors.As(a.err, &status) {
			a.status = int(status.Status().Code)
		}
		return a
	}
	if !object {
		return a
	}
	obj, err := result.Get()
	if err != nil {
		a.err = fmt.Errorf("reading the apiserver's answer: %w", err)
		return a
	}
	if meta, ok := obj.(metav1.Object); ok {
		a.uid = meta.GetUID()
		grace := meta.GetDeletionGracePeriodSeconds()
		a.gone = grace != nil && *grace == 0
		a.version, a.err = parseVersion(meta.GetResourceVersion())
	}
	return a
}

func parseVersion(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the apiserver's answer has resourceVersion %q, not a number", s)
	}
	return v, nil
}
