package calibration

import (
	"encoding/json"
	"fmt"
)

// Stages of a pod. A state that is deleted is the last one that the object had, and its
// event DELETED.
const (
	Created     = "created"     // by its controller
	Bound       = "bound"       // to a node
	Creating    = "creating"    // the kubelet has it
	Sandbox     = "sandbox"     // it has a network, no container yet
	Running     = "running"     // and not ready
	Ready       = "ready"       //
	Stopped     = "stopped"     // a container ended, the pod has not yet
	BackOff     = "back-off"    // it waits for that
	Ended       = "ended"       // all containers did, for good
	Terminating = "terminating" // it has a deletion time, and containers that run
	Terminated  = "terminated"  // and none
	Deleted     = "deleted"
	Changed     = "changed" // of other kinds: neither created nor deleted
	Complete    = "complete"
)

// object is what of an object says its stage.
type object struct {
	Metadata struct {
		DeletionTimestamp string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Reason string `json:"reason"` // of an Event
	Spec   struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		StartTime  string `json:"startTime"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
		Containers []struct {
			State struct {
				Waiting    *struct{ Reason string } `json:"waiting"`
				Running    *struct{}                `json:"running"`
				Terminated *struct{}                `json:"terminated"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
}

// StageOf names the stage of an object that a watch event of that type brought: of a Pod
// one of those above, of an Event its reason, of other kinds whether it is new, changed,
// complete (a Job), on its way out, or gone.
func StageOf(kind, event string, raw []byte) (string, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return "", fmt.Errorf("the stage of a %s: %w", kind, err)
	}
	switch {
	case kind == "Event":
		return o.Reason, nil
	case event == "DELETED":
		return Deleted, nil
	case kind == "Pod":
		return o.pod(), nil
	case event == "ADDED":
		return Created, nil
	case o.Metadata.DeletionTimestamp != "":
		return Terminating, nil
	case kind == "Job" && o.is("Complete"):
		return Complete, nil
	}
	return Changed, nil
}

func (o *object) is(condition string) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True"
		}
	}
	return false
}

func (o *object) pod() string {
	running, ended, waits := 0, 0, false
	for _, c := range o.Status.Containers {
		switch {
		case c.State.Running != nil:
			running++
		case c.State.Terminated != nil:
			ended++
		case c.State.Waiting != nil:
			waits = waits || c.State.Waiting.Reason == "CrashLoopBackOff"
		}
	}
	all := len(o.Status.Containers)
	switch s := o.Status; {
	case o.Metadata.DeletionTimestamp != "" && all > 0 && ended == all:
		return Terminated
	case o.Metadata.DeletionTimestamp != "":
		return Terminating
	case s.Phase == "Succeeded" || s.Phase == "Failed":
		return Ended
	case waits:
		return BackOff
	case ended > 0:
		return Stopped
	case o.is("Ready"):
		return Ready
	case running > 0:
		return Running
	case o.is("PodReadyToStartContainers"):
		return Sandbox
	case s.StartTime != "":
		return Creating
	case o.Spec.NodeName != "":
		return Bound
	}
	return Created
}
