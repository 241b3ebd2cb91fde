// Package ledger is the storage mock's record of every write it received: append-only, in the order in which effects
// were applied, exported as zstd-compressed NDJSON. The checks judge a watcher by it.
package ledger

// Entry is one request. Times are Unix nanoseconds; 0 means "did not happen".
type Entry struct {
	Seq      uint64 `json:"seq"`                // from 1, gapless, in order of application
	Instance int    `json:"instance,omitempty"` // the mock instance that received it

	Method    string `json:"method"` // PUT or DELETE; reads are counted, not recorded
	Cluster   string `json:"cluster,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID and ResourceVersion of the object in a PUT's body; for a DELETE those of the record it removed (empty if
	// there was none).
	UID             string `json:"uid,omitempty"`
	ResourceVersion uint64 `json:"resourceVersion,omitempty"`
	Bytes           int    `json:"bytes"` // request body

	Received  int64 `json:"received"`  // last byte of the request read
	Applied   int64 `json:"applied"`   // effect took place; 0 if it never did
	Responded int64 `json:"responded"` // answer handed to the socket; 0 if none was
	// Gone is when the connection of a request without an answer ended: its client gave up, or a fault cut it. 0 if
	// nobody saw it.
	Gone int64 `json:"gone,omitempty"`

	Status int    `json:"status"`          // HTTP status; 0 if no answer was sent
	Code   int    `json:"code"`            // envelope code; 0 is success
	Effect string `json:"effect"`          // one of the Effect constants
	Fault  string `json:"fault,omitempty"` // name of the fault that hit it
}

// Effects of a request on the stored state.
const (
	EffectCreated  = "created"  // PUT, no live record before
	EffectReplaced = "replaced" // PUT over a live record
	EffectDeleted  = "deleted"  // DELETE of a live record
	EffectNone     = "none"     // DELETE of nothing, or a duplicate Event
	EffectRejected = "rejected" // nothing changed: error, fault or failed precondition
)

// Took reports whether the request changed, or confirmed, the stored state.
func (e Entry) Took() bool { return e.Effect != EffectRejected && e.Applied != 0 }

// Acked reports whether the answer reported success to the client.
func (e Entry) Acked() bool { return e.Responded != 0 && e.Status == 200 && e.Code == 0 }
