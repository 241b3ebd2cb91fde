// Package oplog is the load generator's account of what it asked the apiserver
// to do: one record per operation, written as zstd-compressed NDJSON.
package oplog

// Record is one write request. Times are Unix nanoseconds of a wall clock that never steps; 0: did not happen.
type Record struct {
	ID        int64  `json:"id"`                // unique within the run, also stamped on the object
	Attempt   int    `json:"attempt,omitempty"` // from 0; a retry is a record of its own with the same ID
	Phase     string `json:"phase"`             // one of the phases below
	Type      string `json:"type"`              // one of the operation types below
	Thread    int    `json:"thread"`
	Bystander bool   `json:"bystander,omitempty"` // belongs to the slow trickle of another kind
	Shard     int    `json:"shard,omitempty"`     // of several generators: which wrote it, from 1

	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// ResourceVersion of the state this write produced, from the apiserver's answer. For a delete it is the version of the
	// last state before the deletion: the apiserver does not report the version of the deletion.
	ResourceVersion uint64 `json:"resourceVersion,omitempty"`
	// DeletedVersion is the version of the deletion itself, where the answer to a delete carries it.
	DeletedVersion uint64 `json:"deletedVersion,omitempty"`

	Intended int64 `json:"intended"` // when the plan wanted it dispatched
	// Started is when it was dispatched. Of an acknowledged retry it is when the first
	// attempt that had no clear answer was: that one may have made what is acknowledged.
	Started  int64 `json:"started"`
	Finished int64 `json:"finished"` // when the answer was read

	Status int    `json:"status"`          // HTTP status; 0 when no answer came
	Error  string `json:"error,omitempty"` // why it failed, one line
}

// Phases of a run that an operation belongs to.
const (
	PhasePrepare  = "prepare"
	PhaseWarmup   = "warmup"
	PhaseLoad     = "load"
	PhaseDrain    = "drain" // after the load: node heartbeats only
	PhaseTeardown = "teardown"
	// PhaseOutside marks a deletion that no operation is known to have made: a pod was found gone. Started is the start of
	// the last request that was acknowledged for it, Finished when it was found; it went at some time between.
	PhaseOutside = "outside"
	// PhaseWitnessed marks a write by others, of which a witness received the watch event at Finished. It was made after
	// Started; Intended says nothing. See record.Witness.
	PhaseWitnessed = "witnessed"
)

// Operation types.
const (
	TypeCreate  = "create"
	TypeBind    = "bind"
	TypeRunning = "running"
	TypeReady   = "ready"
	TypePatch   = "patch"
	// TypeTerminate asks for a deletion with a grace period: a write of a state, that which has the deletion time.
	// TypeTerminated is the status of its ended containers, TypeDelete the deletion itself, without grace.
	TypeTerminate  = "terminate"
	TypeTerminated = "terminated"
	TypeDelete     = "delete"
	TypeHeartbeat  = "heartbeat"
)

// Operation types of profiles beside those above. All write a state.
const (
	TypeCreating     = "creating"     // Pod: ContainerCreating, as the kubelet first reports it
	TypeSandbox      = "sandbox"      // Pod: PodReadyToStartContainers
	TypeInitialized  = "initialized"  // Pod: its init container has ended
	TypeUnready      = "unready"      // Pod or Node: Ready is false
	TypeCrashed      = "crashed"      // Pod: its container ended with an error
	TypeBackOff      = "backoff"      // Pod: CrashLoopBackOff
	TypeStopped      = "stopped"      // Pod: its containers have ended, and its phase does not say so yet
	TypeSucceeded    = "succeeded"    // Pod: phase Succeeded; Job: complete
	TypeUnfinalized  = "unfinalized"  // Pod of a Job: its finalizer is gone
	TypeAcknowledged = "acknowledged" // Pod: the kubelet has seen the deletion time
	TypeScale        = "scale"        // workload: another number of replicas wanted, or another template
	TypeStatus       = "status"       // workload, Node: counters and conditions
	TypeUpdate       = "update"       // EndpointSlice, ConfigMap, Widget: content; Event: seen again
	TypeRenew        = "renew"        // Lease

)

// OK reports whether the apiserver acknowledged the write.
func (r Record) OK() bool { return r.Error == "" && r.Status >= 200 && r.Status < 300 }
