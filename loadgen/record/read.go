package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/ndjson"
)

// Errors of files. ErrTruncated means that it ends before its end: who wrote it was killed, the disk was full, or it
// was cut later. The frames so far are good; those of the last second before a cut are not covered by a checksum.
var (
	ErrTruncated = errors.New("the trace is cut short")
	ErrForeign   = errors.New("this is not a trace of watchbench record")
	ErrNewer     = errors.New("written by a newer version of watchbench")
)

// Error is a defect of a trace, and where it is.
type Error struct {
	File string
	Line int // in the uncompressed text, from 1
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: line %d: %v", e.File, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

var _ error = (*Error)(nil)

// Reader reads a trace once, from its beginning. Use it from one goroutine and Close it.
type Reader struct {
	name   string
	lines  *ndjson.Reader
	file   io.Closer
	header Header
	course *course
}

// Open opens the trace at path and reads its header.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	lines, err := ndjson.NewZstd(f, maxLine)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &Reader{name: path, lines: lines, file: f}
	if err := r.readHeader(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) readHeader() error {
	line, err := r.lines.Next()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, ndjson.ErrCut):
		return r.fail(fmt.Errorf("%w within its header", ErrTruncated))
	case err == nil && len(line) >= maxHeader:
		err = fmt.Errorf("the header has %d bytes, at most %d are possible", len(line), maxHeader-1)
	case err == nil:
		var newer struct{ Format int }
		if json.Unmarshal(line, &newer) == nil && newer.Format > format {
			return r.fail(fmt.Errorf("%w: its format is %d, this version reads up to %d", ErrNewer, newer.Format, format))
		}
		if err = kubeapi.DecodeStrict(bytes.NewReader(line), &r.header); err == nil {
			err = r.header.validate()
		}
	}
	if err != nil {
		return r.fail(fmt.Errorf("%w: %w", ErrForeign, err))
	}
	r.course = &course{resources: r.header.Resources}
	return nil
}

// Whole returns nil for a trace that can be read to its end.
func Whole(path string) (err error) {
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, err := range r.Frames() {
		if err != nil {
			return err
		}
	}
	return nil
}

// Header returns the header of the trace.
func (r *Reader) Header() Header { return r.header }

// Close frees what the reader holds.
func (r *Reader) Close() error {
	return errors.Join(r.lines.Close(), r.file.Close())
}

// Frames yields the frames in order, once. An error is the last thing yielded, with a zero Frame: it is an *Error with
// the place, for a trace that lacks its end an ErrTruncated.
func (r *Reader) Frames() iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		for {
			f, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Frame{}, r.fail(err))
				return
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}

// next reads a frame, or io.EOF at a proper end.
func (r *Reader) next() (Frame, error) {
	line, err := r.lines.Next()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, ndjson.ErrCut):
		return Frame{}, r.cut()
	case err != nil:
		return Frame{}, err
	case bytes.HasPrefix(line, []byte(endOf)):
		return Frame{}, r.end(line)
	}
	f, err := parseFrame(line)
	if err == nil {
		err = r.course.take(&f)
	}
	if err != nil {
		return Frame{}, err
	}
	f.Object = bytes.Clone(f.Object)
	return f, nil
}

// end checks the last line, and that nothing follows it; io.EOF if all is well.
func (r *Reader) end(line []byte) error {
	var frames int64
	err := jsonscan.Decode(line, nil, func(key []byte) any {
		if string(key) == "frames" {
			return &frames
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case frames != r.course.frames:
		return fmt.Errorf("%d frames were written, %d are here", frames, r.course.frames)
	}
	switch _, err = r.lines.Next(); {
	case err == nil:
		return errors.New("something follows the end of the trace")
	case errors.Is(err, ndjson.ErrCut):
		return r.cut()
	}
	return err
}

func (r *Reader) cut() error {
	return fmt.Errorf("%w after %d frames, which are whole", ErrTruncated, r.course.frames)
}

func parseFrame(line []byte) (f Frame, err error) {
	f.Resource = -1 // that it is missing is an error
	var at int64
	var object []byte
	err = jsonscan.Decode(line, nil, func(key []byte) any {
		switch string(key) {
		case "at":
			return &at
		case "resource":
			return &f.Resource
		case "type":
			return (*string)(&f.Type)
		case "inferred":
			return &f.Inferred
		case "resourceVersion":
			return &f.ResourceVersion
		case "object":
			return &object
		}
		return nil
	})
	f.At, f.Object = time.Duration(at), object
	if err == nil && len(object) > 0 && !jsonscan.IsObject(object) {
		err = errors.New(`field "object": want an object`)
	}
	return f, err
}

func (r *Reader) fail(err error) error { return &Error{File: r.name, Line: r.lines.Line(), Err: err} }
