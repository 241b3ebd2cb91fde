package calibration

// The stages that one pod's watch events have, in order; a stage that stands twice is
// written twice.
var (
	// DeploymentPod is a pod of a Deployment without probes. The kubelet acknowledges the
	// deletion with a write of its own (the second Terminating), and says twice that the
	// containers have ended.
	DeploymentPod = []string{Created, Bound, Creating, Sandbox, Ready, Terminating, Terminating, Terminated, Terminated, Deleted}
	// ProbedPod is one with a readiness probe that succeeds at the second try.
	ProbedPod = []string{Created, Bound, Creating, Sandbox, Running, Ready, Terminating, Terminating, Terminated, Terminated, Deleted}
	// JobPod is a pod of a Job: the container has ended, the pod has succeeded, the job
	// controller takes its finalizer away; later it is deleted, with a deletion time first.
	JobPod = []string{Created, Bound, Creating, Sandbox, Ready, Stopped, Ended, Ended, Terminated, Deleted}
)

// CrashCycle is what a pod goes through for each restart but the first, which has no
// BackOff: the container ends, and the wait is written as it ends itself.
var CrashCycle = []string{Stopped, BackOff, Ready}

// PodShare is the size of a pod in each stage as a part of its size when ready, without
// managedFields, of a pod with one container and 4 KB (DeploymentPod, ProbedPod).
var PodShare = map[string]float64{
	Created: 0.57, Bound: 0.61, Creating: 0.94, Sandbox: 0.94, Running: 1.04, Ready: 1, Terminating: 1.02, Terminated: 1.07,
}

// PerReplacedPod is the number of watch events for each pod that a rollout of 30 replaced,
// at 25 % surge and 25 % unavailable, by kind and type.
var PerReplacedPod = map[string]float64{
	"Pod ADDED": 1, "Pod MODIFIED": 7.5, "Pod DELETED": 1, "ReplicaSet MODIFIED": 5.4, "Deployment MODIFIED": 3.1,
	"EndpointSlice MODIFIED": 2.7, "Event ADDED": 5.7, "Event MODIFIED": 1.1,
}

// PerRestart is the same for each restart of a pod that crashes.
var PerRestart = map[string]float64{
	"Pod MODIFIED": 3, "ReplicaSet MODIFIED": 2, "Deployment MODIFIED": 2, "EndpointSlice MODIFIED": 2, "Event MODIFIED": 4,
}
