package result

import "time"

// Evidence is what the record holds about the object of one counterexample. Of a check that
// is not about one object all of it is empty.
type Evidence struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Written are the last versions that the apiserver acknowledged, up to the newest that the
	// requests below carry; those before them are left out.
	Written []Written `json:"written,omitempty"`
	// Requests are those for the object in the order in which they took effect, around the
	// violation, or the last ones where no single request is at fault.
	Requests    []KeyRequest `json:"requests,omitempty"`
	RequestsOut int64        `json:"requestsLeftOut,omitempty"` // further ones, before and after
	Fields      []Difference `json:"fields,omitempty"`          // that differ in the final states
}

// Written is a version that the apiserver acknowledged, or a deletion.
type Written struct {
	UID     string    `json:"uid,omitempty"`
	Version uint64    `json:"version,omitempty"` // 0: a deletion
	At      time.Time `json:"at"`                // of the acknowledgement; of a deletion, when it was asked for
}

// KeyRequest is a request as storage recorded it.
type KeyRequest struct {
	Seq      uint64     `json:"seq"`
	Method   string     `json:"method"`
	UID      string     `json:"uid,omitempty"`
	Version  uint64     `json:"version,omitempty"`
	Received time.Time  `json:"received"`
	Applied  *time.Time `json:"applied,omitempty"` // nil: it took no effect
	Status   int        `json:"status,omitempty"`  // 0: no answer was sent
	Effect   string     `json:"effect,omitempty"`
	Fault    string     `json:"fault,omitempty"` // that hit it
	Violates bool       `json:"violates,omitempty"`
}

// Difference is a field that storage holds otherwise than it should; values are shortened.
type Difference struct {
	Path     string `json:"path"`
	Expected string `json:"expected"`
	Stored   string `json:"stored"`
}
