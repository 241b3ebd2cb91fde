package ledger

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/watchbench/watchbench/internal/ndjson"
)

// Write writes entries as NDJSON. The fields are in the order of Entry's, which the Reader reads fastest.
func Write(w io.Writer, entries iter.Seq[Entry]) error { return write(w, false, entries) }

// WriteZstd is Write with zstd compression.
func WriteZstd(w io.Writer, entries iter.Seq[Entry]) error { return write(w, true, entries) }

func write(w io.Writer, compressed bool, entries iter.Seq[Entry]) error {
	return ndjson.Encode(w, compressed, func(enc *json.Encoder) error {
		for e := range entries {
			if err := enc.Encode(&e); err != nil {
				return fmt.Errorf("writing ledger entry %d: %w", e.Seq, err)
			}
		}
		return nil
	})
}
