package pod

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/watchbench/watchbench/internal/badinput"
)

const (
	// startLimit bounds the time until a Pod runs; most of it is for images that are being pulled.
	startLimit = 2 * time.Minute
	// patience is how long a Job may have no Pod, and a Pod no node, before that is an error.
	patience = 10 * time.Second
)

func (p *place) rbacRemedy() string {
	return fmt.Sprintf("run watchbench run SCENARIO --in-cluster --namespace %s --rbac | kubectl apply -f -, "+
		"as somebody who may", p.namespace)
}

// await waits until the Pod of an index runs. What another image, right, quota or limit would fix is bad input.
func (p *place) await(ctx context.Context, s *Spec, job *batchv1.Job) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it did not within %s", startLimit))
	defer cancel()
	begun := time.Now()
	var state string
	for {
		pod, err := p.find(ctx, s)
		patient := time.Since(begun) < patience
		switch {
		case err != nil:
			state = err.Error()
		case pod == nil:
			state = "it has no Pod"
			if why := p.refusal(ctx, job); why != "" && (!patient || decided(why)) {
				return nil, p.refused(why)
			}
		case pod.DeletionTimestamp != nil || finished(pod):
			if err := p.fate(ctx, pod.Name, pod.UID); err != nil {
				return nil, err
			}
		default:
			waits, reason := waiting(pod)
			if waits == "" {
				return pod, nil
			}
			state = waits
			if err := p.stuck(s, reason, waits, patient); err != nil {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("start Pod %d of the Job %s: %w: %s", s.Index, s.Job, context.Cause(ctx), state)
		case <-time.After(poll):
		}
	}
}

// waiting says what keeps a Pod from running, and the reason by the name that Kubernetes has for it.
func waiting(pod *corev1.Pod) (says, reason string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message, c.Reason
		}
	}
	all := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...),
		pod.Status.ContainerStatuses...)
	for _, c := range all {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			return fmt.Sprintf("image %s: %s: %s", c.Image, w.Reason, w.Message), w.Reason
		}
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			return fmt.Sprintf("container %s ended with exit code %d: %s", c.Name, t.ExitCode, t.Message), t.Reason
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil {
			return "", ""
		}
	}
	return "its containers are being made", ""
}

// stuck returns the error of a state that does not pass by itself.
func (p *place) stuck(s *Spec, reason, says string, patient bool) error {
	switch reason {
	case corev1.PodReasonUnschedulable:
		if patient {
			return nil
		}
		return badinput.New("give the cluster a node that has room, or lower --limits",
			"no node takes a Pod with the limits cpu=%s, memory=%s: %s", cmp.Or(s.CPU, "none"), cmp.Or(s.Memory, "none"), says)
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError":
		if reason == "ErrImagePull" && patient { // it is tried once more
			return nil
		}
		return badinput.New("on kind, load the images of make image with kind load docker-image; elsewhere push them, and "+
			"name where with --image-registry", "the cluster cannot pull %s", strings.TrimPrefix(says, "image "))
	case "CreateContainerError", "CreateContainerConfigError", "RunContainerError":
		return badinput.New("use the images of make image, for the nodes' architecture", "cannot start it: %s", says)
	}
	return nil
}

// refusal is why the Job's last Pod was not created, as its events say.
func (p *place) refusal(ctx context.Context, job *batchv1.Job) string {
	events, err := p.client.CoreV1().Events(p.namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.uid": string(job.UID), "reason": "FailedCreate"}.String()})
	if err != nil || len(events.Items) == 0 {
		return ""
	}
	return events.Items[len(events.Items)-1].Message
}

const (
	sayQuota    = "exceeded quota"
	sayNoLimits = "failed quota"
	saySecurity = "violates PodSecurity"
	sayAccount  = "service account"
)

// decided reports whether a refusal is one of those that the same request meets again.
func decided(why string) bool {
	for _, s := range []string{sayQuota, sayNoLimits, saySecurity, sayAccount} {
		if strings.Contains(why, s) {
			return true
		}
	}
	return false
}

// refused is bad input that says why a Pod may not be made. An admission plugin says it in words only.
func (p *place) refused(why string) error {
	remedy := "ask who runs the cluster"
	switch {
	case strings.Contains(why, sayQuota):
		remedy = "raise the ResourceQuota of the namespace " + p.namespace + ", or lower --limits"
	case strings.Contains(why, sayNoLimits):
		remedy = "name --limits, which the ResourceQuota of the namespace " + p.namespace + " demands"
	case strings.Contains(why, saySecurity):
		remedy = "use a namespace whose Pod Security is restricted or less, with --namespace"
	case strings.Contains(why, sayAccount):
		remedy = p.rbacRemedy()
	}
	return badinput.New(remedy, "the cluster refuses a Pod in the namespace %s: %s", p.namespace, why)
}
