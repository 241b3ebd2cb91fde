package readers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/watchbench/watchbench/internal/jsonscan"
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

	end = "end" // the last line, which counts the others
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
	// Intended is when the plan wanted a query sent, Started when it was, and Ended when the last byte of its body
	// was read.
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

var format = ndjson.Format[Record]{
	What: "readers' record",
	Line: func(b []byte, r *Record) []byte {
		line, _ := json.Marshal(r) // numbers, booleans and strings always encode
		return append(append(b, line...), '\n')
	},
	Seal: func(records int64) string { return fmt.Sprintf(`{"what":%q,"records":%d}`, end, records) },
}

// Create makes the file at path; an existing one is overwritten.
func Create(path string) (*Writer, error) { return ndjson.Create(path, format) }

// ErrTruncated means that the record lacks its last line, which counts the others, or has another number of them: the
// readers were killed, or the file was cut.
var ErrTruncated = errors.New("the readers' record is truncated")

// ReadFile yields the records of the file at path in the order in which they were appended. An error is the last thing
// yielded.
func ReadFile(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines, err := ndjson.Open(path)
		if err != nil {
			yield(Record{}, fmt.Errorf("open the readers' record: %w", err))
			return
		}
		defer func() { _ = lines.Close() }() // only read from
		read(lines, yield)
	}
}

func read(lines *ndjson.Reader, yield func(Record, error) bool) {
	const unsealed = -1
	var r Record
	records, n := int64(unsealed), int64(0)
	members := map[string]any{
		"what": &r.What, "reader": &r.Reader, "intended": &r.Intended, "started": &r.Started, "ended": &r.Ended,
		"code": &r.Code, "items": &r.Items, "bytes": &r.Bytes, "error": &r.Error, "type": &r.Type, "uid": &r.UID,
		"version": &r.Version, "signed": &r.Signed, "records": &records,
	}
	member := func(key []byte) any { return members[string(key)] }
	texts := jsonscan.NewInterner()
	fail := func(err error) { yield(Record{}, fmt.Errorf("readers' record, line %d: %w", lines.Line(), err)) }
	for ; ; n++ {
		line, err := lines.Next()
		r = Record{}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, ndjson.ErrCut):
			err = fmt.Errorf("%w after %d records", ErrTruncated, n)
		case err == nil:
			if err = jsonscan.Decode(line, texts, member); err == nil && r.What == "" {
				err = errors.New("a record that does not say what it is of")
			}
		}
		if err != nil {
			fail(err)
			return
		}
		if records != unsealed {
			break
		}
		if !yield(r, nil) {
			return
		}
	}
	if r != (Record{What: end}) || records != n {
		fail(fmt.Errorf("%w: its last line counts %d records, %d were read", ErrTruncated, records, n))
		return
	}
	if _, err := lines.Next(); !errors.Is(err, io.EOF) {
		fail(errors.New("text after the last line"))
	}
}
