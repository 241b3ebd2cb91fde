package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

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
	Digest          string `json:"digest"` // see check.Digest
	// Content, of storage's side, is the digest without the resourceVersion: another apiserver has other versions of the
	// same states.
	Content string `json:"content,omitempty"`
	// Served, of a former state, is the digest of what the apiserver served at its version; empty where it no longer knew.
	Served string `json:"served,omitempty"`
	Bytes  int    `json:"bytes"` // of the object as read
	// Differs, of storage's side, says in which fields a version that the apiserver holds too is not as expected; given
	// for the first such objects only. See check.Fields.
	Differs string `json:"differs,omitempty"`
}

// Key names an object.
type Key struct{ Kind, Namespace, Name string }

// String is the key as people read it: kind, namespace if it has one, name.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + "/" + k.Name
	}
	return k.Kind + "/" + k.Namespace + "/" + k.Name
}

// Key is the record's name.
func (s *StateRecord) Key() Key { return Key{s.Kind, s.Namespace, s.Name} }

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

// SaveState writes FileState or FileFormer of a cell's folder, compressed.
func SaveState(dir, name string, records iter.Seq[StateRecord]) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return fmt.Errorf("creating the state file: %w", err)
	}
	if err = errors.Join(writeState(f, records), f.Close()); err != nil {
		err = fmt.Errorf("writing state: %w", err)
	}
	return err
}

func writeState(w io.Writer, records iter.Seq[StateRecord]) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compressing: %w", err)
	}
	buf := bufio.NewWriter(z)
	enc := json.NewEncoder(buf)
	for r := range records {
		if err = r.Validate(); err == nil {
			err = enc.Encode(r)
		}
		if err != nil {
			err = fmt.Errorf("record of %s: %w", r.Key(), err)
			break
		}
	}
	return errors.Join(err, buf.Flush(), z.Close())
}

// Difference names an object of which storage does not hold what the apiserver does; empty if there is none. Storage
// may have a Lease of a younger version: nodes renew theirs after the apiserver was read, too.
func Difference(apiserver, storage []StateRecord) string {
	have := make(map[Key]StateRecord, len(storage))
	for _, r := range storage {
		have[r.Key()] = r
	}
	for _, w := range apiserver {
		s, there := have[w.Key()]
		delete(have, w.Key())
		switch {
		case !there:
			return w.Key().String() + " is not in storage"
		case s.UID == w.UID && w.Kind == "Lease" && s.ResourceVersion > w.ResourceVersion:
		case s.UID != w.UID || s.Digest != w.Digest:
			return fmt.Sprintf("%s: storage holds uid %s version %d, the apiserver uid %s version %d, or another content",
				w.Key(), s.UID, s.ResourceVersion, w.UID, w.ResourceVersion)
		}
	}
	if len(have) == 0 {
		return ""
	}
	byName := func(a, b Key) int { return cmp.Compare(a.String(), b.String()) }
	left := slices.MinFunc(slices.Collect(maps.Keys(have)), byName)
	return left.String() + " is in storage, the apiserver serves no such object"
}
