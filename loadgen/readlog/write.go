package readlog

import (
	"context"
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
	// maxBuffered bounds the records that wait for the disk, some 60,000 events. When it is
	// reached, Append waits for the disk: records are never dropped.
	maxBuffered = 8 << 20
	flushEvery  = 50 * time.Millisecond
)

// ErrClosed is returned by a Writer that was closed.
var ErrClosed = errors.New("the readers' record is closed")

// Writer appends records. Append only encodes into memory; Run does the compression and
// the disk. All methods may be called concurrently.
type Writer struct {
	file io.WriteCloser

	mu     sync.Mutex // guards what follows up to out
	buf    []byte
	count  int64
	closed bool

	out   sync.Mutex // guards what follows; taken before mu, never after
	enc   *zstd.Encoder
	spare []byte
	err   error
}

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
	enc, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("prepare the compression of the readers' record: %w", err)
	}
	return &Writer{file: file, enc: enc}, nil
}

// Append takes one record. An error of the disk is reported by Run and Close.
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
		_ = w.flush()
	}
}

// Run writes what Append collects until ctx ends.
func (w *Writer) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
}

func (w *Writer) flush() error {
	w.out.Lock()
	defer w.out.Unlock()
	w.mu.Lock()
	w.buf, w.spare = w.spare[:0], w.buf
	w.mu.Unlock()
	if w.err == nil && len(w.spare) > 0 {
		if _, err := w.enc.Write(w.spare); err != nil {
			w.err = fmt.Errorf("write the readers' record: %w", err)
		}
	}
	return w.err
}

// Close writes the rest and a last line that counts the records, and closes the file. A
// second call returns ErrClosed.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	w.closed = true
	w.buf = fmt.Appendf(w.buf, "{\"what\":%q,\"records\":%d}\n", end, w.count)
	w.mu.Unlock()
	err := w.flush()
	w.out.Lock()
	defer w.out.Unlock()
	if cerr := errors.Join(w.enc.Close(), w.file.Close()); err == nil && cerr != nil {
		err = fmt.Errorf("close the readers' record: %w", cerr)
	}
	return err
}
