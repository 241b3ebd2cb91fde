package history

import (
	"encoding/json"
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
)

// Deed is one injection by a failpoint, a line of deeds.ndjson.
type Deed struct {
	What  string `json:"what"` // the event, as the scenario spells it
	Began int64  `json:"began"`
	Ended int64  `json:"ended"`
	// Keys is how many objects or rows it concerned.
	Keys int64 `json:"keys,omitempty"`
	// Seen records the failpoint's observations; the rules of the same file read it back.
	Seen json.RawMessage `json:"seen,omitempty"`
}

// Finding is a cell's finding by a rule of a Go test, one line of findings.ndjson; see matrix.Rule.
type Finding struct {
	First   bool          `json:"first,omitempty"`
	Cached  int           `json:"cached,omitempty"`
	Facts   []result.Fact `json:"facts,omitempty"`
	Vacuous []string      `json:"vacuous,omitempty"`
}

// Deeds reads back what the failpoints of one event saw, in order.
func Deeds[T any](deeds []Deed, what ...string) ([]T, error) {
	var out []T
	for i, d := range deeds {
		for _, w := range what {
			if d.What != w {
				continue
			}
			if len(d.Seen) == 0 {
				return nil, &FormatError{File: FileDeeds, Line: i + 1, Err: fmt.Errorf("%s without what was seen of it", w)}
			}
			var v T
			if err := json.Unmarshal(d.Seen, &v); err != nil {
				return nil, &FormatError{File: FileDeeds, Line: i + 1, Err: err}
			}
			out = append(out, v)
		}
	}
	return out, nil
}

// Mark is something the runner did to the watcher or to storage, one line of marks.ndjson.
type Mark struct {
	Time      int64  `json:"time"`           // Unix nanoseconds
	What      string `json:"what"`           // one of the Mark constants
	Kind      string `json:"kind,omitempty"` // the key, for tampering
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Note      string `json:"note,omitempty"`
}

// Kinds of marks.
const (
	MarkStarted      = "started"       // a watcher process was started
	MarkReady        = "ready"         // it completed its first lists
	MarkTerminated   = "sigterm"       // SIGTERM sent
	MarkKilled       = "sigkill"       // SIGKILL sent
	MarkStopped      = "sigstop"       // SIGSTOP sent
	MarkContinued    = "sigcont"       // SIGCONT sent
	MarkExited       = "exited"        // the process ended
	MarkConverged    = "converged"     // after a restart, storage had caught up with the apiserver
	MarkDiverged     = "diverged"      // it had not, within the runner's limit; Note says what was behind
	MarkResized      = "resized"       // other queues were requested; Note says which, and when they were in place
	MarkTamperRemove = "tamper-remove" // a record was removed from storage behind the watcher's back
	MarkTamperEdit   = "tamper-edit"   // a record was changed
	MarkTamperAdd    = "tamper-add"    // a record of no object was added

	MarkStorageKilled = "storage-killed" // storage was killed
	MarkStorageBack   = "storage-back"   // it is back, with what it held some time before

	MarkBackedUp  = "backed-up" // what the cluster holds was copied, from now on
	MarkRestoring = "restoring" // the apiserver ends, to come back with the copy
	MarkRestored  = "restored"  // it is ready again: resourceVersions went back

	MarkTokenReplaced = "token-replaced" // a new token for the apiserver is in the watcher's file
	MarkTokenRefused  = "token-refused"  // the apiserver refuses the former one

	MarkUnserved = "unserved" // the apiserver stops serving Kind: its objects live on, unseen
	MarkServed   = "served"   // it serves Kind again
)

// FaultTamper is the ledger's Fault of a request that the runner itself made to tamper with storage. It changes the
// state but is not the watcher's doing.
const FaultTamper = "tamper"
