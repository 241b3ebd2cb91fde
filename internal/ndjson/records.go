package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// ErrTruncated reports a file that ends before a checkpoint: its writer was killed, or the file was cut.
var ErrTruncated = errors.New("the file is truncated")

// LineError is a defect of a file of Records. Line counts from 1 in the uncompressed text.
type LineError struct {
	What string
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s, line %d: %v", e.What, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

var checkpointPrefix = []byte(`{"checkpoint":`)

// Records is the format of flat records: one JSON object a line, and checkpoints that count the records before them.
func Records[R any](what string) Format[R] {
	return Format[R]{
		What: what,
		Line: func(b []byte, r *R) []byte {
			line, _ := json.Marshal(r) // numbers, booleans and strings always encode
			return append(append(b, line...), '\n')
		},
		Seal: func(records int64) string { return fmt.Sprintf("%s%d}", checkpointPrefix, records) },
	}
}

// ReadFile yields the records of the file at path, which may also be uncompressed, in the order in which they were
// appended. An error is the last thing yielded; a LineError that wraps ErrTruncated means a cut file, whose records so
// far are good; any other, a corrupt one. Unknown fields are refused.
func (f Format[R]) ReadFile(path string) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		lines, err := Open(path)
		if err != nil {
			var none R
			yield(none, fmt.Errorf("opening the %s: %w", f.What, err))
			return
		}
		for r, err := range f.Read(lines) {
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Read is ReadFile for lines, which it closes.
func (f Format[R]) Read(lines *Reader) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		defer func() { _ = lines.Close() }() // only read from
		p := parser[R]{lines: lines, texts: jsonscan.NewInterner()}
		p.members = jsonscan.FieldsOf(&p.record)
		for {
			err := p.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				var none R
				p.record, err = none, &LineError{What: f.What, Line: lines.Line(), Err: err}
			}
			if !yield(p.record, err) || err != nil {
				return
			}
		}
	}
}

type parser[R any] struct {
	lines      *Reader
	texts      *jsonscan.Interner
	members    func(key []byte) any
	record     R     // of the line under way
	sealed     bool  // it is a checkpoint
	checkpoint int64 // the number in it
	count      int64 // of records
}

// next reads the next record, or io.EOF at a proper end.
func (p *parser[R]) next() error {
	for {
		line, err := p.lines.Next()
		switch {
		case errors.Is(err, io.EOF) && p.sealed:
			return io.EOF
		case errors.Is(err, io.EOF) || errors.Is(err, ErrCut):
			return fmt.Errorf("%w after %d records: no checkpoint follows", ErrTruncated, p.count)
		case err != nil:
			return fmt.Errorf("decompressing: %w", err)
		}
		var none R
		p.record, p.sealed = none, false
		if err := jsonscan.Decode(line, p.texts, p.field); err != nil {
			if bytes.HasPrefix(line, checkpointPrefix) {
				return fmt.Errorf("not a checkpoint: %w", err)
			}
			return fmt.Errorf("not a record: %w", err)
		}
		if !p.sealed {
			p.count++
			return nil
		}
		if p.checkpoint != p.count || !reflect.ValueOf(&p.record).Elem().IsZero() {
			return fmt.Errorf("checkpoint counts %d records, %d were read: lines are missing or doubled", p.checkpoint, p.count)
		}
	}
}

func (p *parser[R]) field(key []byte) any {
	if string(key) == "checkpoint" {
		p.sealed = true
		return &p.checkpoint
	}
	return p.members(key)
}
