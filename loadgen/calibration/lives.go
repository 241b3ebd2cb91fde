package calibration

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
