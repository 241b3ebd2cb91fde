package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Ops is the op log of a cell's folder, nil when there is none; with what a witness saw beside it, where there was one.
// Every walk opens the files anew; an error is a FormatError and ends the walk.
func Ops(dir string) (iter.Seq2[oplog.Record, error], error) {
	path, err := Find(dir, FileOps)
	if path == "" || err != nil {
		return nil, err
	}
	ops := judgeable(path, oplog.ReadFile(path))
	witness, err := Find(dir, FileWitness)
	if witness == "" || err != nil {
		return ops, err
	}
	return withWitnessed(ops, judgeable(witness, oplog.ReadFile(witness))), nil
}

func judgeable(path string, ops iter.Seq2[oplog.Record, error]) iter.Seq2[oplog.Record, error] {
	return walk(path, ops, func(n int, r *oplog.Record) error {
		if r.Kind == "" || r.Name == "" || r.Type == "" {
			return fmt.Errorf("record %d has no kind, no name or no type", n)
		}
		return nil
	})
}

// walk goes through a file until the first error, and says where that is. check looks at each record; nil: at none.
func walk[T any](path string, all iter.Seq2[T, error], check func(n int, r *T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var r T // one for all: check keeps none
		n := 0
		for next, err := range all {
			n, r = n+1, next
			if err == nil && check != nil {
				err = check(n, &r)
			}
			if err != nil {
				located := &FormatError{File: path, Err: err}
				var line *ndjson.LineError
				if errors.As(err, &line) {
					located.Line, located.Err = line.Line, line.Err
				}
				yield(r, located)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Ledger is the ledger of a cell's folder, nil when there is none; see Ops.
func Ledger(dir string) (iter.Seq2[ledger.Entry, error], error) {
	path, err := Find(dir, FileLedger)
	if path == "" || err != nil {
		return nil, err
	}
	return walk(path, func(yield func(ledger.Entry, error) bool) {
		r, err := ledger.Open(path)
		if err != nil {
			yield(ledger.Entry{}, err)
			return
		}
		defer func() { _ = r.Close() }() // only read from
		r.All()(yield)
	}, nil), nil
}

// State is FileState or FileFormer of a cell's folder, nil when there is none; see Ops.
func State(dir, name string) (iter.Seq2[StateRecord, error], error) {
	path, err := Find(dir, name)
	if path == "" || err != nil {
		return nil, err
	}
	return func(yield func(StateRecord, error) bool) {
		lines, err := ndjson.Open(path)
		if err != nil {
			yield(StateRecord{}, &FormatError{File: path, Err: err})
			return
		}
		readState(path, lines)(yield)
	}, nil
}

func readState(path string, lines *ndjson.Reader) iter.Seq2[StateRecord, error] {
	texts := jsonscan.NewInterner()
	var s StateRecord // one for all
	field := jsonscan.FieldsOf(&s)
	return eachLine(path, lines, func(b []byte) (StateRecord, error) {
		s = StateRecord{}
		err := jsonscan.Decode(b, texts, field)
		if err == nil {
			err = s.Validate()
		}
		return s, err
	})
}

// LoadLines reads a small NDJSON file of a cell's folder whole; a missing one is empty.
func LoadLines[T any](dir, name string) ([]T, error) {
	path := filepath.Join(dir, name)
	lines, err := ndjson.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &FormatError{File: path, Err: err}
	}
	read := func(b []byte) (v T, err error) {
		err = decode(b, &v)
		return v, err
	}
	var all []T
	for v, err := range eachLine(path, lines, read) {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// eachLine yields what read makes of every line that is not empty; the last one may lack its end. An error, of the file
// or of read, is a FormatError and ends the walk. The reader is closed.
func eachLine[T any](path string, lines *ndjson.Reader, read func([]byte) (T, error)) iter.Seq2[T, error] {
	return func(yield func(v T, err error) bool) {
		defer func() { _ = lines.Close() }() // only read from
		for {
			b, err := lines.Next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.Is(err, ndjson.ErrNoNewline):
				err = nil
			}
			if err == nil && len(b) == 0 {
				continue
			}
			var v T
			if err == nil {
				v, err = read(b)
			}
			if err != nil {
				err = &FormatError{File: path, Line: lines.Line(), Err: err}
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Find is the path of the file or of its uncompressed twin, empty when neither is there.
func Find(dir, name string) (string, error) {
	for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, strings.TrimSuffix(name, zstdSuffix))} {
		switch _, err := os.Stat(path); {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", &FormatError{File: path, Err: err}
		}
	}
	return "", nil
}

// FormatError says where recorded evidence is unusable. It is an input error, not a verdict.
type FormatError struct {
	File string
	Line int // from 1; 0 when the file as a whole is meant
	Err  error
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap is the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// inFile is an error of a file as a whole; nil for none.
func inFile(path string, err error) error {
	if err == nil {
		return nil
	}
	return &FormatError{File: path, Err: err}
}

// FileReaders is the record of a cell's readers; see package loadgen/readers.
const FileReaders = "readers.ndjson.zst"

// Readers is the record of a cell's readers, which can be read several times.
func Readers(dir string) iter.Seq2[readers.Record, error] {
	path := filepath.Join(dir, FileReaders)
	return walk(path, readers.ReadFile(path), nil)
}

// FileWitness is the record of a witness in a cell with controllers: records of the phase oplog.PhaseWitnessed, the
// load's own writes among them. See record.Witness.
const FileWitness = "witness.ndjson.zst"

// version is one state of an object, or with rv 0 its end.
type version struct {
	uid string
	rv  uint64
}

// withWitnessed adds to an op log the writes that only the witness knows, each where it received them. What the load
// wrote is left to its own record, which knows more of it.
func withWitnessed(ops, seen iter.Seq2[oplog.Record, error]) iter.Seq2[oplog.Record, error] {
	return func(yield func(oplog.Record, error) bool) {
		ours := map[version]bool{}
		for r, err := range ops {
			if err != nil {
				yield(r, err)
				return
			}
			if r.OK() {
				ours[versionOf(&r)] = true
			}
		}
		next, stop := iter.Pull2(seen)
		defer stop()
		w, err, more := next()
		// upTo yields what was witnessed until then, the load's own left out.
		upTo := func(until int64) bool {
			for more && (err != nil || w.Finished <= until) {
				if (err != nil || !ours[versionOf(&w)]) && !yield(w, err) || err != nil {
					return false
				}
				w, err, more = next()
			}
			return true
		}
		for r, err := range ops {
			if !upTo(r.Finished) || !yield(r, err) || err != nil {
				return
			}
		}
		upTo(endOfTime)
	}
}

const endOfTime = 1<<63 - 1

func versionOf(r *oplog.Record) version {
	if r.Type == oplog.TypeDelete {
		return version{uid: r.UID}
	}
	return version{r.UID, r.ResourceVersion}
}
