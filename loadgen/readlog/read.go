package readlog

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/ndjson"
)

// ErrTruncated means that the record lacks its last line, which counts the others, or has
// another number of them: the readers were killed, or the file was cut.
var ErrTruncated = errors.New("the readers' record is truncated")

// ReadFile yields the records of the file at path, compressed or not, in the order in
// which they were appended. An error is the last thing yielded.
func ReadFile(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines, err := ndjson.Open(path)
		if err != nil {
			yield(Record{}, fmt.Errorf("open the readers' record: %w", err))
			return
		}
		read(lines, yield)
	}
}

// Read is ReadFile for a compressed record.
func Read(in io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines, err := ndjson.NewZstd(in)
		if err != nil {
			yield(Record{}, err)
			return
		}
		read(lines, yield)
	}
}

func read(lines *ndjson.Reader, yield func(Record, error) bool) {
	defer func() { _ = lines.Close() }() // only read from
	var (
		r       Record
		records int64
		sealed  bool
		texts   = jsonscan.NewInterner()
		n       int64
	)
	field := func(key []byte) any {
		if string(key) == "records" {
			sealed = true
			return &records
		}
		return r.field(key)
	}
	fail := func(err error) { yield(Record{}, fmt.Errorf("readers' record, line %d: %w", lines.Line(), err)) }
	for ; ; n++ {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, ndjson.ErrCut):
			fail(fmt.Errorf("%w after %d records", ErrTruncated, n))
			return
		case err != nil:
			fail(err)
			return
		}
		r = Record{}
		if err := jsonscan.Decode(line, texts, field); err != nil {
			fail(fmt.Errorf("not a record: %w", err))
			return
		}
		if sealed {
			break
		}
		if r.What == "" {
			fail(errors.New("a record that does not say what it is of"))
			return
		}
		if !yield(r, nil) {
			return
		}
	}
	if r != (Record{What: end}) || records != n {
		fail(fmt.Errorf("%w: its last line counts %d records, %d were read", ErrTruncated, records, n))
		return
	}
	if _, err := lines.Next(); !errors.Is(err, io.EOF) {
		fail(errors.New("text after the last line"))
	}
}
