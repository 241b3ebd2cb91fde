package shape

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// JobFinalizer keeps a Job's pod until the Job has counted it.
const JobFinalizer = "batch.kubernetes.io/job-tracking"

type view int

const (
	viewServed view = iota // as the apiserver serves it
	viewSent               // as it is created or updated: without what the apiserver sets
	viewStatus             // for a write to the status: without spec
)

func withTag(spec corev1.PodSpec, tag string) corev1.PodSpec {
	tagged := func(in []corev1.Container) []corev1.Container {
		if in == nil {
			return nil
		}
		out := make([]corev1.Container, len(in))
		copy(out, in)
		for i := range out {
			out[i].Image += ":" + tag
		}
		return out
	}
	spec.Containers, spec.InitContainers = tagged(spec.Containers), tagged(spec.InitContainers)
	return spec
}

func podLabels(t *template, f *facts, of string) map[string]string {
	l := make(map[string]string, len(t.labels)+4)
	maps.Copy(l, t.labels)
	l[appLabel] = f.app
	switch of {
	case KindReplicaSet:
		l[hashLabel] = f.hash
	case KindJob:
		jobLabels(l, f.ownerName, f.ownerUID)
	case KindDaemonSet:
		l["controller-revision-hash"] = f.hash
	}
	return l
}

// jobLabels are those that the apiserver gives the template of a Job's pods.
func jobLabels(l map[string]string, name string, uid types.UID) {
	for _, prefix := range []string{"batch.kubernetes.io/", ""} {
		l[prefix+"job-name"] = labelValue(name)
		if uid != "" {
			l[prefix+"controller-uid"] = string(uid)
		}
	}
}

func (m *Maker) pod(op plan.Op, t *template, f *facts, v view) *corev1.Pod {
	annotations := make(map[string]string, len(t.annotations)+2)
	maps.Copy(annotations, t.annotations)
	labels := podLabels(t, f, f.ownerKind)
	if f.placed.bound && op.Target.Node != plan.NoNode {
		// Admission copies them from the node at the binding.
		labels[corev1.LabelTopologyRegion], labels[corev1.LabelTopologyZone] = region, f.zone
	}
	if shard := op.Target.Shard; shard > 0 {
		labels[ShardLabel] = strconv.Itoa(shard - 1)
	}
	p := &corev1.Pod{ObjectMeta: m.meta(f, labels, annotations)}
	if op.Type != oplog.TypeUnfinalized && f.ownerKind == KindJob && !f.placed.finalized {
		p.Finalizers = []string{JobFinalizer}
	}
	s, hasStatus := stages[f.placed.stage]
	if hasStatus {
		p.Status = podStatus(t, s, f)
	}
	if v == viewStatus {
		return p
	}
	p.Spec = withTag(t.spec, f.tag)
	if f.placed.bound {
		p.Spec.NodeName = f.node
	}
	if v == viewSent {
		return p
	}
	p.Generation, p.CreationTimestamp = f.generation, f.created
	zero, preempt := int32(0), corev1.PreemptLowerPriority
	p.Spec.Priority, p.Spec.PreemptionPolicy = &zero, &preempt
	if f.placed.deleting {
		grace := int64(gracePeriodSeconds)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &f.deleted, &grace
		p.Generation++
	}
	if !hasStatus {
		p.Status.Phase, p.Status.QOSClass = corev1.PodPending, qosOf(&t.spec)
		if f.placed.bound && !op.Target.Bound {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
				LastTransitionTime: f.was}}
		}
	}
	return p
}

// place fills in where an object is after op. Without a former place it is where op usually follows.
func (f *facts) place(op plan.Op, former place) place {
	at := former
	switch op.Type {
	case oplog.TypeCreate:
		at = place{known: true, bound: op.Target.Bound}
	case oplog.TypeBind:
		at = place{known: at.known, bound: true}
	case oplog.TypeUnfinalized:
		if !at.known {
			at = place{bound: true, stage: oplog.TypeSucceeded}
		}
		at.finalized = true
	case oplog.TypeTerminate, oplog.TypeDelete:
		if !at.known {
			at = place{bound: true, stage: oplog.TypeReady, deleting: true}
		}
		// A deletion without grace writes nothing.
		at.deleting = at.deleting || op.Type == oplog.TypeTerminate
	case oplog.TypeScale:
		at.counted = at.counted || !at.known
	case oplog.TypeStatus, oplog.TypeSucceeded, oplog.TypeUnready:
		at.counted = true
		fallthrough
	default:
		if _, ok := stages[op.Type]; ok {
			at.bound, at.stage = true, op.Type
			at.deleting = at.deleting || op.Type == oplog.TypeAcknowledged || op.Type == oplog.TypeTerminated
		}
	}
	f.placed = at
	return at
}

type place struct {
	known                      bool // its life from the creation on
	bound, deleting, finalized bool
	counted                    bool   // of a workload: its controller has written the status
	stage                      string // of a Pod: type of the last operation that wrote the status
}
