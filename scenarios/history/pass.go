package history

import (
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Observer sees the record once, front to back: every operation of the op log, then every request of the ledger. A
// pointer is good during the call only.
type Observer interface {
	Operation(*oplog.Record)
	Request(*ledger.Entry)
}

// Change is one successful operation of the load phase, heartbeats apart, after the whole record was read. Times are
// Unix nanoseconds. Those of one object follow each other, in no order of time.
type Change struct {
	// Object numbers the names: the changes of one name have the same.
	Object int
	// Operation is the ID of its record, 0 above 2^32-1. A retry has the same.
	Operation int64
	Kind      string
	Bystander bool
	Deletion  bool
	// Unversioned: the version of its state is not known. Stored and Arrived may be those of the state before.
	Unversioned bool
	// Terminating, of a deletion: storage acknowledged the object's terminating state, which the deletion makes before the
	// object is gone and no operation answers.
	Terminating bool
	Intended    int64 // when the plan wanted it dispatched
	Started     int64 // when it was dispatched
	Finished    int64 // when the apiserver's answer was read
	// Stored is when storage first acknowledged a state at least as new: this version or a later one of the same uid, its
	// deletion or, once it was deleted, a write of a uid created after that deletion under the same name. 0: never.
	Stored int64
	// Unconfirmed says that a request with such a state took effect, and that storage acknowledged none: a client that
	// looked afterwards had no need to send it again.
	Unconfirmed bool
	// Arrived is when storage received the first request that brought such a state, among those that it acknowledged. 0:
	// never.
	Arrived int64
	// Gone says that the object was deleted later, by the op log: one that came and went unseen is never stored, and
	// nobody misses it. It is false of a deletion that never came although storage had acknowledged the object.
	Gone bool
	// Hit says that a fault of storage hit a request for its key.
	Hit bool
}
