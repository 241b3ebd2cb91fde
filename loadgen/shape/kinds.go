package shape

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// WidgetGroup is the API group of the custom resource, of version v1.
const WidgetGroup = "watchbench.dev"

// kind says where the objects of a kind are, and which component writes them.
type kind struct {
	resource schema.GroupVersionResource
	name     string
	// creator and status are the managers of the object and of its status.
	creator, status string
}

func (k kind) gvk() schema.GroupVersionKind { return k.resource.GroupVersion().WithKind(k.name) }

const (
	managerController = "kube-controller-manager"
	managerKubelet    = "kubelet"
	managerScheduler  = "kube-scheduler"
	managerDeployer   = "helm"
	managerOperator   = "widget-operator"
)

var kinds = func() map[string]kind {
	all := map[string]kind{}
	add := func(gv schema.GroupVersion, resource, name, creator, status string) {
		all[name] = kind{resource: gv.WithResource(resource), name: name, creator: creator, status: status}
	}
	add(corev1.SchemeGroupVersion, "pods", KindPod, managerController, managerKubelet)
	add(appsv1.SchemeGroupVersion, "replicasets", KindReplicaSet, managerController, managerController)
	add(appsv1.SchemeGroupVersion, "deployments", KindDeployment, managerDeployer, managerController)
	add(appsv1.SchemeGroupVersion, "daemonsets", KindDaemonSet, managerDeployer, managerController)
	add(batchv1.SchemeGroupVersion, "jobs", KindJob, managerDeployer, managerController)
	add(discoveryv1.SchemeGroupVersion, "endpointslices", KindEndpointSlice, managerController, "")
	add(corev1.SchemeGroupVersion, "events", KindEvent, managerController, "")
	add(corev1.SchemeGroupVersion, "nodes", KindNode, managerKubelet, managerKubelet)
	add(coordinationv1.SchemeGroupVersion, "leases", KindLease, managerKubelet, "")
	add(corev1.SchemeGroupVersion, "configmaps", KindConfigMap, managerDeployer, "")
	add(schema.GroupVersion{Group: WidgetGroup, Version: "v1"}, "widgets", KindWidget, managerOperator, managerOperator)
	return all
}()

// Resource is where the objects of a kind are; ok is false for a kind that no target has.
func Resource(name string) (r schema.GroupVersionResource, ok bool) {
	k, ok := kinds[name]
	return k.resource, ok
}
