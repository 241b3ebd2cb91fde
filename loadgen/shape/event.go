package shape

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// source is the reporter of a reason, and its message.
type source struct {
	component, message string // {app}, {pod}, {node}, {image}, {size} are filled in
	kind               string
	container          bool // about a container of the pod
}

// sources of the reasons that profiles have.
var sources = map[string]source{
	"Scheduled": {component: "default-scheduler", message: "Successfully assigned {ns}/{subject} to {node}"},
	"FailedScheduling": {component: "default-scheduler", kind: corev1.EventTypeWarning,
		message: "0/5 nodes are available: 5 Insufficient cpu. no new claims to deallocate, preemption: 0/5 nodes are available: 5 No preemption victims found for incoming pod."},
	"Pulling": {component: managerKubelet, container: true, message: `Pulling image "{image}"`},
	"Pulled":  {component: managerKubelet, container: true, message: `Container image "{image}" already present on machine and can be accessed by the pod`},
	"Created": {component: managerKubelet, container: true, message: "Container created"},
	"Started": {component: managerKubelet, container: true, message: "Container started"},
	"Killing": {component: managerKubelet, container: true, message: "Stopping container {container}"},
	"BackOff": {component: managerKubelet, container: true, kind: corev1.EventTypeWarning,
		message: "Back-off restarting failed container {container} in pod {subject}_{ns}({uid})"},
	"Unhealthy":   {component: managerKubelet, container: true, kind: corev1.EventTypeWarning, message: `Readiness probe failed: Get "http://{ip}:8080/readyz": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`},
	"FailedMount": {component: managerKubelet, kind: corev1.EventTypeWarning, message: `MountVolume.SetUp failed for volume "settings" : configmap "{subject}-settings" not found`},
	"DNSConfigForming": {component: managerKubelet, kind: corev1.EventTypeWarning,
		message: "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 10.0.0.10 10.0.0.11 10.0.0.12"},
	"Evicted": {component: managerKubelet, kind: corev1.EventTypeWarning,
		message: "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 7936Mi."},
	"NodeNotReady":         {component: "node-controller", kind: corev1.EventTypeWarning, message: "Node is not ready"},
	"TaintManagerEviction": {component: "taint-eviction-controller", message: "Marking for deletion Pod {ns}/{subject}"},
	"ScalingReplicaSet": {component: "deployment-controller",
		message: "Scaled up replica set {subject}-{hash} from 1 to 3"},
	"SuccessfulCreate": {component: "replicaset-controller", message: "Created pod: {subject}-{hash5}"},
	"SuccessfulDelete": {component: "replicaset-controller", message: "Deleted pod: {subject}-{hash5}"},
	"Completed":        {component: "job-controller", message: "Job completed"},
}

func (m *Maker) event(op plan.Op, f *facts, v view, filler string) *corev1.Event {
	t := op.Target
	src, ok := sources[t.Reason]
	if !ok {
		src = source{component: "watchbench", message: "{subject} has changed"}
	}
	if src.kind == "" {
		src.kind = corev1.EventTypeNormal
	}
	subject := t.Subject
	involved := corev1.ObjectReference{Namespace: f.namespace, Name: f.subjectName, UID: f.subjectUID}
	container, image := "", ""
	if subject != nil {
		if subject.Kind == KindJob && strings.HasPrefix(src.component, "replicaset") {
			src.component = "job-controller"
		}
		k := kinds[subject.Kind]
		involved.Kind, involved.APIVersion, involved.ResourceVersion = subject.Kind, k.resource.GroupVersion().String(),
			fmt.Sprintf("%d", 100000+mix(subject.Seed)%900000)
		if subject.Namespace == plan.ClusterScoped {
			involved.Namespace, involved.ResourceVersion = "", ""
		}
		if src.container {
			d := newDraw(mix(root(subject).Seed%families), streamSpec)
			registry := pick(d, registries)
			container = pick(d, nouns) + "-" + pick(d, roles)
			image = registry + "/" + pick(d, teams) + "/" + container + ":" + imageTag(subject.Seed, 0)
			involved.FieldPath = "spec.containers{" + container + "}"
		}
	}
	message := strings.NewReplacer("{ns}", f.namespace, "{subject}", f.subjectName, "{node}", f.node, "{image}", image,
		"{container}", container, "{uid}", string(f.subjectUID), "{ip}", podIP(t.Lane), "{hash}", f.tag[len(f.tag)-6:],
		"{hash5}", f.tag[len(f.tag)-5:]).Replace(src.message)
	e := &corev1.Event{
		ObjectMeta:     m.meta(f, map[string]string{}, map[string]string{}),
		InvolvedObject: involved, Reason: t.Reason, Message: message + filler, Type: src.kind,
		Source: corev1.EventSource{Component: src.component}, ReportingController: src.component,
		FirstTimestamp: f.was, LastTimestamp: f.now, Count: int32(max(1, f.state.Count)),
	}
	if e.Count == 1 {
		e.FirstTimestamp = f.now
	}
	if src.component == managerKubelet {
		e.Source.Host, e.ReportingInstance = f.node, f.node
	}
	if v == viewServed {
		e.CreationTimestamp = f.created
	}
	return e
}

// eventManager writes the events of a reason.
func eventManager(reason string) string {
	switch sources[reason].component {
	case managerKubelet:
		return managerKubelet
	case "default-scheduler":
		return managerScheduler
	default:
		return managerController
	}
}
