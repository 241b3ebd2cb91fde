package readlog

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/internal/outfile"
)

// Writer appends records. Its file counts once it is closed.
type Writer = ndjson.Writer[Record]

// Create makes the file at path; an existing one is overwritten.
func Create(path string) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the readers' record: %w", err)
	}
	w, err := NewWriter(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// Output describes the file that Create is to write, for a check before it does.
func Output(flag, path string) outfile.Output {
	return outfile.Output{Flag: flag, Path: path, What: "readers' record", Ours: outfile.Lines(`{"what":`)}
}

// NewWriter writes to file and closes it with the Writer.
func NewWriter(file io.WriteCloser) (*Writer, error) {
	return ndjson.NewWriter(file, ndjson.Format[Record]{What: "readers' record", Line: appendRecord, Seal: func(records int64) string {
		return fmt.Sprintf(`{"what":%q,"records":%d}`, end, records)
	}})
}
