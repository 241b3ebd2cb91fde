package pod

import (
	"cmp"
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

	"github.com/watchbench/watchbench/internal/version"
)

const (
	agentDir       = "/watchbench-agent" // of the agent's binary
	agentPath      = agentDir + "/watchbench"
	partyContainer = "party"
	// user is who runs in our images.
	user = 65532
	// keepFinished is how long a Job that nobody removes stays, for its stand-ins to read how its Pods ended.
	keepFinished = 60 * time.Second
	// removeLimit bounds the removal of Jobs whose parties have ended; what is left then is the run's to remove.
	removeLimit = time.Minute
	poll        = 250 * time.Millisecond

	// pendingLimit bounds a Job whose Pod never runs, and whose stand-in may be gone.
	pendingLimit = startLimit + 30*time.Second

	labelName, labelInstance = "app.kubernetes.io/name", "app.kubernetes.io/instance"
	labelPartOf, labelJob    = "app.kubernetes.io/part-of", "app.kubernetes.io/component"
)

// mostWritten limits each volume of a party, so that it is evicted before its node runs out of disk.
var mostWritten = resource.MustParse("16Gi")

// Place is where parties run.
type Place struct {
	cfg       *rest.Config
	client    kubernetes.Interface
	namespace string
	version   string // of this program
	close     func() // drops connections that are kept
}

// NewPlace returns a namespace of a cluster.
func NewPlace(cfg *rest.Config, namespace string) (*Place, error) {
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
	return &Place{cfg, client, namespace, version.Version, func() { utilnet.CloseIdleConnectionsFor(http.Transport) }}, nil
}

func (p *Place) tunnel(pod string) *tunnel {
	t := &tunnel{at: p, pod: pod}
	t.heard.Store(time.Now().UnixNano())
	return t
}

// job is the party's Job. Each of its Pods runs an agent, which is told what differs among them.
func (s *Spec) job() *batchv1.Job {
	limits := corev1.ResourceList{}
	for name, text := range s.Limits {
		limits[corev1.ResourceName(name)] = resource.MustParse(text)
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
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &mostWritten}}})
	}
	meta := metav1.ObjectMeta{Name: s.Job, Namespace: s.Namespace, Labels: map[string]string{
		labelName: "watchbench-party", labelInstance: s.Owner, labelPartOf: "watchbench", labelJob: s.Job}}
	return &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(s.Of)), Parallelism: new(int32(s.Of)),
		BackoffLimit: new(int32(0)), TTLSecondsAfterFinished: new(int32(keepFinished.Seconds())),
		ActiveDeadlineSeconds: new(int64(pendingLimit.Seconds())),
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, EnableServiceLinks: new(false), Volumes: volumes,
			ServiceAccountName: s.ServiceAccount, AutomountServiceAccountToken: new(s.ServiceAccount != ""),
			TerminationGracePeriodSeconds: new(int64((grace + 2*lingering).Seconds())),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(user)),
				RunAsGroup: new(int64(user)), SeccompProfile: &corev1.SeccompProfile{
					Type: corev1.SeccompProfileTypeRuntimeDefault}},
			InitContainers: []corev1.Container{
				container("agent", s.AgentImage, "/watchbench", "agent", "--install", agentPath)},
			Containers: []corev1.Container{container(partyContainer, s.Image, agentPath, "agent")},
		}},
	}}
}

// persist retries f, unless the API server refuses, for as long as an agent goes on alone.
func persist(ctx context.Context, f func(context.Context) error) (err error) {
	_ = wait.PollUntilContextTimeout(ctx, poll, Silence, true, func(ctx context.Context) (bool, error) {
		err = f(ctx)
		return err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err), nil
	})
	if err == nil {
		return context.Cause(ctx)
	}
	return err
}

// ensure creates the Job unless another stand-in has.
func (p *Place) ensure(ctx context.Context, job *batchv1.Job) (made *batchv1.Job, err error) {
	jobs := p.client.BatchV1().Jobs(p.namespace)
	err = persist(ctx, func(ctx context.Context) (err error) {
		if made, err = jobs.Create(ctx, job, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
			made, err = jobs.Get(ctx, job.Name, metav1.GetOptions{})
		}
		return err
	})
	switch {
	case err != nil:
		return nil, p.refused(fmt.Errorf("make the Job %s: %w", job.Name, err))
	case made.Labels[labelInstance] != job.Labels[labelInstance]:
		return nil, fmt.Errorf("the Job %s belongs to the run %q", job.Name, made.Labels[labelInstance])
	}
	return made, nil
}

// keep removes the deadline of a Job of which all Pods run: from now on their agents know when to end. The stand-in
// whose Pod runs last sees that they do.
func (p *Place) keep(ctx context.Context, s *Spec) error {
	err := persist(ctx, func(ctx context.Context) error {
		ran, err := p.client.CoreV1().Pods(p.namespace).List(ctx, metav1.ListOptions{
			LabelSelector: batchv1.JobNameLabel + "=" + s.Job, FieldSelector: "status.phase!=Pending"})
		if err != nil || len(ran.Items) < s.Of {
			return err
		}
		_, err = p.client.BatchV1().Jobs(p.namespace).Patch(ctx, s.Job, types.MergePatchType,
			[]byte(`{"spec":{"activeDeadlineSeconds":null}}`), metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return p.refused(fmt.Errorf("keep the Job %s: %w", s.Job, err))
	}
	return nil
}

// Clean removes what the stand-ins of a run, the Owner in their Specs, have left in the namespace, and returns once
// nothing of it is there.
func (p *Place) Clean(ctx context.Context, run string) error {
	defer p.close()
	return p.remove(ctx, grace+removeLimit, labelInstance+"="+run)
}

// remove deletes the Jobs with these labels, even if ctx has ended, and returns once they and their Pods are gone.
func (p *Place) remove(ctx context.Context, limit time.Duration, labels string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	of := metav1.ListOptions{LabelSelector: labels}
	jobs, pods := p.client.BatchV1().Jobs(p.namespace), p.client.CoreV1().Pods(p.namespace)
	var last error
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		found, err := jobs.List(ctx, of)
		if last = err; err != nil {
			return apierrors.IsForbidden(err), nil
		}
		for _, j := range found.Items {
			last = errors.Join(last, jobs.Delete(ctx, j.Name,
				metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
		}
		left, err := pods.List(ctx, of)
		last = errors.Join(last, err)
		return err == nil && len(found.Items)+len(left.Items) == 0 || apierrors.IsForbidden(last), nil
	})
	if err = errors.Join(err, last); err != nil {
		return fmt.Errorf("remove what has the labels %s in the namespace %s: %w", labels, p.namespace, err)
	}
	return nil
}

// find returns the Pod of an index, nil if there is none.
func (p *Place) find(ctx context.Context, s *Spec) (*corev1.Pod, error) {
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

const sayMemory = "the container reached its memory limit"

// fate returns how a Pod has ended, nil while it runs. Unknown is an error of another type.
func (p *Place) fate(ctx context.Context, of *corev1.Pod) error {
	pod, err := p.client.CoreV1().Pods(p.namespace).Get(ctx, of.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && pod.UID != of.UID {
		return &LostError{LostDeleted, of.Name, "it no longer exists"}
	}
	if err != nil {
		return fmt.Errorf("look at the Pod %s: %w", of.Name, err)
	}
	if reason, detail := ending(pod); reason != "" {
		return &LostError{reason, pod.Name, detail}
	}
	return nil
}

// ending says how a Pod ends; no reason while it runs.
func ending(pod *corev1.Pod) (reason, detail string) {
	if pod.Status.Reason == "Evicted" {
		return LostEvicted, pod.Status.Message
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return LostEvicted, c.Reason + ": " + c.Message
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		end := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
		switch {
		case end != nil && end.Reason == "OOMKilled":
			return LostOOM, sayMemory
		case c.RestartCount > 0:
			return LostRestarted, fmt.Sprintf("its container was restarted %d times", c.RestartCount)
		case end != nil && pod.DeletionTimestamp == nil && (end.ExitCode != 0 || c.Name == partyContainer):
			return LostSilent, fmt.Sprintf("its container %s ended with exit code %d: %s %s", c.Name, end.ExitCode, end.Reason,
				end.Message)
		}
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return LostDeleted, "somebody, or its Job, deleted it"
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return LostSilent, fmt.Sprintf("it has ended: %s %s", pod.Status.Reason, pod.Status.Message)
	}
	return "", ""
}

// whyDying says why a Pod is being ended, which may not show yet.
func (p *Place) whyDying(ctx context.Context, pod *corev1.Pod) error {
	var fate error = &LostError{LostSilent, pod.Name, "its container was told to end"}
	_ = wait.PollUntilContextTimeout(ctx, poll, askTimeout, true, func(ctx context.Context) (bool, error) {
		found, ok := errors.AsType[*LostError](p.fate(ctx, pod))
		if ok {
			fate = found
		}
		return ok, nil
	})
	return fate
}
