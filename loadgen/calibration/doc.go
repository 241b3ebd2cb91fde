// Package calibration says what a real cluster writes. Its tests compare imitated lives with
// recordings of a kind cluster (kubelet, containerd, the default controllers; see
// docs/load.md for versions and how they were made): the life of a Deployment's pod, of
// a Job's, of one that crashes, and a rollout of 30.
//
// A recording has one Step for each watch event of the kinds Pod, Event, ReplicaSet,
// Deployment, Job and EndpointSlice, in the order in which one watch per kind delivered
// them; across kinds the order is good to some milliseconds. It holds no names and no
// contents: kind, stage, sizes and who wrote.
package calibration
