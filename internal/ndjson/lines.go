package ndjson

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Encode writes the values that all encodes, a line each. Compressed, the text is one frame with a checksum and an end
// mark, so that reading a truncated or damaged file fails.
func Encode(w io.Writer, compressed bool, all func(*json.Encoder) error) error {
	if compressed {
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("starting zstd: %w", err)
		}
		if err := Encode(z, false, all); err != nil {
			_ = z.Close()
			return err
		}
		return z.Close()
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	if err := all(enc); err != nil {
		return err
	}
	return buffered.Flush()
}
