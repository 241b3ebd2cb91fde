// Package ndjson splits recorded files into lines: one JSON object each, plain or compressed with zstd. What a line
// means is for the caller; internal/jsonscan reads it without building anything.
package ndjson

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/userfile"
)

const (
	// MaxLine bounds one line, in bytes. Names come from URLs of at most 64 KiB, and escaping makes a byte six.
	MaxLine = 1 << 20
	// maxWindow bounds the memory that a damaged zstd header can ask for; the writers' windows are smaller.
	maxWindow  = 32 << 20
	readBuffer = 64 << 10
)

// ErrCut means that the text ends inside a line, or the compressed data before its end mark: whoever wrote it was
// killed, or the file was truncated. ErrNoNewline is the former case.
var (
	ErrCut       = errors.New("cut short")
	ErrNoNewline = fmt.Errorf("%w: the last line has no end", ErrCut)
)

// Reader yields the lines of a text. Use it from one goroutine and Close it.
type Reader struct {
	in   *bufio.Reader
	z    *zstd.Decoder // nil: not compressed
	file io.Closer     // nil: the caller's
	line int
	max  int    // bytes of a line
	long []byte // a line that is longer than the buffer of in
}

// Open reads a file, plain or compressed.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := Sniff(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.file = f
	return r, nil
}

// Begins returns a function that reports whether the file at a path is compressed lines, the first of which starts so.
// A file that ends before it, because its writer was killed, is one.
func Begins(start string) func(path string) bool {
	return func(path string) bool {
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		defer func() { _ = f.Close() }()
		r, err := NewZstd(f, MaxLine)
		if err != nil {
			return false
		}
		defer func() { _ = r.Close() }()
		line, err := r.Next()
		return err == nil && strings.HasPrefix(string(line), start) || errors.Is(err, ErrCut) || errors.Is(err, io.EOF)
	}
}

// NewZstd reads compressed text with lines of up to most bytes; several frames in a row are one text. Data that is not
// zstd is an error of the first Next.
func NewZstd(in io.Reader, most int) (*Reader, error) {
	z, err := zstd.NewReader(in,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("preparing decompression: %w", err)
	}
	return &Reader{in: bufio.NewReaderSize(z, readBuffer), z: z, max: most}, nil
}

// Sniff reads plain or compressed text, by its first bytes.
func Sniff(in io.Reader) (*Reader, error) {
	buffered := bufio.NewReaderSize(in, readBuffer)
	start, err := buffered.Peek(len(ZstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(start) == ZstdMagic {
		return NewZstd(buffered, MaxLine)
	}
	text, err := userfile.Text(start)
	if err != nil {
		return nil, err
	}
	_, _ = buffered.Discard(len(start) - len(text)) // of what is buffered
	return &Reader{in: buffered, max: MaxLine}, nil
}

// ZstdMagic begins each zstd frame.
const ZstdMagic = "\x28\xb5\x2f\xfd"

// Close frees what the reader holds. What it was given to read stays open.
func (r *Reader) Close() error {
	if r.z != nil {
		r.z.Close()
	}
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Line is the number of the line that Next returned last, from 1.
func (r *Reader) Line() int { return r.line }

// Next returns the next line without its end. The bytes are valid until the next call. After the last line it is
// io.EOF. Where the text is cut, ErrCut comes with what there is of the line.
func (r *Reader) Next() ([]byte, error) {
	r.line++
	part, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = r.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(r.long) <= r.max {
			r.long = append(r.long, part...)
			part, err = r.in.ReadSlice('\n')
		}
		r.long = append(r.long, part...)
		part = r.long
	}
	switch {
	case len(part) > r.max+1:
		return nil, fmt.Errorf("longer than %d bytes", r.max)
	case err == nil:
		return part[:len(part)-1], nil
	case errors.Is(err, io.EOF) && len(part) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return part, ErrNoNewline
	case errors.Is(err, io.ErrUnexpectedEOF):
		return part, fmt.Errorf("%w: the compressed data ends before its end mark", ErrCut)
	}
	return nil, err
}
