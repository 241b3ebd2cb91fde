package plan

import "time"

// Op is one write request of the plan.
type Op struct {
	ID    int64  // unique within the run
	Phase string // one of oplog's phases
	Type  string // one of oplog's operation types
	// Thread is the closed loop's thread; 0 in an open loop, ThreadNone for what no thread sends.
	Thread int
	// At is the intended time since the start of the phase; open loop and bystander only.
	At time.Duration
	// Gap is the least time since the answer to the pod's former operation; in an open loop At has it already.
	Gap time.Duration
	// N numbers the patches of a pod, or the updates of a bystander, from 1.
	N int
	// State is the content after the write, nil where the type says all. It must not be changed, nor Target.
	Target *Target
	State  *State
	Last   bool // no operation of this target follows
	// Hot patches wait for no other operation. Rank is the pod's, from 0, Burst how many are still to be sent at once with
	// this one; N counts those of the sequence.
	Hot         bool
	Rank, Burst int
	Bystander   bool // an object of the slow trickle is written
}

// ThreadNone is the thread of an operation that belongs to none.
const ThreadNone = -1

// Ids of the parts of a run, wide enough apart not to meet.
const (
	idLoad      = 1
	idPrepare   = 1_000_000_000
	idTrickled  = 1_500_000_000 // creations of bystanders
	idWarmup    = 2_000_000_000
	idBystander = 3_000_000_000
	// idWarmupBystander is apart, so that the warm-up's length does not shift ids.
	idWarmupBystander = 3_500_000_000
	// FirstFreeID begins the ids for what no plan foresees: namespaces, nodes, heartbeats, teardown.
	FirstFreeID = 4_000_000_000
)
