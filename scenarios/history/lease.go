package history

// Lease is a state of a Lease by which replicas elect, one line of leases.ndjson, in the order in which the API server
// had them. Times are Unix nanoseconds, the holder's own but for Time.
type Lease struct {
	Time  int64 `json:"time"` // when it was seen
	Shard int   `json:"shard"`
	// Holder is the replica's identity, empty once it gave the Lease back; Instance is the one of storage that it writes
	// to, -1 of a holder that is none of the replicas.
	Holder   string `json:"holder,omitempty"`
	Instance int    `json:"instance"`
	Acquired int64  `json:"acquired"`
	Renewed  int64  `json:"renewed"`
	Lasts    int64  `json:"lasts"` // nanoseconds from Renewed on
	// Transitions counts the acquisitions.
	Transitions int `json:"transitions"`
}
