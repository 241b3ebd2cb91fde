package object

import (
	"strconv"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Owner is one entry of metadata.ownerReferences.
type Owner struct {
	APIVersion, Kind, Name, UID string
	Controller                  bool
}

// Owners returns the owner references of raw in their order. The strings share
// memory with raw.
func Owners(raw []byte) ([]Owner, error) {
	m, err := Scan(raw)
	if err != nil || m.OwnerReferences.Empty() {
		return nil, err
	}
	s := jsonscan.At(raw, m.OwnerReferences.Start)
	var owners []Owner
	more, err := s.EnterArray()
	for ; more && err == nil; more, err = s.NextElement() {
		var o Owner
		if err := o.scan(&s, raw); err != nil {
			return nil, err
		}
		owners = append(owners, o)
	}
	return owners, err
}

func (o *Owner) scan(s *jsonscan.Scanner, b []byte) error {
	more, err := s.EnterObject()
	for ; more && err == nil; more, err = s.NextMember() {
		key, err := s.Key()
		if err != nil {
			return err
		}
		switch {
		case key.Is(b, "apiVersion"):
			o.APIVersion, err = text(s, b)
		case key.Is(b, "kind"):
			o.Kind, err = text(s, b)
		case key.Is(b, "name"):
			o.Name, err = text(s, b)
		case key.Is(b, "uid"):
			o.UID, err = text(s, b)
		case key.Is(b, "controller"):
			var v jsonscan.Range
			v, err = s.Value()
			o.Controller = err == nil && string(v.Of(b)) == "true"
		default:
			_, err = s.Value()
		}
		if err != nil {
			return err
		}
	}
	return err
}

// ControllerOf is the owner that manages the object: the one marked controller,
// else the first. ok is false without owners.
func ControllerOf(raw []byte) (owner Owner, ok bool, err error) {
	owners, err := Owners(raw)
	if err != nil || len(owners) == 0 {
		return Owner{}, false, err
	}
	for _, o := range owners {
		if o.Controller {
			return o, true, nil
		}
	}
	return owners[0], true, nil
}

// Find returns the value at path, keys of objects and decimal indexes of arrays,
// as it stands in raw. It shares memory with raw.
func Find(raw []byte, path ...string) (value []byte, found bool, err error) {
	s := jsonscan.New(raw)
	if _, err := s.Peek(); err != nil {
		return nil, false, err
	}
	at := jsonscan.Range{Start: s.Pos(), End: len(raw)}
	if len(path) == 0 {
		at, err = s.Value()
		return at.Of(raw), err == nil, err
	}
	for _, segment := range path {
		switch raw[at.Start] {
		case '{':
			at, found, err = lastMember(raw, at, segment)
		case '[':
			at, found, err = element(raw, at, segment)
		default:
			return nil, false, nil
		}
		if err != nil || !found {
			return nil, false, err
		}
	}
	return at.Of(raw), true, nil
}

func element(b []byte, r jsonscan.Range, segment string) (value jsonscan.Range, found bool, err error) {
	want, err := strconv.Atoi(segment)
	if err != nil || !isIndex(segment) {
		return value, false, nil
	}
	s := jsonscan.At(b, r.Start)
	more, err := s.EnterArray()
	for i := 0; more && err == nil; i++ {
		v, err := s.Value()
		if err != nil {
			return value, false, err
		}
		if i == want {
			return v, true, nil
		}
		if more, err = s.NextElement(); err != nil {
			return value, false, err
		}
	}
	return value, false, err
}

// FindText is Find for a string, decoded. Anything but a string is not found.
func FindText(raw []byte, path ...string) (text string, found bool, err error) {
	v, found, err := Find(raw, path...)
	if err != nil || !found || v[0] != '"' {
		return "", false, err
	}
	s := jsonscan.New(v)
	str, err := s.String()
	return str.Text(v), err == nil, err
}
