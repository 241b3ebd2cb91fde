package check

// Side says whose state a record shows.
type Side string

// The two sides compared by G1.
const (
	SideApiserver Side = "apiserver"
	SideStorage   Side = "storage"
)

// StateRecord is one object as one side holds it in the end.
type StateRecord struct {
	Side            Side   `json:"side"`
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	UID             string `json:"uid,omitempty"`
	ResourceVersion uint64 `json:"resourceVersion,omitempty"`
	Digest          string `json:"digest"` // see Digest
	Bytes           int    `json:"bytes"`  // of the object as read
}
