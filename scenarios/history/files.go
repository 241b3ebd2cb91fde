package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Files of a cell's folder.
const (
	FileCell    = "cell.json"
	FileOps     = "ops.ndjson.zst"
	FileLedger  = "ledger.ndjson.zst"
	FileState   = "state.ndjson.zst"
	FileFormer  = "former.ndjson.zst"
	FileMeta    = "history.json"
	FileSamples = "samples.ndjson"
	FileBefore  = "before.prom"
	FileAfter   = "after.prom"
	FileMarks   = "marks.ndjson"
	FileDeeds   = "deeds.ndjson"
	FileLeases  = "leases.ndjson" // where replicas elect
	// FileFindings has what the rules of a Go test found, which nothing else can compute.
	FileFindings = "findings.ndjson"
	// DirCaptured has what is searched for secrets, in cells that have any.
	DirCaptured = "captured"
)

const zstdSuffix = ".zst"

// SaveJSON writes v, indented, to the named file of a cell's or a run's folder, in one step that outlasts a crash of
// the machine.
func SaveJSON(dir, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return result.ReplaceDurably(filepath.Join(dir, name), writing(append(b, '\n')))
}

// SaveLines writes items to the named file of a cell's folder, one JSON object a line.
func SaveLines[T any](dir, name string, items []T) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range items {
		if err := enc.Encode(items[i]); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return Save(dir, name, b.Bytes())
}

// Save writes the named file of a cell's or a run's folder in one step: a program that is killed meanwhile leaves the
// former one.
func Save(dir, name string, data []byte) error {
	return result.Replace(filepath.Join(dir, name), writing(data))
}

func writing(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// LoadCell reads cell.json. Runs of former versions have none; the error is then a FormatError that wraps
// fs.ErrNotExist.
func LoadCell(dir string) (*Cell, error) {
	var c Cell
	return &c, loadSchema(dir, FileCell, CellSchema, &c, &c.Schema)
}

// LoadScrape reads FileBefore or FileAfter; nil when there is none, as for a watcher without metrics of ours.
func LoadScrape(dir, name string) (Scrape, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, inFile(path, err)
	}
	defer func() { _ = f.Close() }() // only read from
	s, err := ParseScrape(f)
	return s, inFile(path, err)
}

// LoadJSON reads one object from the named file of a cell's folder and refuses unknown fields. Any error is a
// FormatError.
func LoadJSON(dir, name string, into any) error {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		err = decode(b, into)
	}
	return inFile(path, err)
}

// decode reads one object and refuses unknown fields.
func decode(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err != nil && strings.HasPrefix(err.Error(), "json: unknown field ") {
		return fmt.Errorf("%w: it was recorded by another version of watchbench, which can read it", err)
	}
	if err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the object")
	}
	return nil
}
