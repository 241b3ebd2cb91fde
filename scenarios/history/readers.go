package history

import (
	"iter"
	"path/filepath"

	"github.com/watchbench/watchbench/loadgen/readlog"
)

// Files of cells with readers.
const (
	// FileReaders is what the readers saw; see package loadgen/readlog.
	FileReaders = "readers.ndjson.zst"
	// FileFollower is what the follower's storage held in the end, as StateRecords.
	FileFollower = "follower.ndjson.zst"
)

// APIReads are counters of the apiserver: requests for Pods, watches of them that are
// open, and events that it sent to watches of Pods.
type APIReads struct {
	Gets    float64 `json:"gets"`
	Lists   float64 `json:"lists"`
	Watches float64 `json:"watches"`
	Events  float64 `json:"events"`
}

// Follower is how a second watcher that reads from the first caught up.
type Follower struct {
	CaughtUp int64 `json:"caughtUp"` // when its storage was seen to have all, or the wait was cut
	Cut      bool  `json:"cut,omitempty"`
}

// Readers is the record of a cell's readers, which can be read several times.
func Readers(dir string) iter.Seq2[readlog.Record, error] {
	path := filepath.Join(dir, FileReaders)
	return func(yield func(readlog.Record, error) bool) {
		for r, err := range readlog.ReadFile(path) {
			if err != nil {
				err = &FormatError{File: path, Err: err}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
