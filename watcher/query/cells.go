package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// printers show the built-in kinds that people look at most as an apiserver does
// (pkg/printers/internalversion of Kubernetes 1.36), with fewer columns; other kinds show
// name and age.
var (
	printers = map[string]printer{
		"pods":                   show("Name,Ready,Status,Restarts,Age,+IP,+Node", podCells),
		"nodes":                  show("Name,Status,Roles,Age,Version,+Internal-IP", nodeCells),
		"namespaces":             show("Name,Status,Age", phaseCells),
		"persistentvolumeclaims": show("Name,Status,Age", phaseCells),
		"configmaps":             show("Name,Data,Age", configMapCells),
		"services":               show("Name,Type,Cluster-IP,External-IP,Port(s),Age", serviceCells),
		"events":                 show("Last Seen,Type,Reason,Object,Message", eventCells),
		"deployments.apps":       show("Name,Ready,Up-to-date,Available,Age", deploymentCells),
		"statefulsets.apps":      show("Name,Ready,Age", statefulSetCells),
		"replicasets.apps":       show("Name,Desired,Current,Ready,Age", replicaSetCells),
		"daemonsets.apps":        show("Name,Desired,Current,Ready,Up-to-date,Available,Node Selector,Age", daemonSetCells),
		"jobs.batch":             show("Name,Status,Completions,Duration,Age", jobCells),
	}
	anyPrinter = show("Name,Age", func(o *struct{ Metadata meta }) []any {
		return []any{o.Metadata.Name, o.Metadata.age()}
	})
)

const (
	none    = "<none>"
	unknown = "<unknown>"
	isTrue  = "True"
)

// meta is the metadata that rows show.
type meta struct {
	Name              string
	CreationTimestamp time.Time
	DeletionTimestamp *time.Time
	Labels            map[string]string
}

func (m *meta) age() string { return since(m.CreationTimestamp) }

// since is how long ago something was, in an apiserver's words.
func since(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(time.Since(t))
}

// conditions of any object's status.
type conditions []struct{ Type, Status, Reason string }

func (c conditions) are(kind string) bool { return c.status(kind) == isTrue }

func (c conditions) status(kind string) string {
	for _, one := range c {
		if one.Type == kind {
			return one.Status
		}
	}
	return ""
}

type phased struct {
	Metadata meta
	Status   struct{ Phase string }
}

func phaseCells(o *phased) []any {
	phase := o.Status.Phase
	if o.Metadata.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	return []any{o.Metadata.Name, phase, o.Metadata.age()}
}

type configMap struct {
	Metadata         meta
	Data, BinaryData map[string]json.RawMessage
}

func configMapCells(o *configMap) []any {
	return []any{o.Metadata.Name, len(o.Data) + len(o.BinaryData), o.Metadata.age()}
}

type nodeObject struct {
	Metadata meta
	Spec     struct{ Unschedulable bool }
	Status   struct {
		Conditions conditions
		NodeInfo   struct{ KubeletVersion string }
		Addresses  []struct{ Type, Address string }
	}
}

func nodeCells(o *nodeObject) []any {
	status := map[string]string{isTrue: "Ready", "": "Unknown"}[o.Status.Conditions.status("Ready")]
	status = cmp.Or(status, "NotReady")
	if o.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	roles := map[string]bool{}
	for label, value := range o.Metadata.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles[role] = true
		} else if label == "kubernetes.io/role" && value != "" {
			roles[value] = true
		}
	}
	ip := none
	for _, a := range o.Status.Addresses {
		if a.Type == "InternalIP" {
			ip = a.Address
			break
		}
	}
	return []any{o.Metadata.Name, status, cmp.Or(strings.Join(slices.Sorted(maps.Keys(roles)), ","), none),
		o.Metadata.age(), o.Status.NodeInfo.KubeletVersion, ip}
}

type service struct {
	Metadata meta
	Spec     struct {
		Type, ClusterIP, ExternalName string
		ExternalIPs                   []string
		Ports                         []struct {
			Port, NodePort int
			Protocol       string
		}
	}
	Status struct {
		LoadBalancer struct {
			Ingress []struct{ IP, Hostname string }
		}
	}
}

func serviceCells(o *service) []any {
	var ports []string
	for _, p := range o.Spec.Ports {
		port := fmt.Sprint(p.Port)
		if p.NodePort > 0 {
			port += fmt.Sprintf(":%d", p.NodePort)
		}
		ports = append(ports, port+"/"+p.Protocol)
	}
	outside, empty := slices.Clone(o.Spec.ExternalIPs), none
	switch o.Spec.Type {
	case "ExternalName":
		outside = []string{o.Spec.ExternalName}
	case "LoadBalancer":
		empty = "<pending>"
		for _, i := range o.Status.LoadBalancer.Ingress {
			outside = append(outside, cmp.Or(i.IP, i.Hostname))
		}
	}
	return []any{
		o.Metadata.Name, o.Spec.Type, cmp.Or(o.Spec.ClusterIP, none), cmp.Or(strings.Join(outside, ","), empty),
		cmp.Or(strings.Join(ports, ","), none), o.Metadata.age(),
	}
}

type kubeEvent struct {
	Metadata                                 meta
	InvolvedObject                           struct{ Kind, Name string }
	Type, Reason, Message                    string
	FirstTimestamp, LastTimestamp, EventTime *time.Time
	Series                                   *struct{ LastObservedTime time.Time }
}

func eventCells(o *kubeEvent) []any {
	var last time.Time
	for _, t := range []*time.Time{o.EventTime, o.FirstTimestamp, o.LastTimestamp} {
		if t != nil && !t.IsZero() {
			last = *t
		}
	}
	if o.Series != nil {
		last = o.Series.LastObservedTime
	}
	about := strings.ToLower(o.InvolvedObject.Kind)
	if o.InvolvedObject.Name != "" {
		about += "/" + o.InvolvedObject.Name
	}
	return []any{since(last), o.Type, o.Reason, about, strings.TrimSpace(o.Message)}
}

// workload has the common fields of kinds that run pods.
type workload struct {
	Metadata meta
	Spec     struct {
		Replicas, Completions, Parallelism *int
		Template                           struct {
			Spec struct{ NodeSelector map[string]string }
		}
	}
	Status struct {
		StartTime, CompletionTime                                                           *time.Time
		Conditions                                                                          conditions
		Replicas, ReadyReplicas, UpdatedReplicas, AvailableReplicas                         int
		DesiredNumberScheduled, CurrentNumberScheduled, NumberReady, UpdatedNumberScheduled int
		NumberAvailable, Succeeded                                                          int
	}
}

func (o *workload) desired() int {
	if o.Spec.Replicas == nil {
		return 0
	}
	return *o.Spec.Replicas
}

func deploymentCells(o *workload) []any {
	return []any{o.Metadata.Name, fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, o.desired()), o.Status.UpdatedReplicas,
		o.Status.AvailableReplicas, o.Metadata.age()}
}

func statefulSetCells(o *workload) []any {
	return []any{o.Metadata.Name, fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, o.desired()), o.Metadata.age()}
}

func replicaSetCells(o *workload) []any {
	return []any{o.Metadata.Name, o.desired(), o.Status.Replicas, o.Status.ReadyReplicas, o.Metadata.age()}
}

func daemonSetCells(o *workload) []any {
	s := &o.Status
	return []any{o.Metadata.Name, s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberReady,
		s.UpdatedNumberScheduled, s.NumberAvailable, labels.FormatLabels(o.Spec.Template.Spec.NodeSelector), o.Metadata.age()}
}

func jobCells(o *workload) []any {
	status := "Running"
	switch c := o.Status.Conditions; {
	case c.are("Complete"):
		status = "Complete"
	case c.are("Failed"):
		status = "Failed"
	case o.Metadata.DeletionTimestamp != nil:
		status = "Terminating"
	case c.are("Suspended"):
		status = "Suspended"
	}
	completions := fmt.Sprintf("%d/1", o.Status.Succeeded)
	if n := o.Spec.Completions; n != nil {
		completions = fmt.Sprintf("%d/%d", o.Status.Succeeded, *n)
	} else if n := o.Spec.Parallelism; n != nil && *n > 1 {
		completions = fmt.Sprintf("%d/1 of %d", o.Status.Succeeded, *n)
	}
	took := ""
	if s := o.Status; s.StartTime != nil && s.CompletionTime != nil {
		took = duration.HumanDuration(s.CompletionTime.Sub(*s.StartTime))
	} else if s.StartTime != nil {
		took = since(*s.StartTime)
	}
	return []any{o.Metadata.Name, status, completions, took, o.Metadata.age()}
}
