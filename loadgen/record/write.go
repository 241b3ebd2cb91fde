package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/ndjson"
)

const (
	// maxObject bounds one object. etcd refuses requests above 1.5 MiB by default; JSON of what is stored as protobuf
	// is larger.
	maxObject = 16 << 20
	// maxLine adds what a line has besides its object.
	maxLine = maxObject + 512
	// maxHeader bounds the header: decoded, a damaged one may take a hundred times as much. maxResources bounds what it
	// names; clusters have a few hundred.
	maxHeader    = 1 << 20
	maxResources = 4096
	// maxNesting bounds the depth of an object; the apiserver's own bound is 10,000 and what people write stays below
	// 50.
	maxNesting = 1000
)

// endOf begins the last line, which holds the number of frames.
const endOf = `{"frames":`

// Writer writes a trace. Its methods may be called concurrently.
type Writer struct {
	lines *ndjson.Writer[Frame]
	bytes atomic.Int64

	mu     sync.Mutex // guards course and closed, and orders what is appended
	course *course
	closed bool
}

// Create makes the file at path and writes the header. An existing file is an error that is fs.ErrExist. Only the user
// can read it: it holds a cluster.
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
	h.Format = format
	if err := h.validate(); err != nil {
		return nil, fmt.Errorf("header of the trace: %w", err)
	}
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the trace's header: %w", err)
	}
	if len(line) >= maxHeader {
		return nil, fmt.Errorf("header of the trace: %d bytes, at most %d are possible", len(line), maxHeader-1)
	}
	w := &Writer{course: &course{resources: h.Resources}}
	w.lines, err = ndjson.NewWriter(counting{file, &w.bytes}, ndjson.Format[Frame]{
		What: "trace", Head: string(line) + "\n", Line: appendFrame,
		Seal: func(frames int64) string { return fmt.Sprintf("%s%d}", endOf, frames) },
	})
	if err != nil {
		return nil, err
	}
	return w, w.lines.Flush()
}

type counting struct {
	io.WriteCloser
	bytes *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.WriteCloser.Write(p)
	c.bytes.Add(int64(n))
	return n, err
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

// Append takes one frame and keeps nothing of it. A time before that of the last frame becomes that time: where several
// recorders share a Writer, the order of the calls counts. A frame that no replay could take is an error and changes
// nothing. An error of the disk is returned by Flush and Close.
func (w *Writer) Append(f Frame) error {
	if len(f.Object) > 0 {
		var err error
		if f.Object, err = compacted(f.Object); err != nil {
			return fmt.Errorf("object of a trace: %w", err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ndjson.ErrClosed
	}
	f.At = max(f.At, w.course.last)
	if err := w.course.take(&f); err != nil {
		return fmt.Errorf("frame of a trace: %w", err)
	}
	w.lines.Append(f)
	return nil
}

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

func appendFrame(b []byte, f *Frame) []byte {
	b = strconv.AppendInt(append(b, `{"at":`...), int64(f.At), 10)
	b = strconv.AppendInt(append(b, `,"resource":`...), int64(f.Resource), 10)
	b = append(append(append(b, `,"type":"`...), f.Type...), '"')
	if f.Inferred {
		b = append(b, `,"inferred":true`...)
	}
	if f.ResourceVersion != "" {
		b = jsonscan.AppendString(append(b, `,"resourceVersion":`...), f.ResourceVersion)
	}
	if len(f.Object) > 0 {
		b = append(append(b, `,"object":`...), f.Object...)
	}
	return append(b, "}\n"...)
}

// Flush writes what was appended so far, so that a reader finds it should the program end.
func (w *Writer) Flush() error { return w.lines.Flush() }

// Written returns the bytes in the file and the frames appended.
func (w *Writer) Written() (bytes, frames int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes.Load(), w.course.frames
}

// Close writes the end of the trace, as a zstd frame of its own, and closes the file. A second call returns
// ndjson.ErrClosed.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closed = true // so that nothing gets into the frame of the end
	w.mu.Unlock()
	_ = w.Flush() // Close returns the first error of the disk
	return w.lines.Close()
}
