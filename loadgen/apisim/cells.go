package apisim

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// printers show the built-in kinds as an apiserver does (pkg/printers/internalversion of
// Kubernetes 1.36); other kinds show name and age, as custom resources without columns of
// their own do.
var printers = map[string]printer{
	"pods":                   show("Name,Ready,Status,Restarts,Age,+IP,+Node,+Nominated Node,+Readiness Gates", podCells),
	"nodes":                  show("Name,Status,Roles,Age,Version,+Internal-IP,+External-IP,+OS-Image,+Kernel-Version,+Container-Runtime", nodeCells),
	"namespaces":             show("Name,Status,Age", namespaceCells),
	"configmaps":             show("Name,Data,Age", configMapCells),
	"secrets":                show("Name,Type,Data,Age", secretCells),
	"events":                 show("Last Seen,Type,Reason,Object,+Subobject,+Source,Message,+First Seen,+Count,+Name", eventCells),
	"services":               show("Name,Type,Cluster-IP,External-IP,Port(s),Age,+Selector", serviceCells),
	"endpoints":              show("Name,Endpoints,Age", endpointsCells),
	"persistentvolumes":      show("Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age,+VolumeMode", volumeCells),
	"persistentvolumeclaims": show("Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,+VolumeMode", claimCells),

	"deployments.apps":  show("Name,Ready,Up-to-date,Available,Age"+ofTemplate, deploymentCells),
	"replicasets.apps":  show("Name,Desired,Current,Ready,Age"+ofTemplate, replicaSetCells),
	"daemonsets.apps":   show("Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age"+ofTemplate, daemonSetCells),
	"statefulsets.apps": show("Name,Ready,Age,+Containers,+Images", statefulSetCells),
	"jobs.batch":        show("Name,Status,Completions,Duration,Age"+ofTemplate, jobCells),
	"cronjobs.batch":    show("Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age"+ofTemplate, cronJobCells),

	"leases.coordination.k8s.io":                     show("Name,Holder,Age", leaseCells),
	"endpointslices.discovery.k8s.io":                show("Name,AddressType,Ports,Endpoints,Age", sliceCells),
	"customresourcedefinitions.apiextensions.k8s.io": show("Name,Created At", definitionCells),
}

// ofTemplate are the columns that containers fills.
const ofTemplate = ",+Containers,+Images,+Selector"

const (
	none    = "<none>"
	unknown = "<unknown>"
	unset   = "<unset>"
)

// since is how long ago something was, in an apiserver's words.
func since(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(time.Since(t))
}

func age(m metav1.ObjectMeta) string { return since(m.CreationTimestamp.Time) }

// value is what p points to, or what it would be in an apiserver's own types.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// orUnset is the text that p points to.
func orUnset[T ~string](p *T) string {
	if p == nil {
		return unset
	}
	return string(*p)
}

// containers fills the columns about a template.
func containers(spec corev1.PodSpec, selector *metav1.LabelSelector) []any {
	var names, images []string
	for _, c := range spec.Containers {
		names, images = append(names, c.Name), append(images, c.Image)
	}
	return []any{strings.Join(names, ","), strings.Join(images, ","), metav1.FormatLabelSelector(selector)}
}

// few joins what there is of at most three, and says how many more there are.
func few(all []string, empty string) string {
	const most = 3
	switch n := len(all); {
	case n == 0:
		return empty
	case n > most:
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:most], ","), n-most)
	}
	return strings.Join(all, ",")
}

func anyCells(o *metav1.PartialObjectMetadata) []any { return []any{o.Name, age(o.ObjectMeta)} }

func definitionCells(o *metav1.PartialObjectMetadata) []any {
	return []any{o.Name, o.CreationTimestamp.UTC().Format(time.RFC3339)}
}

func configMapCells(o *corev1.ConfigMap) []any {
	return []any{o.Name, len(o.Data) + len(o.BinaryData), age(o.ObjectMeta)}
}

func secretCells(o *corev1.Secret) []any {
	return []any{o.Name, string(o.Type), len(o.Data), age(o.ObjectMeta)}
}

func namespaceCells(o *corev1.Namespace) []any {
	return []any{o.Name, string(o.Status.Phase), age(o.ObjectMeta)}
}

func leaseCells(o *coordinationv1.Lease) []any {
	return []any{o.Name, value(o.Spec.HolderIdentity), age(o.ObjectMeta)}
}

func deploymentCells(o *appsv1.Deployment) []any {
	s := o.Status
	return append([]any{o.Name, fmt.Sprintf("%d/%d", s.ReadyReplicas, value(o.Spec.Replicas)), s.UpdatedReplicas, s.AvailableReplicas, age(o.ObjectMeta)},
		containers(o.Spec.Template.Spec, o.Spec.Selector)...)
}

func replicaSetCells(o *appsv1.ReplicaSet) []any {
	return append([]any{o.Name, value(o.Spec.Replicas), o.Status.Replicas, o.Status.ReadyReplicas, age(o.ObjectMeta)},
		containers(o.Spec.Template.Spec, o.Spec.Selector)...)
}

func daemonSetCells(o *appsv1.DaemonSet) []any {
	s := o.Status
	return append([]any{o.Name, s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberReady, s.UpdatedNumberScheduled, s.NumberAvailable,
		labels.FormatLabels(o.Spec.Template.Spec.NodeSelector), age(o.ObjectMeta)}, containers(o.Spec.Template.Spec, o.Spec.Selector)...)
}

func statefulSetCells(o *appsv1.StatefulSet) []any {
	return append([]any{o.Name, fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, value(o.Spec.Replicas)), age(o.ObjectMeta)},
		containers(o.Spec.Template.Spec, nil)[:2]...)
}

func jobCells(o *batchv1.Job) []any {
	s := o.Status
	completions := fmt.Sprintf("%d/1", s.Succeeded)
	if n := value(o.Spec.Parallelism); o.Spec.Completions != nil {
		completions = fmt.Sprintf("%d/%d", s.Succeeded, *o.Spec.Completions)
	} else if n > 1 {
		completions = fmt.Sprintf("%s of %d", completions, n)
	}
	took := ""
	switch {
	case s.StartTime == nil:
	case s.CompletionTime == nil:
		took = since(s.StartTime.Time)
	default:
		took = duration.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))
	}
	return append([]any{o.Name, jobStatus(o), completions, took, age(o.ObjectMeta)}, containers(o.Spec.Template.Spec, o.Spec.Selector)...)
}

func jobStatus(o *batchv1.Job) string {
	is := func(kind batchv1.JobConditionType) bool {
		return slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
	}
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case o.DeletionTimestamp != nil:
		return "Terminating"
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if is(kind) {
			return string(kind)
		}
	}
	return "Running"
}

func cronJobCells(o *batchv1.CronJob) []any {
	suspend, last := unset, none
	if s := o.Spec.Suspend; s != nil {
		suspend = map[bool]string{true: "True", false: "False"}[*s]
	}
	if t := o.Status.LastScheduleTime; t != nil {
		last = since(t.Time)
	}
	job := o.Spec.JobTemplate.Spec
	return append([]any{o.Name, o.Spec.Schedule, cmp.Or(value(o.Spec.TimeZone), none), suspend, len(o.Status.Active), last, age(o.ObjectMeta)},
		containers(job.Template.Spec, job.Selector)...)
}

func nodeCells(o *corev1.Node) []any {
	status := "Unknown"
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if o.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	roles := map[string]bool{}
	for label, v := range o.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles[role] = true
		} else if label == "kubernetes.io/role" && v != "" {
			roles[v] = true
		}
	}
	address := func(kind corev1.NodeAddressType) string {
		for _, a := range o.Status.Addresses {
			if a.Type == kind {
				return a.Address
			}
		}
		return none
	}
	i := o.Status.NodeInfo
	kernel := cmp.Or(i.KernelVersion, unknown)
	if i.Architecture != "" {
		kernel += " (" + i.Architecture + ")"
	}
	return []any{o.Name, status, cmp.Or(strings.Join(slices.Sorted(maps.Keys(roles)), ","), none), age(o.ObjectMeta), i.KubeletVersion,
		address(corev1.NodeInternalIP), address(corev1.NodeExternalIP), cmp.Or(i.OSImage, unknown), kernel, cmp.Or(i.ContainerRuntimeVersion, unknown)}
}

func eventCells(o *corev1.Event) []any {
	first := since(cmp.Or(o.FirstTimestamp.Time, o.EventTime.Time))
	last, count := first, max(o.Count, 1)
	if !o.LastTimestamp.IsZero() {
		last = since(o.LastTimestamp.Time)
	}
	if s := o.Series; s != nil {
		last, count = since(s.LastObservedTime.Time), s.Count
	}
	about := strings.ToLower(o.InvolvedObject.Kind)
	if name := o.InvolvedObject.Name; name != "" {
		about += "/" + name
	}
	source := cmp.Or(o.Source.Component, o.ReportingController)
	if host := cmp.Or(o.Source.Host, o.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []any{last, o.Type, o.Reason, about, o.InvolvedObject.FieldPath, source, strings.TrimSpace(o.Message), first, count, o.Name}
}

func serviceCells(o *corev1.Service) []any {
	var ports []string
	for _, p := range o.Spec.Ports {
		port := strconv.Itoa(int(p.Port))
		if p.NodePort > 0 {
			port += fmt.Sprintf(":%d", p.NodePort)
		}
		ports = append(ports, port+"/"+string(p.Protocol))
	}
	return []any{o.Name, string(o.Spec.Type), cmp.Or(slices.Concat(o.Spec.ClusterIPs, []string{o.Spec.ClusterIP, none})...), externalIP(o),
		cmp.Or(strings.Join(ports, ","), none), age(o.ObjectMeta), labels.FormatLabels(o.Spec.Selector)}
}

func externalIP(o *corev1.Service) string {
	switch o.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return o.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		balancers := map[string]bool{}
		for _, i := range o.Status.LoadBalancer.Ingress {
			if name := cmp.Or(i.IP, i.Hostname); name != "" {
				balancers[name] = true
			}
		}
		return cmp.Or(strings.Join(append(slices.Sorted(maps.Keys(balancers)), o.Spec.ExternalIPs...), ","), "<pending>")
	}
	return cmp.Or(strings.Join(o.Spec.ExternalIPs, ","), none)
}

//nolint:staticcheck // deprecated, and served by every cluster
func endpointsCells(o *corev1.Endpoints) []any {
	var all []string
	for _, s := range o.Subsets {
		if len(s.Ports) == 0 {
			for _, a := range s.Addresses {
				all = append(all, a.IP)
			}
		}
		for _, p := range s.Ports {
			for _, a := range s.Addresses {
				all = append(all, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	empty := none
	if len(o.Subsets) > 0 {
		empty = ""
	}
	return []any{o.Name, few(all, empty), age(o.ObjectMeta)}
}

func sliceCells(o *discoveryv1.EndpointSlice) []any {
	var ports, addresses []string
	for _, p := range o.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for _, e := range o.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return []any{o.Name, string(o.AddressType), few(ports, unset), few(addresses, unset), age(o.ObjectMeta)}
}

// accessModes abbreviates them, in the order in which an apiserver does.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var all []string
	for _, m := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		short string
	}{{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"}} {
		if slices.Contains(modes, m.mode) {
			all = append(all, m.short)
		}
	}
	return strings.Join(all, ",")
}

// phase is that of a volume or claim, unless it is being deleted.
func phase[T ~string](m metav1.ObjectMeta, phase T) string {
	if m.DeletionTimestamp != nil {
		return "Terminating"
	}
	return string(phase)
}

func volumeCells(o *corev1.PersistentVolume) []any {
	claim := ""
	if r := o.Spec.ClaimRef; r != nil {
		claim = r.Namespace + "/" + r.Name
	}
	size := o.Spec.Capacity[corev1.ResourceStorage]
	return []any{o.Name, size.String(), accessModes(o.Spec.AccessModes), string(o.Spec.PersistentVolumeReclaimPolicy), phase(o.ObjectMeta, o.Status.Phase), claim,
		cmp.Or(o.Annotations[corev1.BetaStorageClassAnnotation], o.Spec.StorageClassName), orUnset(o.Spec.VolumeAttributesClassName), o.Status.Reason,
		age(o.ObjectMeta), orUnset(o.Spec.VolumeMode)}
}

func claimCells(o *corev1.PersistentVolumeClaim) []any {
	capacity, modes := "", ""
	if o.Spec.VolumeName != "" {
		size := o.Status.Capacity[corev1.ResourceStorage]
		capacity, modes = size.String(), accessModes(o.Status.AccessModes)
	}
	return []any{o.Name, phase(o.ObjectMeta, o.Status.Phase), o.Spec.VolumeName, capacity, modes,
		cmp.Or(o.Annotations[corev1.BetaStorageClassAnnotation], value(o.Spec.StorageClassName)), orUnset(o.Spec.VolumeAttributesClassName),
		age(o.ObjectMeta), orUnset(o.Spec.VolumeMode)}
}
