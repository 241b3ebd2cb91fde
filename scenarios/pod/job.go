package pod

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
)

const (
	agentDir  = "/watchbench-agent" // where the agent's binary, and what the party writes to its outputs, are
	agentPath = agentDir + "/watchbench"
	// user is who runs in our images.
	user = 65532
	// keepFinished is how long a Job that nobody removes stays, for its stand-ins to read how its Pods ended.
	keepFinished = 60 * time.Second
	poll         = 250 * time.Millisecond

	labelName, labelInstance = "app.kubernetes.io/name", "app.kubernetes.io/instance"
	labelPartOf              = "app.kubernetes.io/part-of"
)

// place is where parties run.
type place struct {
	cfg       *rest.Config
	client    kubernetes.Interface
	namespace string
	close     func() // drops connections that are kept
}

func newPlace(cfg *rest.Config, namespace string) (*place, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	http, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	client, err := kubernetes.NewForConfigAndClient(cfg, http)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	// The client's own method does not see through what client-go wraps around its transport.
	return &place{cfg, client, namespace, func() { utilnet.CloseIdleConnectionsFor(http.Transport) }}, nil
}

func (p *place) tunnel(pod string) *tunnel {
	return &tunnel{cfg: p.cfg, client: p.client, namespace: p.namespace, pod: pod}
}

// job makes the party's Job; its Pods run an agent each, and all that differs among them the agents are told.
func (s *Spec) job() *batchv1.Job {
	limits := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: s.CPU, corev1.ResourceMemory: s.Memory} {
		if q, err := resource.ParseQuantity(text); err == nil {
			limits[name] = q
		}
	}
	mounts := []corev1.VolumeMount{{Name: "agent", MountPath: agentDir}, {Name: "tmp", MountPath: "/tmp"}}
	if s.Dir != "" && filepath.Clean(s.Dir) != "/tmp" {
		mounts = append(mounts, corev1.VolumeMount{Name: "dir", MountPath: s.Dir})
	}
	container := func(name, image string, command ...string) corev1.Container {
		return corev1.Container{
			Name: name, Image: image, Command: command, VolumeMounts: mounts, ImagePullPolicy: corev1.PullIfNotPresent,
			Resources: corev1.ResourceRequirements{Limits: limits, Requests: limits},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}
	}
	var volumes []corev1.Volume
	for _, m := range mounts {
		volumes = append(volumes, corev1.Volume{Name: m.Name,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	meta := metav1.ObjectMeta{Name: s.Job, Namespace: s.Namespace, Labels: map[string]string{
		labelName: "watchbench-party", labelInstance: s.Owner, labelPartOf: "watchbench"}}
	return &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(s.Of)), Parallelism: new(int32(s.Of)),
		BackoffLimit: new(int32(0)), TTLSecondsAfterFinished: new(int32(keepFinished.Seconds())),
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, EnableServiceLinks: new(false), Volumes: volumes,
			ServiceAccountName: s.ServiceAccount, AutomountServiceAccountToken: new(s.ServiceAccount != ""),
			TerminationGracePeriodSeconds: new(int64((grace + 2*lingering).Seconds())),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(user)),
				RunAsGroup: new(int64(user)), SeccompProfile: &corev1.SeccompProfile{
					Type: corev1.SeccompProfileTypeRuntimeDefault}},
			InitContainers: []corev1.Container{
				container("agent", s.AgentImage, "/watchbench", "agent", "--install", agentPath)},
			Containers: []corev1.Container{container("party", s.Image, agentPath, "agent")},
		}},
	}}
}

// ensure makes a Job, which another stand-in may have made, as its owner's.
func (p *place) ensure(ctx context.Context, job *batchv1.Job, owner string) (*batchv1.Job, error) {
	jobs := p.client.BatchV1().Jobs(p.namespace)
	if owner != "" {
		o, err := jobs.Get(ctx, owner, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("find the run's anchor: %w", err)
		}
		job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: o.Name, UID: o.UID,
			BlockOwnerDeletion: new(true)}}
	}
	made, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = jobs.Get(ctx, job.Name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err): // the namespace
		return nil, &badinput.Error{What: "make the Job " + job.Name, Remedy: p.rbacRemedy(), Err: err}
	case err != nil:
		return nil, fmt.Errorf("make the Job %s: %w", job.Name, err)
	}
	return made, nil
}

// remove deletes a Job with its Pods, and returns once they are gone.
func (p *place) remove(ctx context.Context, name string) error {
	jobs := p.client.BatchV1().Jobs(p.namespace)
	var last error
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		last = jobs.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})
		return apierrors.IsNotFound(last), nil
	})
	if err != nil {
		return fmt.Errorf("delete the Job %s: %w", name, errors.Join(context.Cause(ctx), last))
	}
	return nil
}

// release removes a Job once all its Pods are over, of which this one is. The last stand-in does so.
func (p *place) release(ctx context.Context, s *Spec) error {
	for s.Of > 1 {
		pod, err := p.find(ctx, s)
		var job *batchv1.Job
		if err == nil { // after the Pod, so that the last stand-in sees a Job that is over
			job, err = p.client.BatchV1().Jobs(p.namespace).Get(ctx, s.Job, metav1.GetOptions{})
		}
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
		case over(&job.Status) >= s.Of || len(job.Status.Conditions) > 0:
			return p.remove(ctx, s.Job)
		case pod == nil || finished(pod) && !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer):
			return nil // the Job has counted it
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(poll):
		}
	}
	return p.remove(ctx, s.Job)
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// over counts the Pods that have ended.
func over(s *batchv1.JobStatus) int {
	n := int(s.Succeeded + s.Failed)
	if u := s.UncountedTerminatedPods; u != nil {
		n += len(u.Succeeded) + len(u.Failed)
	}
	return n
}

// find returns the Pod of an index, nil if there is none.
func (p *place) find(ctx context.Context, s *Spec) (*corev1.Pod, error) {
	list, err := p.client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{LabelSelector: fmt.Sprintf("%s=%s,%s=%d",
		batchv1.JobNameLabel, s.Job, batchv1.JobCompletionIndexAnnotation, s.Index)})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// LostError is a Pod that did not live as long as its party.
type LostError struct {
	Reason string // one of the following
	Pod    string
	Detail string
}

// What can happen to a Pod.
const (
	LostEvicted   = "evicted"
	LostOOM       = "OOM-killed"
	LostRestarted = "restarted"
	LostDeleted   = "deleted"
	LostSilent    = "lost"
)

func (e *LostError) Error() string { return fmt.Sprintf("%s: Pod %s: %s", e.Reason, e.Pod, e.Detail) }

// fate returns how a Pod has ended, nil while it runs. Unknown is an error of another type.
func (p *place) fate(ctx context.Context, name string, uid types.UID) error {
	pod, err := p.client.CoreV1().Pods(p.namespace).Get(ctx, name, metav1.GetOptions{})
	lost := func(reason, format string, args ...any) error {
		return &LostError{Reason: reason, Pod: name, Detail: fmt.Sprintf(format, args...)}
	}
	if apierrors.IsNotFound(err) || err == nil && pod.UID != uid {
		return lost(LostDeleted, "it is not there any more")
	}
	if err != nil {
		return fmt.Errorf("look at the Pod %s: %w", name, err)
	}
	if pod.Status.Reason == "Evicted" {
		return lost(LostEvicted, "%s", pod.Status.Message)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return lost(LostEvicted, "%s: %s", c.Reason, c.Message)
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		end := c.State.Terminated
		if end == nil {
			end = c.LastTerminationState.Terminated
		}
		switch {
		case end != nil && end.Reason == "OOMKilled":
			return lost(LostOOM, "the container reached its memory limit")
		case c.RestartCount > 0:
			return lost(LostRestarted, "its container was started %d times again", c.RestartCount)
		case end != nil && pod.DeletionTimestamp == nil:
			return lost(LostSilent, "its agent ended with exit code %d: %s %s", end.ExitCode, end.Reason, end.Message)
		}
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return lost(LostDeleted, "somebody, or its Job, deleted it")
	case finished(pod):
		return lost(LostSilent, "it has ended: %s %s", pod.Status.Reason, pod.Status.Message)
	}
	return nil
}
