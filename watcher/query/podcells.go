package query

import (
	"cmp"
	"fmt"
	"time"
)

type container struct {
	Name             string
	Ready            bool
	State, LastState struct {
		Running    *struct{}
		Waiting    *struct{ Reason string }
		Terminated *terminated
	}
	Started      *bool
	RestartCount int
}

type terminated struct {
	Reason           string
	ExitCode, Signal int
	FinishedAt       time.Time
}

func (t *terminated) why() string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

type pod struct {
	Metadata meta
	Spec     struct {
		NodeName       string
		Containers     []struct{}
		InitContainers []struct{ Name, RestartPolicy string }
	}
	Status struct {
		Phase, Reason, PodIP                     string
		Conditions                               conditions
		InitContainerStatuses, ContainerStatuses []container
	}
}

// podSummary summarises the containers of a pod.
type podSummary struct {
	reason          string
	ready, restarts int
	last            time.Time // restart
}

// podCells say of a pod what an apiserver says: the reason that its containers give before the phase.
func podCells(o *pod) []any {
	p := podSummary{reason: cmp.Or(o.Status.Reason, o.Status.Phase)}
	for _, c := range o.Status.Conditions {
		if c.Type == "PodScheduled" && c.Reason == "SchedulingGated" {
			p.reason = c.Reason
		}
	}
	total := len(o.Spec.Containers)
	stays := map[string]bool{} // init containers that do
	for _, c := range o.Spec.InitContainers {
		if c.RestartPolicy == "Always" {
			stays[c.Name] = true
			total++
		}
	}
	if initializing := p.initial(o, stays); !initializing || o.Status.Conditions.are("Initialized") {
		p.main(o)
	}
	ended := o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed"
	switch deleted := o.Metadata.DeletionTimestamp != nil; {
	case deleted && o.Status.Reason == "NodeLost":
		p.reason = "Unknown"
	case deleted && !ended:
		p.reason = "Terminating"
	}
	restarts := fmt.Sprint(p.restarts)
	if p.restarts > 0 && !p.last.IsZero() {
		restarts += fmt.Sprintf(" (%s ago)", since(p.last))
	}
	return []any{
		o.Metadata.Name, fmt.Sprintf("%d/%d", p.ready, total), p.reason, restarts, o.Metadata.age(),
		cmp.Or(o.Status.PodIP, none), cmp.Or(o.Spec.NodeName, none),
	}
}

func (p *podSummary) count(c *container) {
	p.restarts += c.RestartCount
	if t := c.LastState.Terminated; t != nil && t.FinishedAt.After(p.last) {
		p.last = t.FinishedAt
	}
}

// initial takes the init containers up to the first that has not done its part, and reports whether there is one.
func (p *podSummary) initial(o *pod, stays map[string]bool) (initializing bool) {
	var staying podSummary
	for i := range o.Status.InitContainerStatuses {
		c := &o.Status.InitContainerStatuses[i]
		p.count(c)
		if stays[c.Name] {
			staying.count(c)
		}
		t, w := c.State.Terminated, c.State.Waiting
		switch {
		case t != nil && t.ExitCode == 0:
			continue
		case stays[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				p.ready++
			}
			continue
		case t != nil:
			p.reason = "Init:" + t.why()
		case w != nil && w.Reason != "" && w.Reason != "PodInitializing":
			p.reason = "Init:" + w.Reason
		default:
			p.reason = fmt.Sprintf("Init:%d/%d", i, len(o.Spec.InitContainers))
		}
		initializing = true
		break
	}
	if !initializing || o.Status.Conditions.are("Initialized") {
		p.restarts, p.last = staying.restarts, staying.last // of the others nobody asks any more
	}
	return initializing
}

// main takes the containers, of which the first has the last word.
func (p *podSummary) main(o *pod) {
	running, failed := false, ""
	for i := len(o.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &o.Status.ContainerStatuses[i]
		p.count(c)
		switch t, w := c.State.Terminated, c.State.Waiting; {
		case w != nil && w.Reason != "":
			p.reason = w.Reason
		case t != nil:
			p.reason = t.why()
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
	case running && o.Status.Conditions.are("Ready"):
		p.reason = "Running"
	case failed != "":
		p.reason = failed
	case running:
		p.reason = "NotReady"
	}
}
