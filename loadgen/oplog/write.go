package oplog

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/internal/userfile"
)

// Writer appends records to an op log. Its Checkpoint makes what was appended so far a
// complete log.
type Writer = ndjson.Writer[Record]

var format = ndjson.Format[Record]{What: "op log", Line: appendRecord, Seal: func(records int64) string {
	return fmt.Sprintf(`{"checkpoint":%d}`, records)
}}

// Create makes the file at path; an existing one is overwritten.
func Create(path string) (*Writer, error) { return ndjson.Create(path, format) }

// Output describes the file that Create is to write, for a check before it does.
func Output(flag, path string) userfile.Output {
	return userfile.Output{Flag: flag, Path: path, What: format.What, Ours: ndjson.Begins(`{"id":`)}
}

// NewWriter writes to file and closes it with the Writer.
func NewWriter(file io.WriteCloser) (*Writer, error) { return ndjson.NewWriter(file, format) }

// appendRecord appends r as one line of JSON.
func appendRecord(b []byte, r *Record) []byte {
	line, _ := json.Marshal(r) // numbers, booleans and strings always encode
	return append(append(b, line...), '\n')
}
