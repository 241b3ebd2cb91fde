package shape

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// node has text bytes of images: their names are half of a real node.
func (m *Maker) node(op plan.Op, f *facts, v view, text int) *corev1.Node {
	d := newDraw(op.Target.Seed, streamContent)
	labels := map[string]string{
		"beta.kubernetes.io/arch": "amd64", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": labelValue(f.name),
		"node.kubernetes.io/instance-type": "m6i.4xlarge", corev1.LabelTopologyRegion: region,
		corev1.LabelTopologyZone: f.zone,
	}
	n := &corev1.Node{ObjectMeta: m.meta(f, labels, map[string]string{"node.alpha.kubernetes.io/ttl": "0",
		"volumes.kubernetes.io/controller-managed-attach-detach": "true"})}
	f.part("Node spec", &n.Spec, "<hex17>", d.hex(17), "<run>", m.cfg.RunID)
	f.part("Node status", &n.Status, "<hex32>", d.hex(32))
	if f.placed.stage == oplog.TypeUnready {
		f.part("Node lost", &n.Status)
	} else {
		f.part("Node ready", &n.Status)
	}
	n.Status.Images = nodeImages(d, text)
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
