package ledger

import (
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// AppendJSON appends e as one line of NDJSON, newline included. The fields are in the
// order of Entry's tags, which the Reader reads fastest.
func (e *Entry) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, e.Seq, 10)
	if e.Instance != 0 {
		dst = appendInt(dst, `,"instance":`, int64(e.Instance))
	}
	dst = appendText(dst, `,"method":`, e.Method)
	if e.Cluster != "" {
		dst = appendText(dst, `,"cluster":`, e.Cluster)
	}
	dst = appendText(dst, `,"kind":`, e.Kind)
	if e.Namespace != "" {
		dst = appendText(dst, `,"namespace":`, e.Namespace)
	}
	dst = appendText(dst, `,"name":`, e.Name)
	if e.UID != "" {
		dst = appendText(dst, `,"uid":`, e.UID)
	}
	if e.ResourceVersion != 0 {
		dst = append(dst, `,"resourceVersion":`...)
		dst = strconv.AppendUint(dst, e.ResourceVersion, 10)
	}
	dst = appendInt(dst, `,"bytes":`, int64(e.Bytes))
	dst = appendInt(dst, `,"received":`, e.Received)
	dst = appendInt(dst, `,"applied":`, e.Applied)
	dst = appendInt(dst, `,"responded":`, e.Responded)
	if e.Gone != 0 {
		dst = appendInt(dst, `,"gone":`, e.Gone)
	}
	dst = appendInt(dst, `,"status":`, int64(e.Status))
	dst = appendInt(dst, `,"code":`, int64(e.Code))
	dst = appendText(dst, `,"effect":`, e.Effect)
	if e.Fault != "" {
		dst = appendText(dst, `,"fault":`, e.Fault)
	}
	return append(dst, '}', '\n')
}

func appendInt(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(dst, key...), n, 10)
}

// appendText appends a member whose value is a string.
func appendText(dst []byte, key, s string) []byte {
	return jsonscan.AppendString(append(dst, key...), s)
}

// flushBytes is how much is buffered before a write.
const flushBytes = 64 << 10

// Write writes entries as NDJSON, and returns how many.
func Write(w io.Writer, entries iter.Seq[Entry]) (int, error) {
	buf := make([]byte, 0, flushBytes+1024)
	n := 0
	for e := range entries {
		buf = e.AppendJSON(buf)
		n++
		if len(buf) >= flushBytes {
			if _, err := w.Write(buf); err != nil {
				return n, fmt.Errorf("writing ledger entry %d: %w", e.Seq, err)
			}
			buf = buf[:0]
		}
	}
	if _, err := w.Write(buf); err != nil {
		return n, fmt.Errorf("writing the end of the ledger: %w", err)
	}
	return n, nil
}

// WriteZstd is Write with zstd compression. The frame has a checksum and an end mark, so
// that reading a truncated or damaged file fails.
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
