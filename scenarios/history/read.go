package history

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// ReadOps reads an op log as NDJSON; name stands in errors. It is quicker than the
// op log's own reader, because judging reads millions of records. Unknown fields
// are skipped, so that a newer generator's log can be judged. A log that ends
// without a checkpoint gives an error that wraps oplog.ErrTruncated.
func ReadOps(name string, r io.Reader) iter.Seq2[oplog.Record, error] {
	return decodeAll(name, func(f func(int, []byte) error) error { return readLines(name, r, f) }, newOpDecoder)
}

// ReadState reads a state file as NDJSON; name stands in errors.
func ReadState(name string, r io.Reader) iter.Seq2[StateRecord, error] {
	return decodeAll(name, func(f func(int, []byte) error) error { return readLines(name, r, f) }, newStateDecoder)
}

// decoder turns lines into values. A line may hold none; end is asked whether the
// file may end here.
type decoder[T any] struct {
	line func(b []byte) (v T, ok bool, err error)
	end  func() error
}

// decodeAll turns lines into a sequence of values that ends after an error.
func decodeAll[T any](name string, lines func(func(int, []byte) error) error, begin func() decoder[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		d := begin()
		stopped := false
		last := 0
		err := lines(func(n int, b []byte) error {
			last = n
			v, ok, err := d.line(b)
			if err != nil || !ok {
				return err
			}
			if stopped = !yield(v, nil); stopped {
				return errStop
			}
			return nil
		})
		if err == nil && !stopped {
			if err = d.end(); err != nil {
				err = &FormatError{File: name, Line: last, Err: err}
			}
		}
		if err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

// newOpDecoder also checks the op log's checkpoints: lines that count the
// records before them, the last line being one.
func newOpDecoder() decoder[oplog.Record] {
	in := newInterner()
	var (
		r          oplog.Record
		records    int64
		checkpoint = int64(-1) // of the line just read; -1 when it is a record
	)
	field := func(key []byte, v scalar) (err error) {
		switch string(key) {
		case "checkpoint":
			checkpoint, err = v.int()
		case "id":
			r.ID, err = v.int()
		case "attempt":
			r.Attempt, err = narrow(v)
		case "phase":
			r.Phase, err = v.str(in)
		case "type":
			r.Type, err = v.str(in)
		case "thread":
			r.Thread, err = narrow(v)
		case "bystander":
			r.Bystander, err = v.bool()
		case "kind":
			r.Kind, err = v.str(in)
		case "namespace":
			r.Namespace, err = v.str(in)
		case "name":
			r.Name, err = v.str(in)
		case "uid":
			r.UID, err = v.str(in)
		case "resourceVersion":
			r.ResourceVersion, err = v.uint()
		case "deletedVersion":
			r.DeletedVersion, err = v.uint()
		case "intended":
			r.Intended, err = v.int()
		case "started":
			r.Started, err = v.int()
		case "finished":
			r.Finished, err = v.int()
		case "status":
			r.Status, err = narrow(v)
		case "error":
			r.Error, err = v.str(in)
		}
		return err
	}
	line := func(b []byte) (oplog.Record, bool, error) {
		r, checkpoint = oplog.Record{}, -1
		if err := scanFlat(b, field); err != nil {
			return r, false, err
		}
		switch {
		case checkpoint == records:
			return r, false, nil
		case checkpoint >= 0:
			return r, false, fmt.Errorf("the checkpoint counts %d records, %d were read: lines are missing or doubled", checkpoint, records)
		case r.Kind == "" || r.Name == "":
			return r, false, errors.New("no kind or no name")
		case r.Type == "":
			return r, false, errors.New("no type: want create, patch, delete, …")
		}
		records++
		return r, true, nil
	}
	end := func() error {
		if checkpoint != records {
			return fmt.Errorf("%w after %d records: no checkpoint follows", oplog.ErrTruncated, records)
		}
		return nil
	}
	return decoder[oplog.Record]{line: line, end: end}
}

func newStateDecoder() decoder[StateRecord] {
	in := newInterner()
	var s StateRecord
	field := func(key []byte, v scalar) (err error) {
		switch string(key) {
		case "side":
			var side string
			side, err = v.str(in)
			s.Side = Side(side)
		case "kind":
			s.Kind, err = v.str(in)
		case "namespace":
			s.Namespace, err = v.str(in)
		case "name":
			s.Name, err = v.str(in)
		case "uid":
			s.UID, err = v.str(in)
		case "resourceVersion":
			s.ResourceVersion, err = v.uint()
		case "digest":
			s.Digest, err = v.str(in)
		case "bytes":
			s.Bytes, err = narrow(v)
		}
		return err
	}
	line := func(b []byte) (StateRecord, bool, error) {
		s = StateRecord{}
		if err := scanFlat(b, field); err != nil {
			return s, false, err
		}
		return s, true, s.Validate()
	}
	return decoder[StateRecord]{line: line, end: func() error { return nil }}
}

// narrow reads an int of the platform's size; the formats' ints fit 32 bits.
func narrow(v scalar) (int, error) {
	n, err := v.int()
	if err == nil && (n > 1<<31-1 || n < -1<<31) {
		err = errWantNumber
	}
	return int(n), err
}
