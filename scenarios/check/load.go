package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Files of a cell's folder.
const (
	FileOps     = "ops.ndjson.zst"
	FileLedger  = "ledger.ndjson.zst"
	FileState   = "state.ndjson.zst"
	FileMeta    = "history.json"
	FileMarks   = "marks.ndjson"
	FileSamples = "samples.ndjson"
)

const zstdSuffix = ".zst"

// Load opens the history in a cell's folder. history.json and the ledger must be
// there; without op log, state, marks or samples the checks that need them are
// not judged. The big files are read by Judge, not here.
func Load(dir string) (*History, error) {
	h := &History{Dir: dir}
	if err := loadMeta(filepath.Join(dir, FileMeta), &h.Meta); err != nil {
		return nil, err
	}
	led, err := find(dir, FileLedger)
	if err != nil {
		return nil, err
	}
	if led == nil {
		return nil, &FormatError{File: filepath.Join(dir, FileLedger), Err: errors.New("no ledger in this folder: is it the folder of one cell?")}
	}
	h.Ledger = ledgerFile(led.path)
	ops, err := find(dir, FileOps)
	if err != nil {
		return nil, err
	}
	if ops != nil {
		h.Ops = sequence(*ops, newOpDecoder)
	}
	state, err := find(dir, FileState)
	if err != nil {
		return nil, err
	}
	if state != nil {
		h.State = sequence(*state, newStateDecoder)
	}
	if h.Marks, err = loadLines[Mark](filepath.Join(dir, FileMarks)); err != nil {
		return nil, err
	}
	if h.Samples, err = loadLines[Sample](filepath.Join(dir, FileSamples)); err != nil {
		return nil, err
	}
	return h, nil
}

// SaveMeta writes history.json.
func SaveMeta(dir string, m Meta) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, FileMeta), append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", FileMeta, err)
	}
	return nil
}

// SaveMarks writes marks.ndjson.
func SaveMarks(dir string, marks []Mark) error { return saveLines(dir, FileMarks, marks) }

// SaveSamples writes samples.ndjson.
func SaveSamples(dir string, samples []Sample) error { return saveLines(dir, FileSamples, samples) }

func saveLines[T any](dir, file string, items []T) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range items {
		if err := enc.Encode(items[i]); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, file), b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

func loadMeta(path string, m *Meta) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return &FormatError{File: path, Err: err}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return &FormatError{File: path, Err: err}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &FormatError{File: path, Err: errors.New("text after the object")}
	}
	if err := m.Validate(); err != nil {
		return &FormatError{File: path, Err: err}
	}
	return nil
}

// Validate reports what the judge could not work with.
func (m *Meta) Validate() error {
	switch m.Mode {
	case "", ModeFaithful, ModeConditional:
	default:
		return fmt.Errorf("mode %q: want %s or %s", m.Mode, ModeFaithful, ModeConditional)
	}
	for i, mask := range m.Rules.Masks {
		if mask.Kind == "" || len(mask.Path) == 0 {
			return fmt.Errorf("rules.masks[%d]: want a kind and a path", i)
		}
	}
	return nil
}

// loadLines reads a small NDJSON file whole; a missing one is empty.
func loadLines[T any](path string) ([]T, error) {
	var all []T
	err := source{path: path}.read(func(_ int, b []byte) error {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		all = append(all, v)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// find is the file or its uncompressed twin, nil when neither is there.
func find(dir, name string) (*source, error) {
	for _, s := range []source{
		{path: filepath.Join(dir, name), zstd: true},
		{path: filepath.Join(dir, name[:len(name)-len(zstdSuffix)])},
	} {
		switch _, err := os.Stat(s.path); {
		case err == nil:
			return &s, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, &FormatError{File: s.path, Err: err}
		}
	}
	return nil, nil
}

func sequence[T any](s source, begin func() decoder[T]) iter.Seq2[T, error] {
	return decodeAll(s.path, s.read, begin)
}

// ledgerFile opens the ledger anew for each walk.
func ledgerFile(path string) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		r, err := ledger.Open(path)
		if err != nil {
			yield(ledger.Entry{}, &FormatError{File: path, Err: err})
			return
		}
		defer func() { _ = r.Close() }() // only read from
		for e, err := range r.All() {
			if err != nil {
				err = &FormatError{File: path, Err: err}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
