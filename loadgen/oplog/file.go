package oplog

import (
	"iter"

	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/internal/userfile"
)

// Writer appends records to an op log. Its Checkpoint makes what was appended so far a complete log.
type Writer = ndjson.Writer[Record]

var format = ndjson.Records[Record]("op log")

// Create makes the file at path; an existing one is overwritten.
func Create(path string) (*Writer, error) { return ndjson.Create(path, format) }

// Output describes the file that Create is to write, for a check before it does.
func Output(flag, path string) userfile.Output {
	return userfile.Output{Flag: flag, Path: path, What: format.What, Ours: ndjson.Begins(`{"id":`)}
}

// ReadFile yields the records of the log at path in the order in which requests were answered; see ndjson.Format.
func ReadFile(path string) iter.Seq2[Record, error] { return format.ReadFile(path) }
