package shape

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/loadgen/plan"
)

const revisionAnnotation = "deployment.kubernetes.io/revision"

func (m *Maker) workload(t *template, f *facts, v view, of string) (metav1.ObjectMeta, corev1.PodTemplateSpec) {
	annotations := maps.Clone(t.own)
	if annotations == nil {
		annotations = map[string]string{}
	}
	meta := m.meta(f, map[string]string{appLabel: f.app}, annotations)
	labels := podLabels(t, f, of)
	meta.Labels[componentLabel] = t.labels[componentLabel]
	if of == KindReplicaSet {
		meta.Labels[hashLabel] = f.hash
	}
	if v == viewStatus {
		return meta, corev1.PodTemplateSpec{}
	}
	return meta, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: t.annotations},
		Spec: withTag(t.spec, f.tag)}
}

func (m *Maker) deployment(t *template, f *facts, v view) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.ObjectMeta, d.Spec.Template = m.workload(t, f, v, KindDeployment)
	if f.placed.counted {
		d.Annotations[revisionAnnotation] = strconv.FormatInt(f.observed, 10)
	}
	f.show(v, KindDeployment, &d.ObjectMeta, &d.Spec, &d.Status)
	return d
}

func (m *Maker) replicaSet(op plan.Op, t *template, f *facts, v view) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{}
	rs.ObjectMeta, rs.Spec.Template = m.workload(t, f, v, KindReplicaSet)
	rs.Annotations[revisionAnnotation] = strconv.FormatUint(1+mix(op.Target.Seed)%9, 10)
	f.show(v, KindReplicaSet, &rs.ObjectMeta, &rs.Spec, &rs.Status)
	return rs
}

func (m *Maker) daemonSet(t *template, f *facts, v view) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{}
	ds.ObjectMeta, ds.Spec.Template = m.workload(t, f, v, KindDeployment)
	ds.Annotations["deprecated.daemonset.template.generation"] = "1"
	f.show(v, KindDaemonSet, &ds.ObjectMeta, &ds.Spec, &ds.Status)
	return ds
}

func (m *Maker) job(t *template, f *facts, v view) *batchv1.Job {
	j := &batchv1.Job{}
	j.ObjectMeta, j.Spec.Template = m.workload(t, f, v, KindDeployment)
	if f.show(v, KindJob, &j.ObjectMeta, &j.Spec, &j.Status); v == viewServed {
		// The apiserver makes the selector and the labels that it selects by.
		jobLabels(j.Spec.Template.Labels, f.name, f.uid)
		j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": string(
			f.uid)}}
	}
	return j
}
