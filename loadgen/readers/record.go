package readers

import (
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/internal/ndjson"
)

// What a Record is of.
const (
	// Started and Stopped enclose the queries: Ended is the time of the request to begin or to stop.
	Started = "started"
	Stopped = "stopped"

	Get  = "get"
	List = "list"

	// Opened is a watch that the server has answered with Code. Version is where it begins, and Started when it was
	// asked for. Event is one of its events, received at Ended; Closed its end, for the reason Error.
	Opened = "opened"
	Event  = "event"
	Closed = "closed"

	// Delivery is a request to a webhook: received whole at Started, answered with Code at Ended.
	Delivery = "delivery"
)

// Why a reader gave up a query that was under way, as an Error. The server may have been answering, so Code may be 200.
const (
	Timeout = "timeout"
	CutOff  = "cut off at the end"
)

// Control is the Reader of the watch that goes straight to the apiserver. Others count from 1.
const Control = 0

// Record is one line. Times are Unix nanoseconds, 0 where something did not happen.
type Record struct {
	What   string `json:"what"`
	Reader int    `json:"reader,omitempty"` // the watch, or the webhook, both from 1; see Control
	// Intended is when the plan wanted a query sent, Started when it was, and Ended when the last byte of its body was
	// read.
	Intended int64 `json:"intended,omitempty"`
	Started  int64 `json:"started,omitempty"`
	Ended    int64 `json:"ended,omitempty"`
	Code     int   `json:"code,omitempty"`  // HTTP status; 0: no answer
	Items    int64 `json:"items,omitempty"` // objects in a complete and valid body
	Bytes    int64 `json:"bytes,omitempty"` // of the body
	// Error says why a query has no result although it may have a Code, such as a body that was cut, or what the
	// receiver found wrong with a delivery.
	Error string `json:"error,omitempty"`

	// Of an event, and of the one that was delivered.
	Type    string `json:"type,omitempty"`
	UID     string `json:"uid,omitempty"`
	Version uint64 `json:"version,omitempty"`
	Signed  bool   `json:"signed,omitempty"` // a delivery's signature is right
}

// Writer appends records. Its file counts once it is closed.
type Writer = ndjson.Writer[Record]

var format = ndjson.Records[Record]("readers' record")

// Create makes the file at path; an existing one is overwritten.
func Create(path string) (*Writer, error) { return ndjson.Create(path, format) }

// ReadFile yields the records of the file at path; see ndjson.Format. One that does not say what it is of is an error.
func ReadFile(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range format.ReadFile(path) {
			if err == nil && r.What == "" {
				r, err = Record{}, fmt.Errorf("%s: a record that does not say what it is of", path)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}
