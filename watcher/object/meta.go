package object

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// ErrNoName is the refusal of an object without metadata.name.
var ErrNoName = errors.New("object has no metadata.name")

// Meta is the result of one scan. Its strings share memory with the scanned bytes. Ranges cover the values, zero for an
// absent field or null. Of equal keys the last counts, as in encoding/json.
type Meta struct {
	APIVersion, Kind       string
	Namespace, Name, UID   string
	ResourceVersion        string
	Annotations            jsonscan.Range
	OwnerReferences        jsonscan.Range
	Metadata               jsonscan.Range
	Whole                  jsonscan.Range // the object itself, without white space around
	managedCut             jsonscan.Range // the member managedFields with one comma
	spaced                 bool           // white space between tokens
	odd                    bool           // metadata or managedFields stands twice
	hasAPIVersion, hasKind bool
}

// Version is ResourceVersion as a number, 0 if it is none.
func (m *Meta) Version() uint64 {
	v, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// Scan reads one object that fills raw.
func Scan(raw []byte) (Meta, error) {
	s := jsonscan.New(raw)
	var m Meta
	if err := m.scan(&s, raw); err != nil {
		return Meta{}, err
	}
	return m, s.End()
}

// ScanAt reads one object from s, a scanner over b, and leaves s behind it. It
// lets a stream's frame and the object within be read in one pass.
func ScanAt(s *jsonscan.Scanner, b []byte) (Meta, error) {
	var m Meta
	err := m.scan(s, b)
	return m, err
}

func (m *Meta) scan(s *jsonscan.Scanner, b []byte) error {
	if _, err := s.Peek(); err != nil {
		return err
	}
	m.Whole.Start = s.Pos()
	more, err := s.EnterObject()
	for ; more; more, err = s.NextMember() {
		key, err := s.Key()
		if err != nil {
			return err
		}
		switch {
		case key.Is(b, "metadata"):
			err = m.scanMetadata(s, b)
		case key.Is(b, "kind"):
			m.hasKind = true
			m.Kind, err = text(s, b)
		case key.Is(b, "apiVersion"):
			m.hasAPIVersion = true
			m.APIVersion, err = text(s, b)
		default:
			_, err = s.Value()
		}
		if err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	m.Whole.End = s.Pos()
	m.spaced = s.Spaced()
	return nil
}

func (m *Meta) scanMetadata(s *jsonscan.Scanner, b []byte) error {
	if m.Metadata.End > 0 { // metadata twice: the last wins, all of it
		*m = Meta{APIVersion: m.APIVersion, Kind: m.Kind, Whole: m.Whole, hasAPIVersion: m.hasAPIVersion, hasKind: m.hasKind,
			odd: true}
	}
	c, err := s.Peek()
	if err != nil {
		return err
	}
	m.Metadata.Start = s.Pos()
	if c != '{' {
		v, err := s.Value()
		m.Metadata = v
		return err
	}
	var cut member
	more, err := s.EnterObject()
	for more {
		cut.start = s.Pos()
		key, err := s.Key()
		if err != nil {
			return err
		}
		if err := m.scanField(s, b, key); err != nil {
			return err
		}
		cut.end = s.Pos()
		if more, err = s.NextMember(); err != nil {
			return err
		}
		if r := cut.passed(s.Pos(), more, key.Is(b, "managedFields")); !r.Empty() {
			m.odd = m.odd || !m.managedCut.Empty()
			m.managedCut = r
		}
	}
	m.Metadata.End = s.Pos()
	return err
}

func (m *Meta) scanField(s *jsonscan.Scanner, b []byte, key jsonscan.Str) (err error) {
	switch {
	case key.Is(b, "name"):
		m.Name, err = text(s, b)
	case key.Is(b, "namespace"):
		m.Namespace, err = text(s, b)
	case key.Is(b, "uid"):
		m.UID, err = text(s, b)
	case key.Is(b, "resourceVersion"):
		m.ResourceVersion, err = text(s, b)
	case key.Is(b, "annotations"):
		m.Annotations, err = notNull(s, b)
	case key.Is(b, "ownerReferences"):
		m.OwnerReferences, err = notNull(s, b)
	default:
		_, err = s.Value()
	}
	return err
}

// text consumes a value that should be a string; null is the empty string.
func text(s *jsonscan.Scanner, b []byte) (string, error) {
	c, err := s.Peek()
	if err != nil {
		return "", err
	}
	if c == '"' {
		str, err := s.String()
		if err != nil {
			return "", err
		}
		return str.Text(b), nil
	}
	at := s.Pos()
	v, err := s.Value()
	if err != nil {
		return "", err
	}
	if string(v.Of(b)) == "null" {
		return "", nil
	}
	return "", &jsonscan.SyntaxError{Offset: at, Msg: fmt.Sprintf("%q where a string belongs", c)}
}

func notNull(s *jsonscan.Scanner, b []byte) (jsonscan.Range, error) {
	v, err := s.Value()
	if err != nil || string(v.Of(b)) == "null" {
		return jsonscan.Range{}, err
	}
	return v, nil
}
