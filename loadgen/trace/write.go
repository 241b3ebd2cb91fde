package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// ErrClosed is returned by a Writer that was closed.
var ErrClosed = errors.New("the trace is closed")

// Writer writes a trace. Its methods may be called concurrently.
type Writer struct {
	mu     sync.Mutex // guards what follows, and orders the writes to the file
	file   io.WriteCloser
	enc    *zstd.Encoder
	course *course
	text   []byte // lines of the block under way
	lines  uint32
	packed []byte // reused
	number uint32
	bytes  int64
	err    error // the first one, which every later call returns
}

// Create makes the file at path and writes the header. An existing file is an error that
// is fs.ErrExist. Only the user can read it: it holds a cluster.
func Create(path string, h Header) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(f, h)
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return w, nil
}

// NewWriter writes the header to file, which the Writer then owns.
func NewWriter(file io.WriteCloser, h Header) (*Writer, error) {
	if err := h.validate(); err != nil {
		return nil, fmt.Errorf("header of the trace: %w", err)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockBytes), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("preparing the trace's compression: %w", err)
	}
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encoding the trace's header: %w", err)
	}
	if len(line) >= maxHeader {
		return nil, fmt.Errorf("header of the trace: %d bytes, fewer than %d are possible", len(line), maxHeader)
	}
	w := &Writer{file: file, enc: enc, course: newCourse(h), text: append(line, '\n'), lines: 1}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w, w.block(headerBlock)
}

func (h Header) validate() error {
	switch {
	case h.Started.IsZero():
		return errors.New("started is missing")
	case len(h.Resources) == 0:
		return errors.New("no resource is named")
	case len(h.Resources) > maxResources:
		return fmt.Errorf("%d resources, at most %d are possible", len(h.Resources), maxResources)
	}
	seen := map[string]bool{}
	for i, r := range h.Resources {
		switch {
		case r.Version == "" || r.Name == "" || r.Kind == "":
			return fmt.Errorf("resource %d lacks its version, name or kind", i)
		case strings.ContainsAny(r.Name, "/. ") || strings.ContainsAny(r.Group+r.Version, "/ "):
			return fmt.Errorf("resource %d: %q has no path", i, r)
		case seen[r.key()]:
			return fmt.Errorf("resource %d: %s is named twice", i, r)
		}
		seen[r.key()] = true
	}
	return nil
}

// Append takes one frame and keeps nothing of it. A time before that of the last frame
// becomes that time: where several recorders share a Writer, the order of the calls
// counts. A frame that cannot stand where it would is an error and changes nothing; an
// error of the disk is final.
func (w *Writer) Append(f Frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	f.At = max(f.At, w.course.last)
	if len(f.Object) > 0 {
		var err error
		if f.Object, err = compacted(f.Object); err != nil {
			return fmt.Errorf("object of a trace: %w", err)
		}
	}
	if err := w.course.take(&f); err != nil {
		return fmt.Errorf("frame of a trace: %w", err)
	}
	w.text = appendFrame(w.text, &f)
	w.lines++
	if len(w.text) < blockBytes {
		return nil
	}
	return w.block(framesBlock)
}

// compacted returns the object without white space between tokens.
func compacted(object []byte) ([]byte, error) {
	if len(object) > maxObject {
		return nil, fmt.Errorf("%d bytes, at most %d are possible", len(object), maxObject)
	}
	s := jsonscan.New(object)
	at, err := s.ValueWithin(maxNesting)
	if err == nil {
		err = s.End()
	}
	switch {
	case err != nil:
		return nil, err
	case !jsonscan.IsObject(at.Of(object)):
		return nil, errors.New("not a JSON object")
	case s.Spaced():
		return jsonscan.Compact(object)
	}
	return object, nil
}

// maxNesting bounds the depth of an object; the apiserver's own bound is 10,000 and what
// people write stays below 50.
const maxNesting = 1000

func appendFrame(b []byte, f *Frame) []byte {
	b = append(b, `{"at":`...)
	b = strconv.AppendInt(b, int64(f.At), 10)
	b = append(b, `,"resource":`...)
	b = strconv.AppendInt(b, int64(f.Resource), 10)
	b = append(b, `,"type":"`...)
	b = append(append(b, f.Type...), '"')
	if f.Inferred {
		b = append(b, `,"inferred":true`...)
	}
	if f.ResourceVersion != "" {
		b = append(b, `,"resourceVersion":`...)
		b = jsonscan.AppendString(b, f.ResourceVersion)
	}
	if len(f.Object) > 0 {
		b = append(b, `,"object":`...)
		b = append(b, f.Object...)
	}
	return append(b, "}\n"...)
}

// Flush writes what was appended so far as a block, so that a reader finds it should the
// program end.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.lines == 0 {
		return w.err
	}
	return w.block(framesBlock)
}

// Written returns the bytes in the file and the frames appended.
func (w *Writer) Written() (bytes, frames int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes, w.course.frames
}

// Close writes the end of the trace and closes the file. A second call returns ErrClosed.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, ErrClosed) {
		return w.err
	}
	if w.err == nil && w.lines > 0 {
		_ = w.block(framesBlock) // kept in w.err
	}
	if w.err == nil {
		w.text, w.lines = fmt.Appendf(w.text, "{\"frames\":%d}\n", w.course.frames), 1
		_ = w.block(endBlock)
	}
	err := w.err
	w.err = ErrClosed
	return errors.Join(err, w.file.Close())
}

// block compresses and writes the lines collected. The caller holds mu. On an error the
// file may end within a block, which a reader leaves out.
func (w *Writer) block(k kind) error {
	w.packed = w.enc.EncodeAll(w.text, w.packed[:0])
	p := preamble{version: Version, kind: k, number: w.number, lines: w.lines, text: uint32(len(w.text)), packed: uint32(len(w.packed))}
	for _, part := range [][]byte{p.encode(w.packed), w.packed} {
		n, err := w.file.Write(part)
		w.bytes += int64(n)
		if err != nil {
			w.err = fmt.Errorf("writing the trace: %w", err)
			return w.err
		}
	}
	w.text, w.lines = w.text[:0], 0
	w.number++
	return nil
}
