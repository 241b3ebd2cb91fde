package apisim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podCells says of a pod what an apiserver says: the reason that its containers give
// before the phase.
func podCells(o *corev1.Pod) []any {
	p := podSummary{reason: cmp.Or(o.Status.Reason, string(o.Status.Phase))}
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			p.reason = corev1.PodReasonSchedulingGated
		}
	}
	if initializing := p.initial(o); !initializing || isTrue(o, corev1.PodInitialized) {
		p.main(o)
	}
	switch ended := o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed; {
	case o.DeletionTimestamp != nil && o.Status.Reason == "NodeLost":
		p.reason = "Unknown"
	case o.DeletionTimestamp != nil && !ended:
		p.reason = "Terminating"
	}
	restarts := fmt.Sprint(p.restarts)
	if p.restarts > 0 && !p.last.IsZero() {
		restarts += fmt.Sprintf(" (%s ago)", since(p.last))
	}
	ip := o.Status.PodIP
	if len(o.Status.PodIPs) > 0 {
		ip = o.Status.PodIPs[0].IP
	}
	gates := none
	if n := len(o.Spec.ReadinessGates); n > 0 {
		open := 0
		for _, g := range o.Spec.ReadinessGates {
			if isTrue(o, g.ConditionType) {
				open++
			}
		}
		gates = fmt.Sprintf("%d/%d", open, n)
	}
	return []any{o.Name, fmt.Sprintf("%d/%d", p.ready, len(o.Spec.Containers)+p.sidecars), p.reason, restarts, age(o.ObjectMeta),
		cmp.Or(ip, none), cmp.Or(o.Spec.NodeName, none), cmp.Or(o.Status.NominatedNodeName, none), gates}
}

// podSummary is what the containers of a pod come to.
type podSummary struct {
	reason          string
	ready, sidecars int
	restarts        int
	last            time.Time // restart
}

func isTrue(o *corev1.Pod, kind corev1.PodConditionType) bool {
	i := slices.IndexFunc(o.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	return i >= 0 && o.Status.Conditions[i].Status == corev1.ConditionTrue
}

func (p *podSummary) count(c *corev1.ContainerStatus) {
	p.restarts += int(c.RestartCount)
	if t := c.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(p.last) {
		p.last = t.FinishedAt.Time
	}
}

// initial takes the init containers up to the first that has not done its part, and
// reports whether there is one.
func (p *podSummary) initial(o *corev1.Pod) (initializing bool) {
	sidecar := map[string]bool{} // init containers that stay
	for _, c := range o.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecar[c.Name] = true
			p.sidecars++
		}
	}
	var sidecars podSummary
	for i := range o.Status.InitContainerStatuses {
		c := &o.Status.InitContainerStatuses[i]
		p.count(c)
		if sidecar[c.Name] {
			sidecars.count(c)
		}
		t, w := c.State.Terminated, c.State.Waiting
		switch {
		case t != nil && t.ExitCode == 0:
			continue
		case sidecar[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				p.ready++
			}
			continue
		case t != nil:
			p.reason = "Init:" + terminated(t)
		case w != nil && w.Reason != "" && w.Reason != "PodInitializing":
			p.reason = "Init:" + w.Reason
		default:
			p.reason = fmt.Sprintf("Init:%d/%d", i, len(o.Spec.InitContainers))
		}
		initializing = true
		break
	}
	if !initializing || isTrue(o, corev1.PodInitialized) {
		p.restarts, p.last = sidecars.restarts, sidecars.last // of the others nobody asks any more
	}
	return initializing
}

// main takes the containers, of which the first has the last word.
func (p *podSummary) main(o *corev1.Pod) {
	running, failed := false, ""
	for i := len(o.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &o.Status.ContainerStatuses[i]
		p.count(c)
		switch t, w := c.State.Terminated, c.State.Waiting; {
		case w != nil && w.Reason != "":
			p.reason = w.Reason
		case t != nil:
			p.reason = terminated(t)
			if t.ExitCode != 0 {
				failed = p.reason
			}
		case c.Ready && c.State.Running != nil:
			running = true
			p.ready++
		}
	}
	if p.reason != "Completed" {
		return
	}
	switch {
	case running && isTrue(o, corev1.PodReady):
		p.reason = "Running"
	case failed != "":
		p.reason = failed
	case running:
		p.reason = "NotReady"
	}
}

func terminated(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}
