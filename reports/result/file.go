package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/watchbench/watchbench/internal/userfile"
)

// FileName is the name of the record inside a run's folder.
const FileName = "results.json"

// maxFileBytes bounds what a reader takes into memory. A cell with ten curves of
// an hour at one sample a second is about 1 MB.
const maxFileBytes = 256 << 20

// ErrSchema is wrapped by the error for a file of another format or version.
var ErrSchema = errors.New("another format, or another version of it")

// LoadFile reads a run's record: path names the file or the run's folder.
func LoadFile(path string) (*Results, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open results: %w", err)
	}
	defer f.Close()
	return Decode(f, path)
}

// Decode reads one record: the schema name must match and the content must satisfy Validate. Fields that this version
// does not have are skipped, so that it reads the files of earlier ones. Errors name the place, within name.
func Decode(r io.Reader, name string) (*Results, error) {
	res, err := decode[Results](r, name, Schema)
	if err != nil {
		return nil, err
	}
	if err := res.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if res.Contests == nil { // written before they were added
		res.Decide()
	}
	return res, nil
}

// load reads a file of a format that names its schema.
func load[T any](path, schema string) (*T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decode[T](f, path, schema)
}

func decode[T any](r io.Reader, name, want string) (*T, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read: %w", name, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxFileBytes>>20)
	}
	if data, err = userfile.Text(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// The schema is looked at before the fields, so that a file of another version says so and does not complain about
	// some field.
	var named struct {
		Schema *any `json:"schema"`
	}
	if err := json.Unmarshal(data, &named); err != nil {
		return nil, fmt.Errorf("%s: %w", name, place(data, err))
	}
	switch {
	case named.Schema == nil:
		return nil, fmt.Errorf("%s: field %q is missing: %w", name, "schema", ErrSchema)
	case *named.Schema != want:
		return nil, fmt.Errorf("%s: schema is %q, not %s: %w", name, *named.Schema, want, ErrSchema)
	}
	var document T
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", name, place(data, err))
	}
	return &document, nil
}

// Save writes the record to path in one step that outlasts a crash of the machine.
func Save(path string, res *Results) error {
	return ReplaceDurably(path, func(w io.Writer) error { return Encode(w, res) })
}

// Replace writes a file in one step: a reader sees the old file or the whole new one.
func Replace(path string, write func(io.Writer) error) error {
	return replace(path, write, func(*os.File) error { return nil })
}

// ReplaceDurably does the same, and survives a crash of the machine.
func ReplaceDurably(path string, write func(io.Writer) error) error {
	return replace(path, write, (*os.File).Sync)
}

func replace(path string, write func(io.Writer) error, settle func(*os.File) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // no effect once renamed
	_, err = tmp.Write(buf.Bytes())
	if err = errors.Join(err, tmp.Chmod(0o644), settle(tmp), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Encode writes the record as indented JSON with one line per list of numbers. It
// refuses what Validate refuses, and NaN and infinities.
func Encode(w io.Writer, res *Results) error {
	if err := res.Validate(); err != nil {
		return err
	}
	data, err := indented(filled(*res))
	if err != nil {
		return err
	}
	data = numberList.ReplaceAllFunc(data, func(list []byte) []byte {
		return bytes.Join(bytes.Fields(list), nil)
	})
	_, err = w.Write(data)
	return err
}

// numberList matches an indented list of numbers. It needs a raw line break, which
// JSON never has inside a string, so text is left alone.
var numberList = regexp.MustCompile(`\[\n[-+.,0-9eE\s]+\]`)

// filled replaces nil lists and maps that the format requires by empty ones, in a copy.
func filled(res Results) Results {
	if res.Scenario == nil {
		res.Scenario = map[string]any{}
	}
	if res.Run.Order == nil {
		res.Run.Order = []string{}
	}
	res.Cells = append([]Cell{}, res.Cells...)
	for i := range res.Cells {
		c := &res.Cells[i]
		if c.Params == nil {
			c.Params = map[string]string{}
		}
		if c.Checks == nil {
			c.Checks = map[string]Check{}
		}
		if c.Parties == nil {
			c.Parties = map[string]Party{}
		}
	}
	return res
}

// place turns an offset of encoding/json into a line and a column.
func place(data []byte, err error) error {
	var offset int64
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mismatch):
		offset = mismatch.Offset
	default:
		return err
	}
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// EncodeJSON writes a document as indented JSON with a line break at its end. Nothing is written on an error, such as a
// number that JSON cannot carry.
func EncodeJSON(w io.Writer, document any) error {
	data, err := indented(document)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func indented(document any) ([]byte, error) {
	data, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", document, err)
	}
	return append(data, '\n'), nil
}
