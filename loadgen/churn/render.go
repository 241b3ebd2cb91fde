package churn

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// Renderer makes of a plan's operations on plain pods the objects that an apiserver would
// hold after them, for a simulated one: what an Engine sends, and what defaults, the
// binding and the merged status patches make of it. TestRenderedPods holds them against a
// real apiserver's. Those of a profile are from shape.Maker.Served.
type Renderer struct {
	cfg  *plan.Config
	make objectMaker
}

// NewRenderer is for the plan of this config.
func NewRenderer(cfg *plan.Config) *Renderer { return &Renderer{cfg, newObjectMaker(cfg)} }

// RenderedPod is a pod of the plan as far as its life has gone.
type RenderedPod struct {
	Namespace, Name string

	meta, spec string // JSON: what stays the same, spec without nodeName
	node       string
	running    string // when it began to run
	phase      string
	conditions [4]string // by the order of conditionTypes
	ip         string
	container  string
	ending     string // members of the metadata of a pod that is to end
}

// conditionTypes in the order in which an apiserver holds those of these pods: a patch
// puts new ones before those that are there.
var conditionTypes = [4]string{"Initialized", "ContainersReady", "Ready", "PodScheduled"}

func (p *RenderedPod) set(kind, status, since string) {
	for i, k := range conditionTypes {
		if k == kind {
			p.conditions[i] = strings.Replace(condition(kind, status, since), `"lastTransitionTime"`, `"lastProbeTime":null,"lastTransitionTime"`, 1)
		}
	}
}

// Begin is the pod that op creates.
func (r *Renderer) Begin(op plan.Op) (*RenderedPod, error) {
	o := r.make.pod(op, 0)
	p := &RenderedPod{Namespace: o.Namespace, Name: o.Name, phase: "Pending", node: o.Spec.NodeName}
	delete(o.Annotations, OpAnnotation)
	delete(o.Annotations, IntendedAnnotation)
	meta, err := json.Marshal(map[string]any{"labels": o.Labels, "managedFields": json.RawMessage(managedFields)})
	if err != nil {
		return nil, fmt.Errorf("render pod %s: %w", o.Name, err)
	}
	padding, err := json.Marshal(o.Annotations)
	if err != nil {
		return nil, fmt.Errorf("render pod %s: %w", o.Name, err)
	}
	p.meta = string(meta[1:len(meta)-1]) + `,"annotations":{` + strings.Trim(string(padding), "{}")
	o.Spec.NodeName = ""
	byDefault(&o.Spec)
	spec, err := json.Marshal(o.Spec)
	if err != nil {
		return nil, fmt.Errorf("render pod %s: %w", o.Name, err)
	}
	p.spec = string(spec[1:])
	return p, nil
}

// byDefault fills in what an apiserver does.
func byDefault(s *corev1.PodSpec) {
	s.RestartPolicy, s.DNSPolicy = corev1.RestartPolicyAlways, corev1.DNSClusterFirst
	s.SecurityContext = &corev1.PodSecurityContext{}
	zero, lower, wait := int32(0), corev1.PreemptLowerPriority, int64(300)
	s.Priority, s.PreemptionPolicy = &zero, &lower
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &wait})
	}
	for i := range s.Containers {
		s.Containers[i].TerminationMessagePath, s.Containers[i].TerminationMessagePolicy = "/dev/termination-log", corev1.TerminationMessageReadFile
	}
}

// managedFields are those of the generator's writes, in size and form.
const managedFields = `[{"manager":"watchbench-churn","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":` +
	`{"f:metadata":{"f:annotations":{".":{},"f:watchbench.dev/intended":{},"f:watchbench.dev/op":{},"f:watchbench.dev/padding":{}},"f:labels":{".":{},"f:watchbench.dev/run":{}}},` +
	`"f:spec":{"f:automountServiceAccountToken":{},"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},` +
	`"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},` +
	`"f:terminationGracePeriodSeconds":{}}}},{"manager":"watchbench-churn","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":` +
	`{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},` +
	`"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},` +
	`"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.64.0.1\"}":{".":{},"f:ip":{}}},"f:startTime":{}}},"subresource":"status"}]`

// Advance makes the pod go on by op and returns it as JSON. A deletion has none: the pod
// ends with it.
func (r *Renderer) Advance(b []byte, p *RenderedPod, op plan.Op, intended int64) []byte {
	now := time.Unix(0, intended).UTC().Format(time.RFC3339)
	switch op.Type {
	case oplog.TypeCreate:
	case oplog.TypeBind:
		p.node = r.cfg.NodeName(op.Pod.Node)
		p.set("PodScheduled", "True", now)
	case oplog.TypeRunning:
		p.phase, p.running, p.ip = "Running", now, podIP(op.Pod.Lane)
		p.set("Initialized", "True", now)
		p.set("ContainersReady", "False", now)
		p.set("Ready", "False", now)
		p.container = settled(container(now, false, 0))
	case oplog.TypeReady:
		p.set("ContainersReady", "True", now)
		p.set("Ready", "True", now)
		p.container = settled(container(now, true, 0))
	case oplog.TypePatch:
		p.set("Ready", "True", now)
		p.container = settled(container(now, true, op.N))
	case oplog.TypeTerminate:
		end := time.Unix(0, intended).Add(gracePeriodSeconds * time.Second).UTC().Format(time.RFC3339)
		p.ending = `,"deletionTimestamp":"` + end + `","deletionGracePeriodSeconds":` + strconv.Itoa(gracePeriodSeconds)
	case oplog.TypeTerminated:
		p.phase = "Succeeded"
		p.set("ContainersReady", "False", now)
		p.set("Ready", "False", now)
		p.container = settled(ended(now))
	}
	return p.appendJSON(b, op.ID, intended)
}

// settled adds to a container's status what an apiserver does.
func settled(container string) string { return strings.TrimSuffix(container, "}") + `,"lastState":{}}` }

func (p *RenderedPod) appendJSON(b []byte, id, intended int64) []byte {
	b = jsonscan.AppendString(append(b, `{"metadata":{"name":`...), p.Name)
	b = jsonscan.AppendString(append(b, `,"namespace":`...), p.Namespace)
	b = append(append(b, p.ending...), ',')
	b = append(b, p.meta...)
	if b[len(b)-1] != '{' { // there is padding
		b = append(b, ',')
	}
	b = appendMarks(b, id, intended)
	b = append(b, `}},"spec":{`...)
	if p.node != "" {
		b = jsonscan.AppendString(append(b, `"nodeName":`...), p.node)
		b = append(b, ',')
	}
	b = append(append(b, p.spec...), `,"status":{"phase":"`...)
	b = append(append(b, p.phase...), `","qosClass":"BestEffort"`...)
	if p.running != "" {
		b = append(append(append(b, `,"startTime":"`...), p.running...), `","hostIP":"10.0.0.1","podIP":"`...)
		b = append(append(append(b, p.ip...), `","podIPs":[{"ip":"`...), p.ip...)
		b = append(append(append(b, `"}],"containerStatuses":[`...), p.container...), ']')
	}
	more := `,"conditions":[`
	for _, c := range p.conditions {
		if c != "" {
			b = append(append(b, more...), c...)
			more = ","
		}
	}
	if more == "," {
		b = append(b, ']')
	}
	return append(b, "}}"...)
}

// appendMarks appends the marks of an operation as members of the annotations.
func appendMarks(b []byte, id, intended int64) []byte {
	b = strconv.AppendInt(append(b, `"`+OpAnnotation+`":"`...), id, 10)
	b = strconv.AppendInt(append(b, `","`+IntendedAnnotation+`":"`...), intended, 10)
	return append(b, '"')
}

// Ground are the objects that a run makes besides those of its operations: namespaces,
// and nodes for plain pods or the custom resource of a profile.
func (r *Renderer) Ground() []shape.Object {
	var all []shape.Object
	for i := range r.cfg.Namespaces {
		ns := r.make.namespace(i)
		ns.TypeMeta = metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}
		ns.Status.Phase = corev1.NamespaceActive
		all = append(all, ns)
	}
	if r.cfg.HasWidgets() {
		all = append(all, established(definition(r.make.runLabels())))
	}
	for i := range r.cfg.Nodes {
		if r.cfg.Profile != "" {
			break // its operations make them
		}
		node := r.make.node(i)
		node.TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
		all = append(all, node)
	}
	return all
}

// Bystander is a bystander object after an update; update 0 makes it.
func (r *Renderer) Bystander(i, update int, id, intended int64) *corev1.ConfigMap {
	cm := r.make.bystander(i, id, intended)
	cm.TypeMeta = metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}
	cm.Data["update"] = strconv.Itoa(update)
	return cm
}

// Marks are the annotations by which checks know the operation that wrote an object.
func Marks(id, intended int64) map[string]string { return marks(id, intended) }
