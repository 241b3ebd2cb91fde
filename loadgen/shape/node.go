package shape

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

const nodeTaint = "watchbench.dev/churn"

// node has text bytes of images: their names are half of a real node.
func (m *Maker) node(op plan.Op, f *facts, v view, text int) *corev1.Node {
	d := newDraw(op.Target.Seed, streamContent)
	labels := map[string]string{
		"beta.kubernetes.io/arch": "amd64", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": labelValue(f.name),
		"node.kubernetes.io/instance-type": "m6i.4xlarge", corev1.LabelTopologyRegion: region,
		corev1.LabelTopologyZone: f.zone,
	}
	n := &corev1.Node{
		ObjectMeta: m.meta(f, labels, map[string]string{"node.alpha.kubernetes.io/ttl": "0",
			"volumes.kubernetes.io/controller-managed-attach-detach": "true"}),
		Spec: corev1.NodeSpec{ProviderID: "aws:///" + f.zone + "/i-" + d.hex(17),
			Taints: []corev1.Taint{{Key: nodeTaint, Value: m.cfg.RunID, Effect: corev1.TaintEffectNoSchedule}}},
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:             resource.MustParse("1000000"),
		corev1.ResourceEphemeralStorage: resource.MustParse("200Gi"), "hugepages-2Mi": resource.MustParse("0"),
	}
	ready := f.placed.stage != oplog.TypeUnready
	n.Status = corev1.NodeStatus{
		Capacity: room, Allocatable: room, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: f.hostIP},
			{Type: corev1.NodeHostName, Address: f.name}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{MachineID: d.hex(32), SystemUUID: d.hex(32), BootID: d.hex(32),
			KernelVersion: "6.8.0-1021-aws",
			OSImage:       "Ubuntu 24.04.2 LTS", ContainerRuntimeVersion: "containerd://2.1.4", KubeletVersion: "v1.36.0",
			OperatingSystem: "linux", Architecture: "amd64"},
		Conditions: []corev1.NodeCondition{
			nodeCondition(f, corev1.NodeMemoryPressure, !ready, "KubeletHasSufficientMemory",
				"kubelet has sufficient memory available"),
			nodeCondition(f, corev1.NodeDiskPressure, !ready, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
			nodeCondition(f, corev1.NodePIDPressure, !ready, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
			nodeCondition(f, corev1.NodeReady, !ready, "KubeletReady", "kubelet is posting ready status"),
		},
		Images: nodeImages(d, text),
	}
	if v == viewStatus {
		n.Spec = corev1.NodeSpec{}
	}
	if v == viewServed {
		// Admission adds this one; no node controller is there to take it away.
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady,
			Effect: corev1.TaintEffectNoSchedule})
		n.CreationTimestamp = f.created
	}
	return n
}

// nodeCondition is as the kubelet reports it or, once the kubelet is silent, the node
// controller.
func nodeCondition(f *facts, kind corev1.NodeConditionType, lost bool, reason, message string) corev1.NodeCondition {
	c := corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastHeartbeatTime: f.now, LastTransitionTime: f.was}
	if kind == corev1.NodeReady {
		c.Status = corev1.ConditionTrue
	}
	if lost {
		c.Status, c.Reason, c.Message, c.LastTransitionTime = corev1.ConditionUnknown, "NodeStatusUnknown",
			"Kubelet stopped posting node status.", f.now
	}
	return c
}

// nodeImages fill text bytes of JSON.
func nodeImages(d draw, text int) []corev1.ContainerImage {
	var all []corev1.ContainerImage
	const frame = len(`{"names":["",""],"sizeBytes":000000000},`)
	for text > 0 {
		name := pick(d, registries) + "/" + pick(d, teams) + "/" + pick(d, nouns) + "-" + pick(d, roles)
		image := corev1.ContainerImage{Names: []string{name + "@sha256:" + d.hex(64), name + ":" + fmt.Sprintf("v%d.%d.%d",
			d.IntN(9), d.IntN(30), d.IntN(20))}, SizeBytes: 100_000_000 + d.Int64N(899_999_999)}
		cost := frame + len(image.Names[0]) + len(image.Names[1])
		if cost > text {
			// The last one makes the size: a name as long as what is left.
			if rest := text - frame - 70; rest > 0 {
				image.Names = []string{pick(d, registries) + "/" + d.hex(rest), "x:1"}
				all = append(all, image)
			}
			break
		}
		text -= cost
		all = append(all, image)
	}
	return all
}
