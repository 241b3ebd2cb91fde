package ledger

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

// AppendJSON appends e as one line of NDJSON, newline included. The fields are in the order of Entry's, which the
// Reader reads fastest.
func (e *Entry) AppendJSON(dst []byte) []byte {
	line, _ := json.Marshal(e) // numbers and strings always encode
	return append(append(dst, line...), '\n')
}

// Write writes entries as NDJSON, and returns how many.
func Write(w io.Writer, entries iter.Seq[Entry]) (n int, err error) {
	buffered := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for e := range entries {
		line = e.AppendJSON(line[:0])
		if _, err := buffered.Write(line); err != nil {
			return n, fmt.Errorf("writing ledger entry %d: %w", e.Seq, err)
		}
		n++
	}
	if err := buffered.Flush(); err != nil {
		return n, fmt.Errorf("writing the end of the ledger: %w", err)
	}
	return n, nil
}

// WriteZstd is Write with zstd compression. The frame has a checksum and an end mark, so that reading a truncated or
// damaged file fails.
func WriteZstd(w io.Writer, entries iter.Seq[Entry]) (int, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return 0, fmt.Errorf("starting zstd: %w", err)
	}
	n, err := Write(z, entries)
	if cerr := z.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("ending the compressed ledger: %w", cerr)
	}
	return n, err
}
