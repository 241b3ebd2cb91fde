package shape

import (
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Verbs of requests.
const (
	VerbCreate = "create" // POST
	VerbUpdate = "update" // PUT without resourceVersion: whatever the object is, for this uid
	VerbPatch  = "patch"
	VerbDelete = "delete"
)

// Request is the request for one operation.
type Request struct {
	Verb         string
	Resource     schema.GroupVersionResource
	Namespace    string // "" for what is in none
	Name         string
	Subresource  string // "", "status" or "binding"
	FieldManager string
	// Object is the body of a create or an update; of a status write without spec.
	Object runtime.Object
	// Body and PatchType are for a patch.
	Body      []byte
	PatchType types.PatchType
	Delete    *metav1.DeleteOptions
}

// Object is the object after op, without what only the apiserver knows, in an ordinary life.
func (m *Maker) Object(op plan.Op, refs Refs, intended time.Time) Object {
	f := m.facts(op, refs, intended)
	f.place(op, place{})
	return m.object(op, m.template(op.Target, false), refs, &f, viewServed)
}

// Request is how op is sent.
func (m *Maker) Request(op plan.Op, refs Refs, intended time.Time) Request {
	f := m.facts(op, refs, intended)
	f.place(op, place{})
	m.start(op, &f)
	k := kinds[op.Target.Kind]
	r := Request{Resource: k.resource, Namespace: f.namespace, Name: f.name, FieldManager: manager(op)}
	build := func(v view) runtime.Object { return m.object(op, m.template(op.Target, false), refs, &f, v) }
	switch how(op) {
	case howCreate:
		r.Verb = VerbCreate
		f.uid = ""
		r.Object = build(viewSent)
	case howBind:
		r.Verb, r.Subresource = VerbCreate, "binding"
		// The apiserver copies a binding's annotations to the pod.
		r.Object = &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace, UID: f.uid,
				Annotations: map[string]string{OpAnnotation: f.op, IntendedAnnotation: f.intended}},
			Target: corev1.ObjectReference{Kind: KindNode, Name: f.node},
		}
	case howStatus:
		r.Verb, r.Subresource = VerbUpdate, "status"
		r.Object = build(viewStatus)
	case howUpdate:
		r.Verb = VerbUpdate
		r.Object = build(viewSent)
	case howPatch:
		r.Verb, r.PatchType = VerbPatch, types.MergePatchType
		r.Body = m.patch(op, build, &f)
		if op.Type == oplog.TypeScale {
			r.PatchType = types.StrategicMergePatchType
		}
	case howDelete:
		r.Verb, r.Delete = VerbDelete, &metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
		if op.Type == oplog.TypeTerminate {
			r.Delete.GracePeriodSeconds = new(int64(gracePeriodSeconds))
		}
		if f.uid != "" {
			r.Delete.Preconditions = &metav1.Preconditions{UID: &f.uid}
		}
		if op.Target.Kind != KindPod {
			// Jobs would otherwise orphan their pods and wait for a garbage collector.
			r.Delete.PropagationPolicy = new(metav1.DeletePropagationBackground)
		}
	}
	return r
}

// start remembers when a Job began, which may not change. For one that m did not create it is each write's time.
func (m *Maker) start(op plan.Op, f *facts) {
	if op.Target.Kind != KindJob {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch at, ok := m.started[op.Target]; {
	case op.Last:
		delete(m.started, op.Target)
	case op.Type == oplog.TypeCreate:
		m.started[op.Target] = f.now
	case ok:
		f.started = at
	}
}

// Ways in which operations are sent.
type way int

const (
	howCreate way = iota
	howBind
	howStatus
	howUpdate
	howPatch
	howDelete
)

func how(op plan.Op) way {
	switch op.Type {
	case oplog.TypeCreate:
		return howCreate
	case oplog.TypeBind:
		return howBind
	case oplog.TypeTerminate, oplog.TypeDelete:
		return howDelete
	case oplog.TypeScale, oplog.TypeUnfinalized, oplog.TypeRenew:
		return howPatch
	case oplog.TypeUpdate:
		if op.Target.Kind == KindLease || op.Target.Kind == KindWidget {
			return howPatch
		}
		return howUpdate
	}
	switch op.Target.Kind {
	case KindWidget, KindLease:
		return howPatch
	case KindEvent, KindConfigMap, KindEndpointSlice:
		return howUpdate
	}
	return howStatus
}

// manager is the name under which op is written.
func manager(op plan.Op) string {
	k := kinds[op.Target.Kind]
	switch {
	case op.Target.Kind == KindEvent:
		return eventManager(op.Target.Reason)
	case op.Type == oplog.TypeBind:
		return managerScheduler
	case op.Type == oplog.TypeUnfinalized, op.Type == oplog.TypeUnready && op.Target.Kind == KindNode:
		return managerController
	case op.Target.Kind == KindPod && op.Type == oplog.TypeCreate && op.Target.Owner == nil:
		return managerDeployer
	case how(op) == howStatus:
		return k.status
	default:
		return k.creator
	}
}

// patch is the body of an operation that changes a part of an object that has more.
func (m *Maker) patch(op plan.Op, build func(view) runtime.Object, f *facts) []byte {
	meta := map[string]any{"annotations": map[string]string{OpAnnotation: f.op, IntendedAnnotation: f.intended}}
	if f.uid != "" {
		meta["uid"] = f.uid
	}
	body := map[string]any{"metadata": meta}
	switch {
	case op.Type == oplog.TypeUnfinalized:
		meta["finalizers"] = nil
	case op.Target.Kind == KindLease:
		body["spec"] = map[string]any{"renewTime": f.nowMicro}
	case op.Target.Kind == KindWidget:
		spec := map[string]any{"revision": 10000 + f.state.Count}
		body["spec"] = spec
		if f.placed.counted {
			body["status"] = map[string]any{"phase": "Ready", "observedGeneration": f.observed}
		}
	default:
		spec := map[string]any{"replicas": f.wanted}
		if op.Target.Kind == KindDeployment || op.Target.Kind == KindDaemonSet {
			if op.Target.Kind == KindDaemonSet {
				delete(spec, "replicas")
			}
			containers, inits := tags(build(viewSent))
			pod := map[string]any{"containers": containers}
			if len(inits) > 0 {
				pod["initContainers"] = inits
			}
			spec["template"] = map[string]any{"spec": pod}
		}
		body["spec"] = spec
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("shape: patch of %s: %v", op.Target.Kind, err)) // only strings and numbers are in it
	}
	return b
}

func tags(obj runtime.Object) (containers, inits []map[string]string) {
	var spec corev1.PodSpec
	switch o := obj.(type) {
	case *appsv1.Deployment:
		spec = o.Spec.Template.Spec
	case *appsv1.DaemonSet:
		spec = o.Spec.Template.Spec
	}
	named := func(in []corev1.Container) []map[string]string {
		all := make([]map[string]string, len(in))
		for i := range in {
			all[i] = map[string]string{"name": in[i].Name, "image": in[i].Image}
		}
		return all
	}
	return named(spec.Containers), named(spec.InitContainers)
}
