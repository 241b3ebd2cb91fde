package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// Side says whose state a record shows.
type Side string

// The two sides compared by G1.
const (
	SideApiserver Side = "apiserver"
	SideStorage   Side = "storage"
)

// StateRecord is one object as one side holds it in the end.
type StateRecord struct {
	Side            Side   `json:"side"`
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	UID             string `json:"uid,omitempty"`
	ResourceVersion uint64 `json:"resourceVersion,omitempty"`
	Digest          string `json:"digest"` // see Digest
	Bytes           int    `json:"bytes"`  // of the object as read
}

// Validate reports what is missing in a record.
func (s *StateRecord) Validate() error {
	switch {
	case s.Side != SideApiserver && s.Side != SideStorage:
		return fmt.Errorf("side %q: want %s or %s", s.Side, SideApiserver, SideStorage)
	case s.Kind == "" || s.Name == "":
		return errors.New("no kind or no name")
	case s.Digest == "":
		return errors.New("no digest")
	}
	return nil
}

// StateWriter writes state records as zstd-compressed NDJSON.
type StateWriter struct {
	z   *zstd.Encoder
	buf *bufio.Writer
	enc *json.Encoder
	f   io.Closer // nil when the caller owns the destination
}

// NewStateWriter writes to w, which the caller closes after Close.
func NewStateWriter(w io.Writer) (*StateWriter, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("compressing state: %w", err)
	}
	buf := bufio.NewWriter(z)
	return &StateWriter{z: z, buf: buf, enc: json.NewEncoder(buf)}, nil
}

// CreateState creates the state file of a cell's folder.
func CreateState(dir string) (*StateWriter, error) {
	f, err := os.Create(filepath.Join(dir, FileState))
	if err != nil {
		return nil, fmt.Errorf("creating the state file: %w", err)
	}
	w, err := NewStateWriter(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w.f = f
	return w, nil
}

// Write appends one record.
func (w *StateWriter) Write(r StateRecord) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("state record of %s: %w", KeyText(r.Kind, r.Namespace, r.Name), err)
	}
	return w.enc.Encode(r)
}

// Close completes the file.
func (w *StateWriter) Close() error {
	err := errors.Join(w.buf.Flush(), w.z.Close())
	if w.f != nil {
		err = errors.Join(err, w.f.Close())
	}
	if err != nil {
		return fmt.Errorf("writing state: %w", err)
	}
	return nil
}

// KeyText is how an object's key is written for people: kind, namespace if it has
// one, name.
func KeyText(kind, namespace, name string) string {
	if namespace == "" {
		return kind + "/" + name
	}
	return kind + "/" + namespace + "/" + name
}
