package simulate

import (
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// Options that a scenario does not have.
type Options struct {
	// Seed of storage's latency and of the plan; 0: the scenario's.
	Seed uint64
	// Overhead is added to the time of each request: what watcher, network and timers take besides storage's latency.
	Overhead time.Duration
	// API is how long a write takes from its dispatch to its answer and to the watcher; 0: DefaultAPI.
	API time.Duration
}

// Arrival is one event as the watch delivers it.
type Arrival struct {
	At                         time.Duration // since the start of the load
	Kind, Namespace, Name, UID string
	Version                    uint64 // resourceVersion; grows along the arrivals of an object
	Delete                     bool
	Lag                        time.Duration // from when the change was meant to be made until At; part of its freshness
	Uncounted                  bool          // its freshness is not that of an operation of the load
}

// DefaultAPI is about what a small pod's write takes on an idle control plane.
const DefaultAPI = 5 * time.Millisecond

// Outcome are the figures of a simulated cell, defined as those of the same names in results.json. Counts are of all
// kinds; drain, rates, efficiency, imbalance and the depth of the handler queues of Pods.
type Outcome struct {
	Events    int64 `json:"events"`
	Requests  int64 `json:"requests"` // that storage acknowledged
	Coalesced int64 `json:"coalesced"`
	Dropped   int64 `json:"dropped"`
	// Cut: the scenario's drainTimeout came first, with Left events unsent. Counts are then
	// until the cut, and drain, rates, efficiency, imbalance and freshness are not known.
	Cut  bool  `json:"cut,omitempty"`
	Left int64 `json:"left,omitempty"`
	// LoadSeconds is from the start of the load to the last arrival, DrainSeconds from the same start to the last answer
	// that brought storage a change to a Pod; DrainAfterLoadSeconds is the part of it after the last arrival.
	LoadSeconds           float64  `json:"loadSeconds"`
	DrainSeconds          *float64 `json:"drainSeconds,omitempty"`
	DrainAfterLoadSeconds *float64 `json:"drainAfterLoadSeconds,omitempty"`
	StorageQPS            *float64 `json:"storageQPS,omitempty"` // acknowledgements between the first and the last
	// Efficiency is StorageQPS ÷ (requests in flight ÷ mean latency), 0 where that limit is unknown; Imbalance the
	// busiest queue's share ÷ the mean share, 0 with one queue.
	Efficiency float64 `json:"efficiency,omitempty"`
	Imbalance  float64 `json:"imbalance,omitempty"`
	// Freshness is the time from arrival, and Lag before it, to the answer that brought it,
	// or a newer state, to storage; nil if nothing was sent.
	Freshness         *result.Quantiles `json:"freshness,omitempty"`
	WriterFullSeconds float64           `json:"writerFullSeconds"` // at its length
	WriterMaxDepth    int               `json:"writerMaxDepth"`    // events
	HandlerMaxDepth   int               `json:"handlerMaxDepth"`   // events
	MaxInFlight       int               `json:"maxInFlight"`       // requests
}

// Schema names the format of a Document as JSON.
const Schema = "watchbench/simulation/v2"

// Document is the output of watchbench simulate for programs: nothing in it was measured.
type Document struct {
	Schema     string  `json:"schema" jsonschema:"enum=watchbench/simulation/v2"`
	Scenario   string  `json:"scenario"`   // its metadata.name
	OverheadMs float64 `json:"overheadMs"` // of each request, besides storage's latency
	Points     []Point `json:"points"`
}

// Point is one cell of the scenario's matrix.
type Point struct {
	Cell     string            `json:"cell"`
	Params   map[string]string `json:"params"`
	Strategy string            `json:"strategy"`
	Load     string            `json:"load"` // in words
	Outcome
}
