package oplog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/ndjson"
)

// ErrTruncated means that the log ends before a checkpoint: the generator was
// killed, or the file was cut.
var ErrTruncated = errors.New("op log is truncated")

// LineError is a defect of the log. Line counts from 1 in the uncompressed text.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("op log, line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

var _ error = (*LineError)(nil)

// ReadFile yields the records of the log at path, which may also be uncompressed; see
// Read.
func ReadFile(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines, err := ndjson.Open(path)
		if err != nil {
			yield(Record{}, fmt.Errorf("opening the op log: %w", err))
			return
		}
		for r, err := range recordsOf(lines) {
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Read yields the records of a compressed log in the order in which they were
// appended, that is the order in which requests were answered. An error is the last
// thing yielded; errors.Is(err, ErrTruncated) distinguishes a cut log, whose records so
// far are good, from a corrupt one. Unknown fields are refused.
func Read(in io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines, err := ndjson.NewZstd(in, ndjson.MaxLine)
		if err != nil {
			yield(Record{}, err)
			return
		}
		recordsOf(lines)(yield)
	}
}

func recordsOf(lines *ndjson.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		defer func() { _ = lines.Close() }() // only read from
		p := parser{lines: lines, strings: jsonscan.NewInterner()}
		field := p.field
		for {
			err := p.next(field)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = &LineError{Line: lines.Line(), Err: err}
				p.record = Record{}
			}
			if !yield(p.record, err) || err != nil {
				return
			}
		}
	}
}

type parser struct {
	lines      *ndjson.Reader
	strings    *jsonscan.Interner
	record     Record // of the line under way
	sealed     bool   // it is a checkpoint
	checkpoint int64  // the number in it
	count      int64  // of records
}

// next reads the next record, or io.EOF at a proper end.
func (p *parser) next(field func([]byte) any) error {
	for {
		line, err := p.lines.Next()
		switch {
		case errors.Is(err, io.EOF) && p.sealed:
			return io.EOF
		case errors.Is(err, io.EOF) || errors.Is(err, ndjson.ErrCut):
			return fmt.Errorf("%w after %d records: no checkpoint follows", ErrTruncated, p.count)
		case err != nil:
			return fmt.Errorf("decompressing: %w", err)
		}
		p.record, p.sealed = Record{}, false
		if err := jsonscan.Decode(line, p.strings, field); err != nil {
			if bytes.HasPrefix(line, checkpointPrefix) {
				return fmt.Errorf("not a checkpoint: %w", err)
			}
			return fmt.Errorf("not a record: %w", err)
		}
		if !p.sealed {
			p.count++
			return nil
		}
		if p.checkpoint != p.count || p.record != (Record{}) {
			return fmt.Errorf("checkpoint counts %d records, %d were read: lines are missing or doubled", p.checkpoint, p.count)
		}
	}
}

var checkpointPrefix = []byte(`{"checkpoint":`)

// field is where a member's value belongs, nil for an unknown one.
func (p *parser) field(key []byte) any {
	r := &p.record
	switch string(key) {
	case "checkpoint":
		p.sealed = true
		return &p.checkpoint
	case "id":
		return &r.ID
	case "attempt":
		return &r.Attempt
	case "phase":
		return &r.Phase
	case "type":
		return &r.Type
	case "thread":
		return &r.Thread
	case "bystander":
		return &r.Bystander
	case "kind":
		return &r.Kind
	case "namespace":
		return &r.Namespace
	case "name":
		return &r.Name
	case "uid":
		return &r.UID
	case "resourceVersion":
		return &r.ResourceVersion
	case "deletedVersion":
		return &r.DeletedVersion
	case "intended":
		return &r.Intended
	case "started":
		return &r.Started
	case "finished":
		return &r.Finished
	case "status":
		return &r.Status
	case "error":
		return &r.Error
	}
	return nil
}
