package oplog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/outfile"
)

const (
	// maxBuffered bounds the uncompressed records that wait for the disk, about
	// 30,000 of them. When it is reached, Append writes itself: records are never
	// dropped.
	maxBuffered = 8 << 20
	// flushEvery is how often Run hands the buffer to the compressor.
	flushEvery = 100 * time.Millisecond
)

// ErrClosed is returned by a Writer that was closed.
var ErrClosed = errors.New("op log is closed")

// Writer appends records to an op log. Append only encodes into memory; Run does
// the compression and the disk. All methods may be called concurrently.
type Writer struct {
	file io.WriteCloser

	mu     sync.Mutex // guards what follows up to out
	buf    []byte
	count  int64 // records appended
	closed bool

	out   sync.Mutex // guards what follows; taken before mu, never after
	enc   *zstd.Encoder
	spare []byte
	open  bool // a zstd frame is begun
	err   error
}

// Create makes the file at path; an existing one is overwritten.
func Create(path string) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("creating the op log: %w", err)
	}
	w, err := NewWriter(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// Output describes the file that Create is to write, for a check before it does.
func Output(flag, path string) outfile.Output {
	return outfile.Output{Flag: flag, Path: path, What: "op log", Ours: outfile.Lines(`{"id":`)}
}

// NewWriter writes to file and closes it with the Writer.
func NewWriter(file io.WriteCloser) (*Writer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("preparing the op log's compression: %w", err)
	}
	return &Writer{file: file, enc: enc}, nil
}

// Append takes one record. An error of the disk is reported by Checkpoint and
// Close, not here.
func (w *Writer) Append(r Record) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.buf = appendRecord(w.buf, &r)
	w.count++
	full := len(w.buf) >= maxBuffered
	w.mu.Unlock()
	if full {
		w.out.Lock()
		defer w.out.Unlock()
		w.flush()
	}
}

// Run writes what Append collects until ctx ends. Without it the Writer works too,
// but Append pauses for the disk now and then.
func (w *Writer) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			w.out.Lock()
			w.flush()
			err := w.err
			w.out.Unlock()
			if err != nil {
				return err
			}
		}
	}
}

// appendRecord appends r as one line of JSON.
func appendRecord(b []byte, r *Record) []byte {
	line, _ := json.Marshal(r) // numbers, booleans and strings always encode
	return append(append(b, line...), '\n')
}

// Checkpoint makes what was appended so far readable as a complete log, while the
// Writer stays open: it ends the zstd frame with a line that holds the number of
// records.
func (w *Writer) Checkpoint() error {
	w.out.Lock()
	defer w.out.Unlock()
	return w.checkpoint()
}

// Close writes a last checkpoint and closes the file. A second call returns
// ErrClosed.
func (w *Writer) Close() error {
	w.out.Lock()
	defer w.out.Unlock()
	w.mu.Lock()
	was := w.closed
	w.closed = true
	w.mu.Unlock()
	if was {
		return ErrClosed
	}
	err := w.checkpoint()
	if cerr := w.file.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("closing the op log: %w", cerr)
	}
	return err
}

// flush moves the buffer through the compressor and returns how many records have gone
// there so far. The caller holds out.
func (w *Writer) flush() (count int64) {
	w.mu.Lock()
	w.buf, w.spare = w.spare[:0], w.buf
	count = w.count
	w.mu.Unlock()
	w.write(w.spare)
	return count
}

// checkpoint is called with out held.
func (w *Writer) checkpoint() error {
	w.write(fmt.Appendf(nil, "{\"checkpoint\":%d}\n", w.flush()))
	if w.err == nil && w.open {
		w.fail(w.enc.Close())
		w.open = false
	}
	return w.err
}

func (w *Writer) write(data []byte) {
	if len(data) == 0 || w.err != nil {
		return
	}
	if !w.open {
		w.enc.Reset(w.file)
		w.open = true
	}
	_, err := w.enc.Write(data)
	w.fail(err)
}

func (w *Writer) fail(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("writing the op log: %w", err)
	}
}
