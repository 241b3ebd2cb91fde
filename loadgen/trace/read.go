package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Errors that tell what a file is. ErrTruncated means that it ends before its end: who
// wrote it was killed, the disk was full, or it was cut later. The frames so far are good.
var (
	ErrTruncated = errors.New("the trace is cut short")
	ErrForeign   = errors.New("this is not a trace of watchbench record")
	ErrVersion   = errors.New("the trace is of a newer format")
)

// Error is a defect of a trace, and where it is.
type Error struct {
	File   string // may be empty
	Offset int64  // in the file, of the block
	Line   int    // in the text of the block, from 1; 0 for the block itself
	Err    error
}

func (e *Error) Error() string {
	place := fmt.Sprintf("byte %d", e.Offset)
	if e.Line > 0 {
		place = fmt.Sprintf("block at byte %d, line %d", e.Offset, e.Line)
	}
	if e.File != "" {
		place = e.File + ": " + place
	}
	return place + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

var _ error = (*Error)(nil)

// Reader reads a trace once, from its beginning. Use it from one goroutine and Close it.
type Reader struct {
	name   string
	in     *bufio.Reader
	file   io.Closer // nil: the caller's
	dec    *zstd.Decoder
	header Header
	course *course
	offset int64  // of the next block
	number uint32 // of the next block
	packed []byte // reused
}

// Open opens the trace at path and reads its header.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(f, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.file = f
	return r, nil
}

// Whole returns nil for a trace that has its end, ErrTruncated for one that was cut. It looks
// only at where blocks begin, so it is quick, and finds no other damage.
func Whole(path string) (err error) {
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the trace: %w", err)
	}
	for head := make([]byte, preambleBytes); ; {
		if n, err := f.ReadAt(head, r.offset); n < len(head) {
			return r.short(head[:n], err)
		}
		p, err := decodePreamble(head)
		end := r.offset + preambleBytes + int64(p.packed)
		switch {
		case err != nil:
			return r.fail(0, err)
		case end > info.Size():
			return r.short(head, io.ErrUnexpectedEOF)
		case p.kind == endBlock:
			return nil
		}
		r.course.frames += int64(p.lines)
		r.offset = end
	}
}

// NewReader reads the header of a trace. What it reads from stays open.
func NewReader(in io.Reader) (*Reader, error) { return newReader(in, "") }

func newReader(in io.Reader, name string) (*Reader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderMaxWindow(maxBlock))
	if err != nil {
		return nil, fmt.Errorf("preparing decompression: %w", err)
	}
	r := &Reader{name: name, in: bufio.NewReaderSize(in, 64<<10), dec: dec}
	if err := r.readHeader(); err != nil {
		dec.Close()
		return nil, err
	}
	return r, nil
}

// Header is what the trace says of itself.
func (r *Reader) Header() Header { return r.header }

// Close frees what the reader holds.
func (r *Reader) Close() error {
	r.dec.Close()
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

func (r *Reader) readHeader() error {
	b, err := r.next()
	switch {
	case err != nil && r.number == 0 && errors.Is(err, errNoBlock):
		return r.fail(0, ErrForeign)
	case err != nil:
		return err
	case b.kind != headerBlock || b.lines != 1:
		return r.fail(0, errors.New("the trace does not begin with a header"))
	case len(b.text) > maxHeader:
		return r.fail(0, fmt.Errorf("the header has %d bytes, at most %d are possible", len(b.text), maxHeader))
	}
	dec := json.NewDecoder(bytes.NewReader(b.text))
	dec.DisallowUnknownFields()
	err = dec.Decode(&r.header)
	if err == nil && dec.More() {
		err = errors.New("something follows it")
	}
	if err != nil {
		return r.fail(1, fmt.Errorf("header: %w", err))
	}
	if err := r.header.validate(); err != nil {
		return r.fail(1, fmt.Errorf("header: %w", err))
	}
	r.course = newCourse(r.header)
	r.offset += b.size
	return nil
}

// Frames yields the frames in order, once. An error is the last thing yielded, with a
// zero Frame: ErrTruncated for a trace that lacks its end, an *Error with the place for
// any defect, and whatever reading fails with.
func (r *Reader) Frames() iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		for {
			b, err := r.next()
			if err != nil {
				yield(Frame{}, err)
				return
			}
			switch b.kind {
			case framesBlock:
				if !r.frames(b, yield) {
					return
				}
			case endBlock:
				if err := r.end(b); err != nil {
					yield(Frame{}, err)
				}
				return
			default:
				yield(Frame{}, r.fail(0, fmt.Errorf("a block of kind %q, where frames or the end should come", b.kind)))
				return
			}
			r.offset += b.size
		}
	}
}

// frames yields those of one block and reports whether to go on.
func (r *Reader) frames(b *block, yield func(Frame, error) bool) bool {
	line, text := 0, b.text
	for len(text) > 0 {
		line++
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			yield(Frame{}, r.fail(line, errors.New("the last line has no end")))
			return false
		}
		f, err := parseFrame(text[:end:end])
		if err == nil {
			err = r.course.take(&f)
		}
		if err != nil {
			yield(Frame{}, r.fail(line, err))
			return false
		}
		if !yield(f, nil) {
			return false
		}
		text = text[end+1:]
	}
	if uint32(line) != b.lines {
		yield(Frame{}, r.fail(0, fmt.Errorf("the block has %d lines and says %d", line, b.lines)))
		return false
	}
	return true
}

var errUnknown = errors.New("unknown field")

func parseFrame(line []byte) (f Frame, err error) {
	f.Resource = -1 // that it is missing is an error
	err = jsonscan.Fields(line, func(key []byte, v jsonscan.Value) (err error) {
		var n int64
		var text string
		switch string(key) {
		case "at":
			n, err = v.Int()
			f.At = time.Duration(n)
		case "resource":
			n, err = v.Int()
			f.Resource = int(n)
		case "type":
			text, err = v.Text(nil)
			f.Type = Type(text)
		case "inferred":
			f.Inferred, err = v.Bool()
		case "resourceVersion":
			f.ResourceVersion, err = v.Text(nil)
		case "object":
			f.Object, err = v.Object()
		default:
			err = errUnknown
		}
		return err
	})
	return f, err
}

// end checks the last block, and that nothing follows it.
func (r *Reader) end(b *block) error {
	var frames int64
	err := jsonscan.Decode(bytes.TrimSuffix(b.text, []byte("\n")), nil, func(key []byte) any {
		if string(key) == "frames" {
			return &frames
		}
		return nil
	})
	if err != nil {
		return r.fail(1, fmt.Errorf("end: %w", err))
	}
	if frames != r.course.frames {
		return r.fail(1, fmt.Errorf("%d frames were written, %d are here", frames, r.course.frames))
	}
	r.offset += b.size
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return err
		}
		return r.fail(0, errors.New("something follows the end of the trace"))
	}
	return nil
}

func (r *Reader) fail(line int, err error) error {
	return &Error{File: r.name, Offset: r.offset, Line: line, Err: err}
}

// block is one that was read whole, and whose checksum fits.
type block struct {
	preamble
	text []byte // of its own
	size int64  // in the file
}

// next reads the next block; r.offset stays at its beginning.
func (r *Reader) next() (*block, error) {
	head := make([]byte, preambleBytes)
	if n, err := io.ReadFull(r.in, head); err != nil {
		return nil, r.short(head[:n], err)
	}
	p, err := decodePreamble(head)
	switch {
	case err != nil:
		return nil, r.fail(0, err)
	case p.packed > maxBlock || p.text > maxBlock:
		return nil, r.fail(0, errChecksum) // no writer makes such a block
	}
	if uint32(cap(r.packed)) < p.packed {
		// A damaged size may ask for what the file does not have: take what comes.
		var grown bytes.Buffer
		if n, err := io.CopyN(&grown, r.in, int64(p.packed)); err != nil {
			return nil, r.short(append(head, grown.Bytes()[:n]...), err)
		}
		r.packed = grown.Bytes()
	} else {
		r.packed = r.packed[:p.packed]
		if _, err := io.ReadFull(r.in, r.packed); err != nil {
			return nil, r.short(head, err)
		}
	}
	r.packed = r.packed[:p.packed]
	if checksum(head[:preambleBytes-4], r.packed) != p.crc {
		return nil, r.fail(0, errChecksum)
	}
	if p.version > Version { // the preamble is the same in all versions
		return nil, r.fail(0, fmt.Errorf("%w: version %d, this program reads up to %d", ErrVersion, p.version, Version))
	}
	if p.version != Version || p.number != r.number {
		return nil, r.fail(0, fmt.Errorf("block %d of version %d, where block %d of version %d should stand: blocks are missing or doubled", p.number, p.version, r.number, Version))
	}
	text, err := r.dec.DecodeAll(r.packed, make([]byte, 0, p.text))
	if err != nil {
		return nil, r.fail(0, fmt.Errorf("decompressing the block: %w", err))
	}
	if uint32(len(text)) != p.text {
		return nil, r.fail(0, fmt.Errorf("the block has %d bytes of text and says %d", len(text), p.text))
	}
	r.number++
	return &block{preamble: p, text: text, size: preambleBytes + int64(p.packed)}, nil
}

// short is the error for a block of which only the beginning is there.
func (r *Reader) short(begin []byte, err error) error {
	switch {
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("reading the trace: %w", err)
	case r.course == nil && !beginsBlock(begin):
		return r.fail(0, ErrForeign)
	case r.course == nil:
		return r.fail(0, fmt.Errorf("%w within its header", ErrTruncated))
	}
	return r.fail(0, fmt.Errorf("%w after %d frames, which are whole", ErrTruncated, r.course.frames))
}

// beginsBlock reports whether begin, which may be empty, can begin a block.
func beginsBlock(begin []byte) bool {
	want := preamble{}.encode(nil)[:12]
	n := min(len(begin), len(want))
	return bytes.Equal(begin[:n], want[:n])
}
