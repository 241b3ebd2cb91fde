package shape

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

const revisionAnnotation = "deployment.kubernetes.io/revision"

// workload is the metadata of a workload and the template of its pods.
func (m *Maker) workload(t *template, f *facts, of string) (metav1.ObjectMeta, corev1.PodTemplateSpec) {
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
	return meta, corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: t.annotations},
		Spec: withTag(t.spec, f.tag)}
}

// show fills in what a view of a workload has: the spec unless the status alone is
// written, what the apiserver adds, and the status once a controller has written one.
func (f *facts) show(v view, meta *metav1.ObjectMeta, spec, status func()) {
	if v != viewStatus {
		spec()
	}
	if v == viewServed {
		meta.Generation, meta.CreationTimestamp = f.generation, f.created
	}
	if v != viewSent && f.placed.counted {
		status()
	}
}

func ptr[T any](v T) *T { return &v }

func (m *Maker) deployment(t *template, f *facts, v view) *appsv1.Deployment {
	meta, pod := m.workload(t, f, KindDeployment)
	d := &appsv1.Deployment{ObjectMeta: meta}
	if f.placed.counted {
		d.Annotations[revisionAnnotation] = strconv.FormatInt(f.observed, 10)
	}
	f.show(v, &d.ObjectMeta, func() {
		quarter := intstr.FromString("25%")
		d.Spec = appsv1.DeploymentSpec{
			Replicas: ptr(f.wanted), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: f.app}},
			Template: pod,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &quarter, MaxSurge: &quarter}},
			RevisionHistoryLimit: ptr(int32(10)), ProgressDeadlineSeconds: ptr(int32(600)),
		}
	}, func() { d.Status = deploymentStatus(f) })
	return d
}

func deploymentStatus(f *facts) appsv1.DeploymentStatus {
	s := f.state
	newest := f.name + "-" + imageTag(f.seed, int(f.observed-1))
	available := corev1.ConditionTrue
	reason, message := "MinimumReplicasAvailable", "Deployment has minimum availability."
	if s.Ready == 0 && s.Replicas > 0 {
		available, reason, message = corev1.ConditionFalse, "MinimumReplicasUnavailable",
			"Deployment does not have minimum availability."
	}
	progress := "ReplicaSetUpdated"
	progressMessage := "ReplicaSet \"" + newest + "\" is progressing."
	if s.Updated == s.Replicas && s.Ready == s.Replicas {
		progress, progressMessage = "NewReplicaSetAvailable", "ReplicaSet \""+newest+"\" has successfully progressed."
	}
	return appsv1.DeploymentStatus{
		ObservedGeneration: f.observed, Replicas: int32(s.Replicas), UpdatedReplicas: int32(s.Updated),
		ReadyReplicas:     int32(s.Ready),
		AvailableReplicas: int32(s.Ready), UnavailableReplicas: int32(max(0, s.Replicas-s.Ready)),
		TerminatingReplicas: ptr(int32(s.Terminating)),
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: available, LastUpdateTime: f.now, LastTransitionTime: f.now,
				Reason: reason, Message: message},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, LastUpdateTime: f.now, LastTransitionTime: f.was,
				Reason: progress, Message: progressMessage},
		},
	}
}

func (m *Maker) replicaSet(op plan.Op, t *template, f *facts, v view) *appsv1.ReplicaSet {
	meta, pod := m.workload(t, f, KindReplicaSet)
	rs := &appsv1.ReplicaSet{ObjectMeta: meta}
	rs.Annotations[revisionAnnotation] = strconv.FormatUint(1+mix(op.Target.Seed)%9, 10)
	f.show(v, &rs.ObjectMeta, func() {
		rs.Spec = appsv1.ReplicaSetSpec{
			Replicas: ptr(f.wanted), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: f.app,
				hashLabel: f.hash}}, Template: pod,
		}
	}, func() {
		s := f.state
		rs.Status = appsv1.ReplicaSetStatus{
			Replicas: int32(s.Replicas), FullyLabeledReplicas: int32(s.Replicas), ReadyReplicas: int32(s.Ready),
			AvailableReplicas:   int32(s.Ready),
			TerminatingReplicas: ptr(int32(s.Terminating)), ObservedGeneration: f.observed,
		}
	})
	return rs
}

func (m *Maker) daemonSet(t *template, f *facts, v view) *appsv1.DaemonSet {
	meta, pod := m.workload(t, f, KindDeployment)
	ds := &appsv1.DaemonSet{ObjectMeta: meta}
	ds.Annotations["deprecated.daemonset.template.generation"] = "1"
	f.show(v, &ds.ObjectMeta, func() {
		one, none := intstr.FromInt32(1), intstr.FromInt32(0)
		ds.Spec = appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: f.app}}, Template: pod,
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &one, MaxSurge: &none}},
			RevisionHistoryLimit: ptr(int32(10)),
		}
	}, func() {
		s := f.state
		ds.Status = appsv1.DaemonSetStatus{
			CurrentNumberScheduled: int32(s.Replicas), DesiredNumberScheduled: int32(s.Replicas), NumberReady: int32(s.Ready),
			NumberAvailable:   int32(s.Ready),
			NumberUnavailable: int32(max(0, s.Replicas-s.Ready)), UpdatedNumberScheduled: int32(s.Updated),
			ObservedGeneration: f.observed,
		}
	})
	return ds
}

func (m *Maker) job(op plan.Op, t *template, f *facts, v view) *batchv1.Job {
	meta, pod := m.workload(t, f, KindDeployment)
	j := &batchv1.Job{ObjectMeta: meta}
	f.show(v, &j.ObjectMeta, func() {
		n := f.wanted
		j.Spec = batchv1.JobSpec{
			Parallelism: ptr(n), Completions: ptr(n), BackoffLimit: ptr(int32(6)), ManualSelector: ptr(false),
			TTLSecondsAfterFinished: ptr(int32(60)), CompletionMode: ptr(batchv1.NonIndexedCompletion), Suspend: ptr(false),
			PodReplacementPolicy: ptr(batchv1.TerminatingOrFailed), Template: pod,
		}
		if v == viewServed {
			// The apiserver makes the selector and the labels that it selects by.
			jobLabels(j.Spec.Template.Labels, f.name, f.uid)
			j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": string(
				f.uid)}}
		}
	}, func() { j.Status = jobStatus(f) })
	return j
}

func jobStatus(f *facts) batchv1.JobStatus {
	s := f.state
	js := batchv1.JobStatus{
		StartTime: &f.started, Active: int32(s.Active), Succeeded: int32(s.Succeeded), Failed: int32(s.Failed),
		Ready: ptr(int32(s.Ready)), Terminating: ptr(int32(0)), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
	}
	if f.placed.stage == oplog.TypeSucceeded {
		js.CompletionTime = &f.now
		for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			js.Conditions = append(js.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue,
				LastProbeTime: f.now, LastTransitionTime: f.now, Reason: "CompletionsReached",
				Message: "Reached expected number of succeeded pods"})
		}
	}
	return js
}
