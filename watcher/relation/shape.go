package relation

import (
	"strings"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// field is a part of a reference.
type field uint8

const (
	fieldAPIVersion field = iota + 1
	fieldKind
	fieldNamespace
	fieldName
	fieldUID
	fieldPresent // any value but null
	ownNamespace // of the object itself
	ownName
)

// found is a reference as written in an object. Its strings share memory with the
// object's JSON.
type found struct {
	apiVersion, kind, namespace, name, uid string
	present                                bool
	place                                  *place
}

func (f *found) set(to field, text string) {
	switch to {
	case fieldAPIVersion:
		f.apiVersion = text
	case fieldKind:
		f.kind = text
	case fieldNamespace:
		f.namespace = text
	case fieldName:
		f.name = text
	case fieldUID:
		f.uid = text
	}
}

// place says where objects hold references: the keys that lead there, * for each element
// of an array, and which members of the value are what. The empty key is the value itself.
type place struct {
	path   string
	fields map[string]field
	// generated is set where the reference is to what the object's controller makes of its own
	// name and the one here.
	generated bool
}

// byName is a place of an object whose member key is the name.
func byName(path, key string) *place {
	return &place{path: path, fields: map[string]field{key: fieldName}}
}

// shape is the places that one reader wants, as a tree.
type shape struct {
	members map[string]*shape
	element *shape
	field   field
	place   *place // begins a reference here
}

func shapeOf(places ...*place) *shape {
	root := &shape{}
	root.at("metadata namespace").field = ownNamespace
	root.at("metadata name").field = ownName
	for _, p := range places {
		here := root.at(p.path)
		here.place = p
		for key, f := range p.fields {
			here.at(key).field = f
		}
	}
	return root
}

func (sh *shape) at(path string) *shape {
	for key := range strings.FieldsSeq(path) {
		if key == "*" {
			if sh.element == nil {
				sh.element = &shape{}
			}
			sh = sh.element
			continue
		}
		if sh.members == nil {
			sh.members = map[string]*shape{}
		}
		if sh.members[key] == nil {
			sh.members[key] = &shape{}
		}
		sh = sh.members[key]
	}
	return sh
}

// reader passes over one object once.
type reader struct {
	b               []byte
	s               jsonscan.Scanner
	namespace, name string // the object's own
	found           []found
}

// read finds the references of an object that have a name. Values of other types than
// expected are passed over; the error says that the text is not JSON.
func (r *reader) read(raw []byte, sh *shape) error {
	*r = reader{b: raw, s: jsonscan.New(raw), found: r.found[:0]}
	if err := r.value(sh, nil); err != nil {
		return err
	}
	return r.s.End()
}

func (r *reader) value(sh *shape, in *found) error {
	if sh.place == nil {
		return r.within(sh, in)
	}
	own := found{place: sh.place}
	err := r.within(sh, &own)
	if own.name != "" {
		r.found = append(r.found, own)
	}
	return err
}

func (r *reader) within(sh *shape, in *found) error {
	c, err := r.s.Peek()
	switch {
	case err != nil:
		return err
	case c == '{' && sh.members != nil:
		if sh.field == fieldPresent {
			in.present = true
		}
		return r.object(sh, in)
	case c == '[' && sh.element != nil:
		more, err := r.s.EnterArray()
		for more && err == nil {
			if err = r.value(sh.element, in); err == nil {
				more, err = r.s.NextElement()
			}
		}
		return err
	case c == '"' && sh.field != 0 && sh.field != fieldPresent:
		text, err := r.s.String()
		if err == nil {
			r.set(sh.field, in, text.Text(r.b))
		}
		return err
	}
	_, err = r.s.Value()
	if sh.field == fieldPresent && c != 'n' {
		in.present = true
	}
	return err
}

func (r *reader) set(to field, in *found, text string) {
	switch to {
	case ownNamespace:
		r.namespace = text
	case ownName:
		r.name = text
	default:
		in.set(to, text)
	}
}

func (r *reader) object(sh *shape, in *found) error {
	more, err := r.s.EnterObject()
	for more && err == nil {
		var key jsonscan.Str
		if key, err = r.s.Key(); err != nil {
			return err
		}
		if next := sh.members[key.Text(r.b)]; next != nil {
			err = r.value(next, in)
		} else {
			_, err = r.s.Value()
		}
		if err == nil {
			more, err = r.s.NextMember()
		}
	}
	return err
}
