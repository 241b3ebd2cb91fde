package ndjson

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// maxBuffered bounds the uncompressed lines that wait for the disk, in bytes: some 30,000 operations or 60,000
	// events. When it is reached, Append writes itself: lines are never dropped.
	maxBuffered = 8 << 20
	// flushEvery is how often Run hands the buffer to the compressor.
	flushEvery = 100 * time.Millisecond
)

// ErrClosed is returned by a Writer that was closed.
var ErrClosed = errors.New("the file is closed")

// Format is how records become lines.
type Format[R any] struct {
	What string // the file is, for errors: op log
	Head string // before the first record, with a newline
	// Line appends a record with a newline.
	Line func([]byte, *R) []byte
	// Seal is the line that ends what can be read as a whole, without a newline. It counts the records before it.
	Seal func(records int64) string
}

// Writer appends records to a compressed file. Append only encodes into memory; Run does the compression and the disk.
// All methods may be called concurrently.
type Writer[R any] struct {
	file   io.WriteCloser
	format Format[R]

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
func Create[R any](path string, f Format[R]) (*Writer[R], error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the %s: %w", f.What, err)
	}
	w, err := NewWriter(file, f)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

// NewWriter writes to file and closes it with the Writer.
func NewWriter[R any](file io.WriteCloser, f Format[R]) (*Writer[R], error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("prepare the compression of the %s: %w", f.What, err)
	}
	return &Writer[R]{file: file, format: f, enc: enc, buf: []byte(f.Head)}, nil
}

// Append takes one record. An error of the disk is reported by Run, Checkpoint and Close, not here.
func (w *Writer[R]) Append(r R) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.buf = w.format.Line(w.buf, &r)
	w.count++
	full := len(w.buf) >= maxBuffered
	w.mu.Unlock()
	if full {
		w.out.Lock()
		defer w.out.Unlock()
		w.flush()
	}
}

// Run writes what Append collects until ctx ends. Without it the Writer works too, but Append pauses for the disk now
// and then.
func (w *Writer[R]) Run(ctx context.Context) error {
	for lifecycle.Pause(ctx, flushEvery) == nil {
		w.out.Lock()
		w.flush()
		err := w.err
		w.out.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// Flush writes what was appended so far, so that a reader finds it should the program end.
func (w *Writer[R]) Flush() error {
	w.out.Lock()
	defer w.out.Unlock()
	w.flush()
	return w.endFrame()
}

// Checkpoint makes what was appended so far readable as a whole, while the Writer stays open: it ends the zstd frame
// with a seal.
func (w *Writer[R]) Checkpoint() error {
	w.out.Lock()
	defer w.out.Unlock()
	return w.checkpoint()
}

// Close writes a last checkpoint and closes the file. A second call returns ErrClosed.
func (w *Writer[R]) Close() error {
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
		err = fmt.Errorf("close the %s: %w", w.format.What, cerr)
	}
	return err
}

// flush moves the buffer through the compressor and returns how many records have gone there so far. The caller holds
// out.
func (w *Writer[R]) flush() (count int64) {
	w.mu.Lock()
	w.buf, w.spare = w.spare[:0], w.buf
	count = w.count
	w.mu.Unlock()
	w.write(w.spare)
	return count
}

// checkpoint is called with out held.
func (w *Writer[R]) checkpoint() error {
	w.write([]byte(w.format.Seal(w.flush()) + "\n"))
	return w.endFrame()
}

func (w *Writer[R]) endFrame() error {
	if w.err == nil && w.open {
		w.fail(w.enc.Close())
		w.open = false
	}
	return w.err
}

func (w *Writer[R]) write(data []byte) {
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

func (w *Writer[R]) fail(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write the %s: %w", w.format.What, err)
	}
}
