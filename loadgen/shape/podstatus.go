package shape

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

type stage struct {
	phase                           corev1.PodPhase
	sandbox, initialized, ready     bool
	running, ended, failed, backOff bool
	completed                       bool // its containers have ended well
	killed                          bool // by the kubelet, since the pod is deleted
	waits                           bool // for its init containers
	generation                      int64
}

// stages of a pod after an operation; what is not here has no status of a kubelet.
var stages = map[string]stage{
	oplog.TypeCreating:    {phase: corev1.PodPending},
	oplog.TypeSandbox:     {phase: corev1.PodPending, sandbox: true},
	oplog.TypeInitialized: {phase: corev1.PodPending, sandbox: true, initialized: true},
	oplog.TypeRunning:     {phase: corev1.PodRunning, sandbox: true, initialized: true, running: true},
	oplog.TypeReady:       {phase: corev1.PodRunning, sandbox: true, initialized: true, running: true, ready: true},
	oplog.TypePatch:       {phase: corev1.PodRunning, sandbox: true, initialized: true, running: true, ready: true},
	oplog.TypeStatus:      {phase: corev1.PodRunning, sandbox: true, initialized: true, running: true, ready: true},
	oplog.TypeUnready:     {phase: corev1.PodRunning, sandbox: true, initialized: true, running: true},
	oplog.TypeCrashed:     {phase: corev1.PodRunning, sandbox: true, initialized: true, ended: true, failed: true},
	oplog.TypeBackOff:     {phase: corev1.PodRunning, sandbox: true, initialized: true, backOff: true},
	oplog.TypeStopped:     {phase: corev1.PodRunning, sandbox: true, initialized: true, ended: true, completed: true},
	oplog.TypeSucceeded:   {phase: corev1.PodSucceeded, initialized: true, ended: true, completed: true},
	oplog.TypeAcknowledged: {phase: corev1.PodRunning, sandbox: true, initialized: true, running: true, ready: true,
		generation: 2},
	oplog.TypeTerminated: {phase: corev1.PodFailed, initialized: true, ended: true, killed: true, generation: 2},
}

func podStatus(t *template, s stage, f *facts) corev1.PodStatus {
	spec := &t.spec
	if s.generation == 0 {
		s.generation = 1
	}
	inits := len(spec.InitContainers) > 0
	s.waits = inits && !s.initialized
	start := f.now
	status := corev1.PodStatus{
		ObservedGeneration: s.generation, Phase: s.phase, HostIP: f.hostIP, HostIPs: []corev1.HostIP{{IP: f.hostIP}},
		StartTime: &start, QOSClass: qosOf(spec),
	}
	if s.initialized { // a kubelet reports the address with the first container, not with the sandbox
		status.PodIP, status.PodIPs = f.ip, []corev1.PodIP{{IP: f.ip}}
	}
	status.Conditions = make([]corev1.PodCondition, 0, 5+len(t.gates))
	condition := func(kind corev1.PodConditionType, ok bool, reason, message string) {
		c := corev1.PodCondition{Type: kind, ObservedGeneration: s.generation, Status: corev1.ConditionTrue,
			LastTransitionTime: f.now}
		if !ok {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, reason, message
		}
		if ok && reason == reasonCompleted {
			c.Reason = reason
		}
		status.Conditions = append(status.Conditions, c)
	}
	var reason, message string
	switch {
	case s.completed:
		reason = reasonCompleted
	case s.phase == corev1.PodFailed:
		reason = "PodFailed"
	case !s.ready:
		reason, message = "ContainersNotReady", "containers with unready status: ["+names(spec.Containers)+"]"
	}
	condition(corev1.PodReadyToStartContainers, s.sandbox, "", "")
	switch initialized := s.initialized || !inits; {
	case s.completed:
		condition(corev1.PodInitialized, true, reasonCompleted, "")
	case initialized:
		condition(corev1.PodInitialized, true, "", "")
	default:
		condition(corev1.PodInitialized, false, "ContainersNotInitialized",
			"containers with incomplete status: ["+names(spec.InitContainers)+"]")
	}
	condition(corev1.PodReady, s.ready, reason, message)
	condition(corev1.ContainersReady, s.ready, reason, message)
	status.Conditions = append(status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled,
		ObservedGeneration: s.generation, Status: corev1.ConditionTrue, LastTransitionTime: f.was})
	status.Conditions = gateConditions(t.gates, s, f, status.Conditions)
	if inits {
		status.InitContainerStatuses = make([]corev1.ContainerStatus, 0, len(spec.InitContainers))
	}
	status.ContainerStatuses = make([]corev1.ContainerStatus, 0, len(spec.Containers))
	for i := range spec.InitContainers {
		status.InitContainerStatuses = append(status.InitContainerStatuses, initStatus(&spec.InitContainers[i],
			len(spec.Containers)+i, s, f))
	}
	for i := range spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(&spec.Containers[i], i, s, f))
		if end := status.ContainerStatuses[i].State.Terminated; i == 0 && s.killed && end != nil {
			end.Message = t.farewell
		}
	}
	return status
}

const reasonCompleted = "PodCompleted"

func names(containers []corev1.Container) string {
	var all string
	for i := range containers {
		if i > 0 {
			all += " "
		}
		all += containers[i].Name
	}
	return all
}

// qosOf is the class that the apiserver gives: nothing here has limits on all.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	for i := range spec.Containers {
		if r := &spec.Containers[i].Resources; len(r.Requests) > 0 || len(r.Limits) > 0 {
			return corev1.PodQOSBurstable
		}
	}
	return corev1.PodQOSBestEffort
}

// containerID ends with the index of the container, so that those of a pod differ.
func containerID(f *facts, i int) string {
	digits := strconv.FormatInt(int64(i%256), 16)
	if len(digits) < 2 {
		digits = "0" + digits
	}
	return "containerd://" + f.container + digits
}

var recursiveDisabled = corev1.RecursiveReadOnlyDisabled

func commonStatus(c *corev1.Container, tag string) corev1.ContainerStatus {
	st := corev1.ContainerStatus{Name: c.Name, Image: c.Image + ":" + tag}
	if len(c.VolumeMounts) > 0 {
		st.VolumeMounts = make([]corev1.VolumeMountStatus, 0, len(c.VolumeMounts))
	}
	for i := range c.VolumeMounts {
		v := &c.VolumeMounts[i]
		mount := corev1.VolumeMountStatus{Name: v.Name, MountPath: v.MountPath, ReadOnly: v.ReadOnly}
		if v.ReadOnly {
			mount.RecursiveReadOnly = &recursiveDisabled
		}
		st.VolumeMounts = append(st.VolumeMounts, mount)
	}
	return st
}

// run fills in what only a container that was started has.
func run(st *corev1.ContainerStatus, c *corev1.Container, i int, f *facts) {
	st.ImageID = c.Image + "@sha256:" + f.container + "5a"
	st.ContainerID = containerID(f, i)
	if r := &c.Resources; len(r.Requests) > 0 || len(r.Limits) > 0 {
		st.AllocatedResources = r.Requests
		st.Resources = &corev1.ResourceRequirements{Limits: r.Limits, Requests: r.Requests}
	}
	user := int64(0)
	if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
		user = *s.RunAsUser
	}
	st.User = &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{UID: user, GID: user,
		SupplementalGroups: []int64{user}}}
}

func containerStatus(c *corev1.Container, i int, s stage, f *facts) corev1.ContainerStatus {
	st := commonStatus(c, f.tag)
	started := s.running
	st.Started = &started
	if i == 0 {
		st.RestartCount = int32(f.state.Restarts)
	}
	end := func() *corev1.ContainerStateTerminated {
		t := &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: f.was, FinishedAt: f.now,
			ContainerID: containerID(f, i)}
		switch {
		case s.killed:
			t.ExitCode, t.Reason = 137, "Error"
		case s.failed, s.backOff, s.running:
			t.ExitCode, t.Reason = 1, "Error"
		}
		return t
	}
	switch {
	case s.running:
		run(&st, c, i, f)
		st.Ready = s.ready
		st.State.Running = &corev1.ContainerStateRunning{StartedAt: f.now}
	case s.ended && (i == 0 || !s.failed):
		run(&st, c, i, f)
		st.State.Terminated = end()
	case s.backOff && i == 0:
		run(&st, c, i, f)
		st.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff",
			Message: "back-off " + f.backOff + " restarting failed container=" + c.Name + " pod=" + f.name + "_" + f.namespace +
				"(" + string(f.uid) + ")"}
		st.LastTerminationState.Terminated = end()
	case s.ended, s.backOff: // the neighbour of the one that crashed
		run(&st, c, i, f)
		st.Ready, started = true, true
		st.State.Running = &corev1.ContainerStateRunning{StartedAt: f.was}
	case s.waits:
		st.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	default:
		st.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	if i == 0 && st.RestartCount > 0 && st.LastTerminationState.Terminated == nil && st.State.Waiting == nil {
		st.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: f.was,
			FinishedAt: f.was, ContainerID: containerID(f, i)}
	}
	return st
}

// backOff is the delay of the n-th restart: 10 s, doubled, at most five minutes (KEP-4603).
func backOff(restarts int) string {
	return min(10*time.Second<<min(max(restarts, 1)-1, 5), 5*time.Minute).String()
}

func initStatus(c *corev1.Container, i int, s stage, f *facts) corev1.ContainerStatus {
	st := commonStatus(c, f.tag)
	no := false
	st.Started = &no
	if s.initialized {
		run(&st, c, i, f)
		st.Ready = true
		st.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: f.was, FinishedAt: f.now,
			ContainerID: containerID(f, i)}
	} else {
		st.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	return st
}
