package churn

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// wire sends the plan's requests to the apiserver, each once, and looks at what became of them.
type wire struct {
	cfg     plan.Config
	rest    *rest.Config
	client  *clients
	timeout time.Duration // of one attempt
	shape   *shape.Maker
	targets *targets
}

// send sends one operation, once; those of bystanders do not queue behind the load.
func (w *wire) send(ctx context.Context, op plan.Op, intended int64) answer {
	client := w.client.forLane(op.Target.Lane)
	if op.Bystander {
		client = w.client.controlSet.CoreV1().RESTClient()
	}
	r := w.shape.Request(op, w.targets, time.Unix(0, intended))
	request, err := request(client, r)
	if err != nil {
		return answer{err: err}
	}
	// The answer to a binding is a Status.
	return do(ctx, request, r.Subresource != "binding")
}

func (w *wire) look(ctx context.Context, op plan.Op, st *object) (metav1.ObjectMeta, error) {
	result := w.client.forLane(op.Target.Lane).Get().AbsPath(w.pathOf(op.Target)).SetHeader("Accept",
		metadataAccepted).MaxRetries(0).Do(ctx)
	err := result.Error()
	if err == nil {
		var body []byte
		if body, err = result.Raw(); err == nil {
			m, _, err := readMetadata(body)
			return m, err
		}
	}
	return metav1.ObjectMeta{}, fmt.Errorf("reading %s %s/%s: %w", st.kind, st.namespace, st.name, err)
}

func (w *wire) pathOf(t *plan.Target) string {
	resource, _ := shape.Resource(t.Kind)
	return path(resource, w.cfg.NamespaceName(t.Namespace)) + "/" + t.Name
}

func (w *wire) newTarget(t *plan.Target) *object {
	return &object{kind: t.Kind, namespace: w.cfg.NamespaceName(t.Namespace), name: t.Name}
}

func (w *wire) profile() bool { return w.cfg.Profile != "" }

// resolve looks at a retry that was refused because an attempt before it had taken effect without our knowing.
func (w *wire) resolve(ctx context.Context, op plan.Op, st *object, a answer) answer {
	switch {
	case op.Type == oplog.TypeDelete && apierrors.IsNotFound(a.err):
		return answer{status: http.StatusOK}
	case op.Type == oplog.TypeCreate && apierrors.IsAlreadyExists(a.err),
		op.Type == oplog.TypeBind && apierrors.IsConflict(a.err):
		return w.adopt(ctx, op, st, a)
	}
	return a
}

// adopt takes the object for the answer, if op made it so: a binding's annotations are copied to the pod.
func (w *wire) adopt(ctx context.Context, op plan.Op, st *object, a answer) answer {
	m, err := w.look(ctx, op, st)
	if err != nil || m.Annotations[OpAnnotation] != strconv.FormatInt(op.ID, 10) {
		return a
	}
	version, err := parseVersion(m.ResourceVersion)
	return answer{status: http.StatusOK, uid: m.UID, version: version, err: err}
}
