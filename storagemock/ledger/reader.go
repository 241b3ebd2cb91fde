package ledger

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/ndjson"
)

// Reader reads a ledger, plain or zstd, entry by entry. Equal names and uids mostly share one string. Use it from one
// goroutine and Close it.
type Reader struct {
	lines   *ndjson.Reader
	strings *jsonscan.Interner
	field   func(key []byte) any // of the entry
	entry   Entry                // of the line under way
	lastSeq uint64
}

// Open reads the ledger of a file.
func Open(path string) (*Reader, error) {
	lines, err := ndjson.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	r := &Reader{lines: lines, strings: jsonscan.NewInterner()}
	r.field = jsonscan.FieldsOf(&r.entry)
	return r, nil
}

// Close frees what the reader holds.
func (r *Reader) Close() error { return r.lines.Close() }

// next returns the next entry. An error, which is io.EOF after the last one, names the line, and is final. Unknown
// fields are refused.
func (r *Reader) next() (Entry, error) {
	line, err := r.lines.Next()
	if err != nil {
		return Entry{}, r.fail("%w", err)
	}
	r.entry = Entry{}
	if err := jsonscan.Decode(line, r.strings, r.field); err != nil {
		return Entry{}, r.fail("want one entry as JSON: %w", err)
	}
	if err := r.check(&r.entry); err != nil {
		return Entry{}, err
	}
	r.lastSeq = r.entry.Seq
	return r.entry, nil
}

func (r *Reader) check(e *Entry) error {
	switch {
	case e.Seq == 0:
		return r.fail("seq is missing or 0; it counts from 1")
	case e.Seq <= r.lastSeq:
		return r.fail("seq %d follows %d; it must grow", e.Seq, r.lastSeq)
	case r.lastSeq != 0 && e.Seq != r.lastSeq+1:
		return r.fail("seq %d follows %d; entries are missing between them", e.Seq, r.lastSeq)
	case e.Method == "" || e.Kind == "":
		return r.fail("method or kind is missing")
	case effectIndex(e.Effect) == 0:
		return r.fail("effect %q: want created, replaced, deleted, none or rejected", e.Effect)
	}
	return nil
}

func (r *Reader) fail(format string, args ...any) error {
	return fmt.Errorf("ledger line %d: %w", r.lines.Line(), fmt.Errorf(format, args...))
}

// All yields every entry; an error ends the walk.
func (r *Reader) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			e, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
