package object

import (
	"errors"
	"slices"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Pair is an annotation.
type Pair struct{ Key, Value string }

// ErrNoMetadata is the refusal to annotate something without a metadata object.
var ErrNoMetadata = errors.New("object has no metadata")

// SetAnnotations returns a copy of raw, compact, with the annotations set, whose keys
// must differ. Values that exist are replaced where they stand, new ones come last.
func SetAnnotations(raw []byte, pairs ...Pair) ([]byte, error) {
	m, err := Scan(raw)
	if err != nil {
		return nil, err
	}
	if m.spaced {
		compact, err := jsonscan.Compact(raw)
		if err != nil {
			return nil, err
		}
		return SetAnnotations(compact, pairs...)
	}
	if m.Metadata.Empty() || raw[m.Metadata.Start] != '{' {
		return nil, ErrNoMetadata
	}
	splices, err := annotate(raw, m.Metadata, pairs)
	if err != nil {
		return nil, err
	}
	dst := make([]byte, 0, len(raw)+room(pairs))
	from := 0
	for _, sp := range splices {
		dst = append(dst, raw[from:sp.at.Start]...)
		dst = append(dst, sp.text...)
		from = sp.at.End
	}
	return append(dst, raw[from:]...), nil
}

// HasAnnotations reports whether the object that m describes has all of those annotations.
func HasAnnotations(raw []byte, m *Meta, pairs []Pair) bool {
	for _, p := range pairs {
		if m.Annotations.Empty() || raw[m.Annotations.Start] != '{' {
			return false
		}
		at, found, err := lastMember(raw, m.Annotations, p.Key)
		if err != nil || !found || jsonscan.Unquote(at.Of(raw)) != p.Value {
			return false
		}
	}
	return true
}

// room is the most that pairs add if nothing needs an escape.
func room(pairs []Pair) int {
	n := len(`,"annotations":{}`)
	for _, p := range pairs {
		n += len(p.Key) + len(p.Value) + len(`"":"",`)
	}
	return n
}

// splice replaces the bytes of at by text.
type splice struct {
	at   jsonscan.Range
	text []byte
}

// annotate finds what to replace within metadata, in ascending order.
func annotate(raw []byte, metadata jsonscan.Range, pairs []Pair) ([]splice, error) {
	target, found, err := lastMember(raw, metadata, "annotations")
	switch {
	case err != nil:
		return nil, err
	case !found:
		return []splice{insertLast(metadata, slices.Concat([]byte(`"annotations":{`), members(pairs), []byte{'}'}))}, nil
	case string(target.Of(raw)) == "null":
		return []splice{{target, slices.Concat([]byte{'{'}, members(pairs), []byte{'}'})}}, nil
	case raw[target.Start] != '{':
		return nil, errors.New("metadata.annotations is not an object")
	}
	var splices []splice
	var added []Pair
	for _, p := range pairs {
		at, exists, err := lastMember(raw, target, p.Key)
		if err != nil {
			return nil, err
		}
		if exists {
			splices = append(splices, splice{at, jsonscan.AppendString(nil, p.Value)})
		} else {
			added = append(added, p)
		}
	}
	slices.SortFunc(splices, func(a, b splice) int { return a.at.Start - b.at.Start })
	if len(added) > 0 {
		splices = append(splices, insertLast(target, members(added)))
	}
	return splices, nil
}

// insertLast puts text, members, before the closing brace of the object at r, which must be compact.
func insertLast(r jsonscan.Range, text []byte) splice {
	if r.End-r.Start > len("{}") {
		text = append([]byte{','}, text...)
	}
	return splice{jsonscan.Range{Start: r.End - 1, End: r.End - 1}, text}
}

// members is the inside of an object that holds pairs.
func members(pairs []Pair) []byte {
	dst := make([]byte, 0, room(pairs))
	for i, p := range pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, p.Key)
		dst = append(dst, ':')
		dst = jsonscan.AppendString(dst, p.Value)
	}
	return dst
}

// lastMember finds the value of key in the object at r.
func lastMember(b []byte, r jsonscan.Range, key string) (value jsonscan.Range, found bool, err error) {
	s := jsonscan.At(b, r.Start)
	err = s.Object(func(k jsonscan.Str) error {
		v, err := s.Value()
		if k.Is(b, key) {
			value, found = v, true
		}
		return err
	})
	return value, found, err
}
