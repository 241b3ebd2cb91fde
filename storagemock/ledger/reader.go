package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a ledger, plain or zstd, entry by entry. Equal names and uids
// share one string. Use it from one goroutine and Close it.
type Reader struct {
	in      *bufio.Reader
	closers []func() error
	line    int
	lastSeq uint64
	gaps    bool
	strings map[string]string
}

// maxLine bounds a line: names come from URLs of at most 64 KiB, and escaping
// makes a byte six.
const maxLine = 1 << 20

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// NewReader reads from in, which it does not close.
func NewReader(in io.Reader) (*Reader, error) {
	r := &Reader{strings: map[string]string{}}
	buffered := bufio.NewReaderSize(in, 256<<10)
	magic, err := buffered.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the ledger's beginning: %w", err)
	}
	r.in = buffered
	if bytes.Equal(magic, zstdMagic) {
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, fmt.Errorf("reading the ledger as zstd: %w", err)
		}
		r.closers = append(r.closers, func() error { z.Close(); return nil })
		r.in = bufio.NewReaderSize(z, 256<<10)
	}
	return r, nil
}

// Open reads the ledger of a file.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	r, err := NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	r.closers = append(r.closers, f.Close)
	return r, nil
}

// AllowGaps lets Seq skip numbers, as in an export of one key. Without it the
// entries must be gapless from the first one on.
func (r *Reader) AllowGaps() *Reader { r.gaps = true; return r }

// Close frees what the reader holds.
func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.closers {
		errs = append(errs, c())
	}
	r.closers = nil
	return errors.Join(errs...)
}

// Line is the number of the line read last, from 1.
func (r *Reader) Line() int { return r.line }

// Next returns the next entry, or io.EOF after the last one. Any other error
// names the line, and is final.
func (r *Reader) Next() (Entry, error) {
	line, err := r.in.ReadSlice('\n')
	r.line++
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.longLine(line)
	}
	switch {
	case errors.Is(err, io.EOF) && len(line) == 0:
		return Entry{}, io.EOF
	case errors.Is(err, io.EOF):
		return Entry{}, r.fail("cut short: the last line has no end")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Entry{}, r.fail("cut short: the compressed data ends before its end mark")
	case err != nil:
		return Entry{}, fmt.Errorf("ledger line %d: %w", r.line, err)
	}
	e, ok := r.parse(line)
	if !ok {
		e = Entry{}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil {
			// Not wrapped: the decoder's io.EOF would look like the ledger's end.
			return Entry{}, r.fail("want one entry as JSON: %v", err)
		}
	}
	if err := r.check(e); err != nil {
		return Entry{}, err
	}
	r.lastSeq = e.Seq
	return e, nil
}

func (r *Reader) longLine(start []byte) ([]byte, error) {
	line := bytes.Clone(start)
	for len(line) <= maxLine {
		more, err := r.in.ReadSlice('\n')
		line = append(line, more...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, fmt.Errorf("longer than %d bytes", maxLine)
}

func (r *Reader) check(e Entry) error {
	switch {
	case e.Seq == 0:
		return r.fail("seq is missing or 0; it counts from 1")
	case e.Seq <= r.lastSeq:
		return r.fail("seq %d follows %d; it must grow", e.Seq, r.lastSeq)
	case !r.gaps && r.lastSeq != 0 && e.Seq != r.lastSeq+1:
		return r.fail("seq %d follows %d; entries are missing between them", e.Seq, r.lastSeq)
	case e.Method == "" || e.Kind == "":
		return r.fail("method or kind is missing")
	case effectIndex(e.Effect) == 0:
		return r.fail("effect %q: want created, replaced, deleted, none or rejected", e.Effect)
	}
	return nil
}

func (r *Reader) fail(format string, args ...any) error {
	return fmt.Errorf("ledger line %d: %s", r.line, fmt.Sprintf(format, args...))
}

// All yields every entry; an error ends the walk.
func (r *Reader) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// intern returns b as a string, the same one for equal bytes.
func (r *Reader) intern(b []byte) string {
	if s, ok := r.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	r.strings[s] = s
	return s
}

// parse reads a line in the form AppendJSON writes, many times quicker than
// encoding/json does; ok is false when the line is in any other form.
func (r *Reader) parse(line []byte) (e Entry, ok bool) {
	s := lineScanner{b: line, r: r}
	if !s.lit(`{"seq":`) {
		return e, false
	}
	e.Seq = s.uint()
	if s.lit(`,"instance":`) {
		e.Instance = int(s.int())
	}
	e.Method = s.text(`,"method":"`)
	e.Cluster = s.optional(`,"cluster":"`)
	e.Kind = s.text(`,"kind":"`)
	e.Namespace = s.optional(`,"namespace":"`)
	e.Name = s.text(`,"name":"`)
	e.UID = s.optional(`,"uid":"`)
	if s.lit(`,"resourceVersion":`) {
		e.ResourceVersion = s.uint()
	}
	e.Bytes = int(s.field(`,"bytes":`))
	e.Received = s.field(`,"received":`)
	e.Applied = s.field(`,"applied":`)
	e.Responded = s.field(`,"responded":`)
	e.Status = int(s.field(`,"status":`))
	e.Code = int(s.field(`,"code":`))
	e.Effect = s.text(`,"effect":"`)
	e.Fault = s.optional(`,"fault":"`)
	return e, s.lit("}\n") && !s.bad && len(s.b) == 0
}

type lineScanner struct {
	b   []byte
	r   *Reader
	bad bool
}

func (s *lineScanner) lit(want string) bool {
	if len(s.b) < len(want) || string(s.b[:len(want)]) != want {
		return false
	}
	s.b = s.b[len(want):]
	return true
}

func (s *lineScanner) must(want string) { s.bad = !s.lit(want) || s.bad }

func (s *lineScanner) uint() uint64 {
	var n uint64
	i := 0
	for ; i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9'; i++ {
		n = n*10 + uint64(s.b[i]-'0')
	}
	if i == 0 || i > 19 || i > 1 && s.b[0] == '0' {
		s.bad = true
	}
	s.b = s.b[i:]
	return n
}

func (s *lineScanner) int() int64 {
	if s.lit("-") {
		n := s.uint()
		s.bad = s.bad || n == 0 || n > 1<<62
		return -int64(n)
	}
	n := s.uint()
	s.bad = s.bad || n > 1<<62
	return int64(n)
}

func (s *lineScanner) field(key string) int64 {
	s.must(key)
	return s.int()
}

// text reads a string without escapes up to its quote.
func (s *lineScanner) text(key string) string {
	s.must(key)
	for i, c := range s.b {
		if c == '"' {
			v := s.b[:i]
			s.b = s.b[i+1:]
			return s.r.intern(v)
		}
		if c == '\\' || c < 0x20 || c >= 0x80 {
			break
		}
	}
	s.bad = true
	return ""
}

func (s *lineScanner) optional(key string) string {
	if len(s.b) < len(key) || string(s.b[:len(key)]) != key {
		return ""
	}
	return s.text(key)
}
