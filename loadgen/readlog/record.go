// Package readlog is the record of those who read: each GET and LIST with its times and
// what came back, each event of each watch, and each delivery to a webhook. It is
// written as zstd-compressed NDJSON and judged afterwards; see package
// scenarios/reading.
package readlog

import (
	"strconv"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// What a Record is of.
const (
	// Started and Stopped enclose the queries: Ended is when they were told to begin or
	// to stop.
	Started = "started"
	Stopped = "stopped"

	Get  = "get"
	List = "list"

	// Opened is a watch that the server has answered with Code. Version is where it
	// begins, and Started when it was asked for.
	Opened = "opened"
	// Event is an event of a watch, received at Ended.
	Event = "event"
	// Closed is the end of a watch, for the reason Error.
	Closed = "closed"

	// Delivery is a request to a webhook: received whole at Started, answered with Code at
	// Ended. Code is 0 where nothing was answered.
	Delivery = "delivery"
)

// Why a reader gave up a query that was under way, as an Error. The server may have been
// answering, so Code may be 200.
const (
	Timeout = "timeout"
	CutOff  = "cut off at the end"
)

// end is the last line, which counts the others.
const end = "end"

// Control is the Reader of the watch that goes straight to the apiserver: what it shows
// is what happened. Others count from 1.
const Control = 0

// Record is one line. Times are Unix nanoseconds, 0 where something did not happen.
type Record struct {
	What string
	// Reader is the watch, or the webhook, both from 1; see Control.
	Reader int
	// Intended is when the plan wanted a query sent, Started when it was, and Ended when
	// the last byte of its body was read.
	Intended, Started, Ended int64
	Code                     int   // HTTP status; 0: no answer
	Items                    int64 // objects in a complete and valid body; of a delivery, bytes of a huge answer that could be sent
	Bytes                    int64 // of the body
	// Error says why a query has no result although it may have a Code, such as a body
	// that was cut. Of a delivery it is the name of the fault that hit it, or, as a sentence,
	// what the receiver found wrong with it.
	Error string

	// Of an event, and of the one that was delivered.
	Type, UID string
	Version   uint64
	// Signed says that a delivery's signature is right.
	Signed bool
}

// appendRecord appends r as one line of JSON. Of each member the zero value is left out.
func appendRecord(b []byte, r *Record) []byte {
	text := func(key, v string) {
		if v != "" {
			b = append(append(append(b, `,"`...), key...), `":`...)
			b = jsonscan.AppendString(b, v)
		}
	}
	number := func(key string, v int64) {
		if v != 0 {
			b = append(append(append(b, `,"`...), key...), `":`...)
			b = strconv.AppendInt(b, v, 10)
		}
	}
	b = jsonscan.AppendString(append(b, `{"what":`...), r.What)
	number("reader", int64(r.Reader))
	number("intended", r.Intended)
	number("started", r.Started)
	number("ended", r.Ended)
	number("code", int64(r.Code))
	number("items", r.Items)
	number("bytes", r.Bytes)
	text("error", r.Error)
	text("type", r.Type)
	text("uid", r.UID)
	if r.Version != 0 {
		b = strconv.AppendUint(append(b, `,"version":`...), r.Version, 10)
	}
	if r.Signed {
		b = append(b, `,"signed":true`...)
	}
	return append(b, "}\n"...)
}

// field is where a member's value belongs, nil for an unknown one.
func (r *Record) field(key []byte) any {
	switch string(key) {
	case "what":
		return &r.What
	case "reader":
		return &r.Reader
	case "intended":
		return &r.Intended
	case "started":
		return &r.Started
	case "ended":
		return &r.Ended
	case "code":
		return &r.Code
	case "items":
		return &r.Items
	case "bytes":
		return &r.Bytes
	case "error":
		return &r.Error
	case "type":
		return &r.Type
	case "uid":
		return &r.UID
	case "version":
		return &r.Version
	case "signed":
		return &r.Signed
	}
	return nil
}
