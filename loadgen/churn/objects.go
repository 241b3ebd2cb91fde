package churn

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/loadgen/plan"
)

// What the generator writes on objects. RunLabel is the one that package
// internal/cluster/owned looks for.
const (
	RunLabel           = "watchbench.dev/run"
	OpAnnotation       = "watchbench.dev/op"       // id of the operation that wrote the object last
	IntendedAnnotation = "watchbench.dev/intended" // its intended time, Unix ns
	ShardLabel         = "watchbench.dev/shard"    // with plan.Load.Shards, which of them a pod is in
	paddingAnnotation  = "watchbench.dev/padding"
	// schedulerName is nobody's, so that no scheduler binds a pod before the plan
	// does.
	schedulerName = "watchbench.dev-churn"
	nodeTaint     = "watchbench.dev/churn"
)

// Sizes of objects without padding, as JSON from a 1.36 apiserver without
// managedFields and without the names that vary; TestObjectBytes holds them against
// a real one.
const (
	readyPodBytes     = 1862
	createdPodBytes   = 1096
	scheduledBytes    = 104 // the condition that a binding adds
	configMapBytes    = 382
	paddingFieldBytes = len(paddingAnnotation) + len(`,"":""`)
)

// objectMaker builds the objects of a plan. It is read-only after its making.
type objectMaker struct {
	cfg     *plan.Config
	padding string // long random text that objects take pieces of
}

func newObjectMaker(cfg *plan.Config) objectMaker {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x70616464696e67))
	text := make([]byte, 2*int(max(cfg.ObjectBytes, plan.MaxObjectBytes/8)))
	for i := range text {
		text[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return objectMaker{cfg: cfg, padding: string(text)}
}

// pad is n bytes of text that differ from one lane to the next.
func (m *objectMaker) pad(n int, lane int64) string {
	if n <= 0 {
		return ""
	}
	n = min(n, len(m.padding)/2)
	start := int(uint64(lane) * 7919 % uint64(len(m.padding)-n+1))
	return m.padding[start : start+n]
}

// marks are the annotations by which checks know the operation that wrote an object.
func marks(id, intended int64) map[string]string {
	return map[string]string{
		OpAnnotation:       strconv.FormatInt(id, 10),
		IntendedAnnotation: strconv.FormatInt(intended, 10),
	}
}

// runLabels is a fresh map each time: objects must not share one.
func (m *objectMaker) runLabels() map[string]string { return map[string]string{RunLabel: m.cfg.RunID} }

// pod is the pod that op creates. A prefilled or hot one is bound from the start, since
// it gets no binding of its own.
func (m *objectMaker) pod(op plan.Op, intended int64) *corev1.Pod {
	ns, node := m.cfg.NamespaceName(op.Pod.Namespace), m.cfg.NodeName(op.Pod.Node)
	size, nodeName := readyPodBytes, ""
	if op.Thread == plan.ThreadNone {
		nodeName, size = node, createdPodBytes
		if op.Hot {
			size = readyPodBytes - scheduledBytes
		}
	}
	size += len(op.Pod.Name) + len(ns) + len(node) + len(m.cfg.RunID)
	zero, no := int64(0), false
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: op.Pod.Name, Namespace: ns,
			Labels:      m.runLabels(),
			Annotations: marks(op.ID, intended),
		},
		Spec: corev1.PodSpec{
			NodeName:                      nodeName,
			SchedulerName:                 schedulerName,
			AutomountServiceAccountToken:  &no,
			TerminationGracePeriodSeconds: &zero,
			EnableServiceLinks:            &no,
			Containers: []corev1.Container{{
				Name: "app", Image: "registry.example/app:1", ImagePullPolicy: corev1.PullIfNotPresent,
			}},
		},
	}
	if n := m.cfg.Shards; n > 0 {
		shard := strconv.FormatInt(op.Pod.Lane%int64(n), 10)
		p.Labels[ShardLabel] = shard
		size += len(ShardLabel) + len(shard) + len(`,"":""`)
	}
	if text := m.pad(int(m.cfg.ObjectBytes)-size-paddingFieldBytes, op.Pod.Lane); text != "" {
		p.Annotations[paddingAnnotation] = text
	}
	return p
}

func (m *objectMaker) binding(op plan.Op, st *pod, intended int64) *corev1.Binding {
	return &corev1.Binding{
		// The apiserver copies a binding's annotations to the pod.
		ObjectMeta: metav1.ObjectMeta{Name: st.name, Namespace: st.namespace, UID: st.uid, Annotations: marks(op.ID, intended)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: m.cfg.NodeName(op.Pod.Node)},
	}
}

func (m *objectMaker) namespace(i int) *corev1.Namespace {
	labels := m.runLabels()
	// The pods never run, but a cluster's default policy could refuse them.
	labels["pod-security.kubernetes.io/enforce"] = "privileged"
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.cfg.NamespaceName(i), Labels: labels}}
}

// node is as a kubelet registers it, without addresses and without the label
// kubernetes.io/os: daemon sets that tolerate every taint select by it.
func (m *objectMaker) node(i int) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("1000000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.cfg.NodeName(i), Labels: m.runLabels()},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: nodeTaint, Value: m.cfg.RunID, Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room.DeepCopy(), Conditions: nodeConditions(time.Now(), time.Now())},
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

func (m *objectMaker) bystander(i int, id, intended int64) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.cfg.BystanderName(i), Namespace: m.cfg.NamespaceName(i % m.cfg.Namespaces),
			Labels: m.runLabels(), Annotations: marks(id, intended),
		},
		Data: map[string]string{"update": "0"},
	}
	size := configMapBytes + len(cm.Name) + len(cm.Namespace) + len(m.cfg.RunID)
	if text := m.pad(int(m.cfg.Bystander.Bytes())-size, int64(i)); text != "" {
		cm.Data["content"] = text
	}
	return cm
}

// bystanderPatch is a JSON merge patch.
func bystanderPatch(op plan.Op, intended int64) []byte {
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d",%q:"%d"}},"data":{"update":"%d"}}`,
		OpAnnotation, op.ID, IntendedAnnotation, intended, op.N)
}
