package pod

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/watchbench/watchbench/internal/badinput"
)

const (
	// startLimit bounds the time until a Pod runs; most of it is for images that are being pulled.
	startLimit = 2 * time.Minute
	// patience is how long a Job may have no Pod, and a Pod no node, before that is an error.
	patience = 10 * time.Second
)

// await waits until the Pod of an index runs. What another image, right, quota or limit would fix is bad input.
func (p *Place) await(ctx context.Context, s *Spec, job *batchv1.Job) (pod *corev1.Pod, err error) {
	begun, state := time.Now(), error(nil)
	err = wait.PollUntilContextTimeout(ctx, poll, startLimit, true, func(ctx context.Context) (bool, error) {
		pod, state = p.find(ctx, s)
		switch {
		case state != nil:
		case pod == nil:
			state = p.refusal(ctx, job)
		default:
			if reason, detail := ending(pod); reason != "" {
				return false, &LostError{reason, pod.Name, detail}
			}
			state = waiting(pod)
		}
		if apierrors.IsForbidden(state) || state != nil && time.Since(begun) > patience {
			if err := p.refused(state); badinput.Is(err) {
				return false, err
			}
		}
		return state == nil, nil
	})
	if err != nil && wait.Interrupted(err) {
		err = fmt.Errorf("start Pod %d of the Job %s within %s: %w: %w", s.Index, s.Job, startLimit, err, state)
	}
	return pod, err
}

// waiting says what keeps a Pod from running, beginning with the name that Kubernetes has for it; nil: it runs.
func waiting(pod *corev1.Pod) error {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			return fmt.Errorf("%s: image %s: %s", w.Reason, c.Image, w.Message)
		}
		if c.Name == partyContainer && c.State.Running != nil {
			return nil
		}
	}
	return errors.New("its containers are being created")
}

// refusal is why the Job's last Pod was not created, as its events say.
func (p *Place) refusal(ctx context.Context, job *batchv1.Job) error {
	events, err := p.client.CoreV1().Events(p.namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.uid": string(job.UID), "reason": "FailedCreate"}.String()})
	if err == nil {
		err = errors.New("it has no Pod")
		if n := len(events.Items); n > 0 {
			err = fmt.Errorf("FailedCreate: %s", events.Items[n-1].Message)
		}
	}
	return err
}

// refused makes bad input of what does not pass by itself. An admission plugin says it in words only.
func (p *Place) refused(why error) error {
	const images = "on kind, load the images of make image with kind load docker-image; elsewhere push them, and name " +
		"where with --image-registry"
	const rbac = "run the same command with --rbac, and pipe it to kubectl apply -f -, as an administrator of the cluster"
	for _, known := range []struct{ says, remedy string }{
		{"exceeded quota", "raise the ResourceQuota of the namespace " + p.namespace + ", or lower --limits"},
		{"failed quota", "name --limits, which the ResourceQuota of the namespace " + p.namespace + " demands"},
		{"violates PodSecurity", "use a namespace whose Pod Security is restricted or less, with --namespace"},
		{"service account", rbac},
		{corev1.PodReasonUnschedulable + ": ", "give the cluster a node that has room, or lower --limits"},
		{"ErrImagePull: ", images}, {"ImagePullBackOff: ", images}, {"ErrImageNeverPull: ", images},
		{"InvalidImageName: ", images}, {"ImageInspectError: ", images},
		{"CreateContainer", "use the images of make image, for the nodes' architecture"}, // ...Error, ...ConfigError
		{"RunContainerError: ", "use the images of make image, for the nodes' architecture"},
		{"fork/exec ", "use the images of make image, for the nodes' architecture"}, // of another program, say
		{"FailedCreate: ", "ask who runs the cluster"},
	} {
		if strings.Contains(why.Error(), known.says) {
			return &badinput.Error{What: "run a Pod in the namespace " + p.namespace, Remedy: known.remedy, Err: why}
		}
	}
	if apierrors.IsForbidden(why) || apierrors.IsNotFound(why) { // the namespace
		return &badinput.Error{What: "run a Pod in the namespace " + p.namespace, Remedy: rbac, Err: why}
	}
	return why
}
