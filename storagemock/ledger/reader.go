package ledger

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/ndjson"
)

// Reader reads a ledger, plain or zstd, entry by entry. Equal names and uids mostly
// share one string. Use it from one goroutine and Close it.
type Reader struct {
	lines   *ndjson.Reader
	strings *jsonscan.Interner
	field   func(key []byte, v jsonscan.Value) error // parse, bound once
	entry   Entry                                    // of the line under way
	lastSeq uint64
	gaps    bool
}

// NewReader reads from in, which it does not close.
func NewReader(in io.Reader) (*Reader, error) { return newReader(ndjson.Sniff(in)) }

// Open reads the ledger of a file.
func Open(path string) (*Reader, error) { return newReader(ndjson.Open(path)) }

func newReader(lines *ndjson.Reader, err error) (*Reader, error) {
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	r := &Reader{lines: lines, strings: jsonscan.NewInterner()}
	r.field = r.parse
	return r, nil
}

// AllowGaps lets Seq skip numbers, as in an export of one key. Without it the
// entries must be gapless from the first one on.
func (r *Reader) AllowGaps() *Reader { r.gaps = true; return r }

// Close frees what the reader holds.
func (r *Reader) Close() error { return r.lines.Close() }

// Line is the number of the line read last, from 1.
func (r *Reader) Line() int { return r.lines.Line() }

// Next returns the next entry, or io.EOF after the last one. Any other error
// names the line, and is final. Unknown fields are refused.
func (r *Reader) Next() (Entry, error) {
	line, err := r.lines.Next()
	switch {
	case errors.Is(err, io.EOF):
		return Entry{}, io.EOF
	case err != nil:
		return Entry{}, r.fail("%w", err)
	}
	r.entry = Entry{}
	if err := jsonscan.Fields(line, r.field); err != nil {
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
	return fmt.Errorf("ledger line %d: %w", r.Line(), fmt.Errorf(format, args...))
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

func (r *Reader) parse(key []byte, v jsonscan.Value) (err error) {
	e := &r.entry
	switch string(key) {
	case "seq":
		e.Seq, err = v.Uint()
	case "instance":
		err = v.IntTo(&e.Instance)
	case "method":
		e.Method, err = v.Text(r.strings)
	case "cluster":
		e.Cluster, err = v.Text(r.strings)
	case "kind":
		e.Kind, err = v.Text(r.strings)
	case "namespace":
		e.Namespace, err = v.Text(r.strings)
	case "name":
		e.Name, err = v.Text(r.strings)
	case "uid":
		e.UID, err = v.Text(r.strings)
	case "resourceVersion":
		e.ResourceVersion, err = v.Uint()
	case "bytes":
		err = v.IntTo(&e.Bytes)
	case "received":
		e.Received, err = v.Int()
	case "applied":
		e.Applied, err = v.Int()
	case "responded":
		e.Responded, err = v.Int()
	case "status":
		err = v.IntTo(&e.Status)
	case "code":
		err = v.IntTo(&e.Code)
	case "effect":
		e.Effect, err = v.Text(r.strings)
	case "fault":
		e.Fault, err = v.Text(r.strings)
	default:
		err = errors.New("unknown field")
	}
	return err
}
