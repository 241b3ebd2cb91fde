package history

import (
	"iter"
	"path/filepath"

	"github.com/watchbench/watchbench/loadgen/readers"
)

// FileReaders is the record of a cell's readers; see package loadgen/readers.
const FileReaders = "readers.ndjson.zst"

// Readers is the record of a cell's readers, which can be read several times.
func Readers(dir string) iter.Seq2[readers.Record, error] {
	path := filepath.Join(dir, FileReaders)
	return func(yield func(readers.Record, error) bool) {
		for r, err := range readers.ReadFile(path) {
			if err != nil {
				err = &FormatError{File: path, Err: err}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
