package check

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// ReadOps reads an op log as NDJSON; name stands in errors. Unknown fields are
// skipped, so that a newer generator's log can be judged.
func ReadOps(name string, r io.Reader) iter.Seq2[oplog.Record, error] {
	return decodeAll(func(f func(int, []byte) error) error { return readLines(name, r, f) }, newOpDecoder)
}

// ReadLedger reads a ledger as NDJSON; name stands in errors.
func ReadLedger(name string, r io.Reader) iter.Seq2[ledger.Entry, error] {
	return decodeAll(func(f func(int, []byte) error) error { return readLines(name, r, f) }, newLedgerDecoder)
}

// ReadState reads a state file as NDJSON; name stands in errors.
func ReadState(name string, r io.Reader) iter.Seq2[StateRecord, error] {
	return decodeAll(func(f func(int, []byte) error) error { return readLines(name, r, f) }, newStateDecoder)
}

// decodeAll turns lines into a sequence of values that ends after an error.
func decodeAll[T any](lines func(func(int, []byte) error) error, decoder func() func([]byte) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		decode := decoder()
		err := lines(func(_ int, b []byte) error {
			v, err := decode(b)
			if err != nil {
				return err
			}
			if !yield(v, nil) {
				return errStop
			}
			return nil
		})
		if err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

func newLedgerDecoder() func([]byte) (ledger.Entry, error) {
	in := newInterner()
	var e ledger.Entry
	field := func(key []byte, v scalar) (err error) {
		switch string(key) {
		case "seq":
			e.Seq, err = v.uint()
		case "instance":
			e.Instance, err = narrow(v)
		case "method":
			e.Method, err = v.str(in)
		case "kind":
			e.Kind, err = v.str(in)
		case "namespace":
			e.Namespace, err = v.str(in)
		case "name":
			e.Name, err = v.str(in)
		case "uid":
			e.UID, err = v.str(in)
		case "resourceVersion":
			e.ResourceVersion, err = v.uint()
		case "bytes":
			e.Bytes, err = narrow(v)
		case "received":
			e.Received, err = v.int()
		case "applied":
			e.Applied, err = v.int()
		case "responded":
			e.Responded, err = v.int()
		case "status":
			e.Status, err = narrow(v)
		case "code":
			e.Code, err = narrow(v)
		case "effect":
			e.Effect, err = v.str(in)
		case "fault":
			e.Fault, err = v.str(in)
		}
		return err
	}
	return func(line []byte) (ledger.Entry, error) {
		e = ledger.Entry{}
		if err := scanFlat(line, field); err != nil {
			return e, err
		}
		return e, validEntry(&e)
	}
}

func validEntry(e *ledger.Entry) error {
	switch {
	case e.Seq == 0:
		return errors.New("no seq: entries are numbered from 1")
	case e.Method != "PUT" && e.Method != "DELETE":
		return fmt.Errorf("method %q: want PUT or DELETE", e.Method)
	case e.Kind == "" || e.Name == "":
		return errors.New("no kind or no name")
	}
	switch e.Effect {
	case ledger.EffectCreated, ledger.EffectReplaced, ledger.EffectDeleted, ledger.EffectNone, ledger.EffectRejected:
		return nil
	}
	return fmt.Errorf("effect %q: want created, replaced, deleted, none or rejected", e.Effect)
}

func newOpDecoder() func([]byte) (oplog.Record, error) {
	in := newInterner()
	var r oplog.Record
	field := func(key []byte, v scalar) (err error) {
		switch string(key) {
		case "id":
			r.ID, err = v.int()
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
	return func(line []byte) (oplog.Record, error) {
		r = oplog.Record{}
		if err := scanFlat(line, field); err != nil {
			return r, err
		}
		switch {
		case r.Kind == "" || r.Name == "":
			return r, errors.New("no kind or no name")
		case r.Type == "":
			return r, errors.New("no type: want create, patch, delete, …")
		}
		return r, nil
	}
}

func newStateDecoder() func([]byte) (StateRecord, error) {
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
	return func(line []byte) (StateRecord, error) {
		s = StateRecord{}
		if err := scanFlat(line, field); err != nil {
			return s, err
		}
		return s, s.validate()
	}
}

// narrow reads an int of the platform's size; the formats' ints fit 32 bits.
func narrow(v scalar) (int, error) {
	n, err := v.int()
	if err == nil && (n > 1<<31-1 || n < -1<<31) {
		err = errWantNumber
	}
	return int(n), err
}
