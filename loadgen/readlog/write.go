package readlog

import (
	"fmt"
	"io"

	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/internal/userfile"
)

// Writer appends records. Its file counts once it is closed.
type Writer = ndjson.Writer[Record]

var format = ndjson.Format[Record]{What: "readers' record", Line: appendRecord, Seal: func(records int64) string {
	return fmt.Sprintf(`{"what":%q,"records":%d}`, end, records)
}}

// Create makes the file at path; an existing one is overwritten.
func Create(path string) (*Writer, error) { return ndjson.Create(path, format) }

// Output describes the file that Create is to write, for a check before it does.
func Output(flag, path string) userfile.Output {
	return userfile.Output{Flag: flag, Path: path, What: format.What, Ours: ndjson.Begins(`{"what":`)}
}

// NewWriter writes to file and closes it with the Writer.
func NewWriter(file io.WriteCloser) (*Writer, error) { return ndjson.NewWriter(file, format) }
