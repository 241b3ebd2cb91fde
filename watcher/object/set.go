package object

import (
	"errors"
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Pair is a label or an annotation.
type Pair struct{ Key, Value string }

// ErrNoMetadata is the refusal to label or annotate something without a metadata
// object.
var ErrNoMetadata = errors.New("object has no metadata")

// SetAnnotations returns a copy of raw with the annotations set. Values that exist
// are replaced where they stand, new ones come last.
func SetAnnotations(raw []byte, pairs ...Pair) ([]byte, error) {
	return appendSet(make([]byte, 0, len(raw)+room(pairs)), raw, "annotations", pairs)
}

// room is what pairs add at most as long as nothing needs an escape.
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

// appendSet appends raw with the pairs set in metadata.field to dst. On error dst is
// returned as it was.
func appendSet(dst, raw []byte, field string, pairs []Pair) ([]byte, error) {
	m, err := Scan(raw)
	if err != nil {
		return dst, err
	}
	if m.spaced {
		if raw, err = jsonscan.Compact(raw); err != nil {
			return dst, err
		}
		if m, err = Scan(raw); err != nil {
			return dst, err
		}
	}
	if len(pairs) == 0 {
		return append(dst, raw...), nil
	}
	if m.Metadata.Empty() || raw[m.Metadata.Start] != '{' {
		return dst, ErrNoMetadata
	}
	splices, err := setSplices(raw, m.Metadata, field, pairs)
	if err != nil {
		return dst, err
	}
	from := 0
	for _, sp := range splices {
		dst = append(dst, raw[from:sp.at.Start]...)
		dst = append(dst, sp.text...)
		from = sp.at.End
	}
	return append(dst, raw[from:]...), nil
}

// setSplices finds what to replace within metadata, in ascending order.
func setSplices(raw []byte, metadata jsonscan.Range, field string, pairs []Pair) ([]splice, error) {
	all := asObject(pairs)
	target, found, err := lastMember(raw, metadata, field)
	if err != nil {
		return nil, err
	}
	if !found {
		return []splice{insertLast(metadata, slices.Concat([]byte(`"`+field+`":{`), all, []byte{'}'}))}, nil
	}
	switch {
	case string(target.Of(raw)) == "null":
		return []splice{{target, slices.Concat([]byte{'{'}, all, []byte{'}'})}}, nil
	case raw[target.Start] != '{':
		return nil, fmt.Errorf("metadata.%s is no object", field)
	}
	var splices []splice
	var added []Pair
	for i, p := range pairs {
		if overwritten(pairs, i) {
			continue
		}
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
		splices = append(splices, insertLast(target, asObject(added)))
	}
	return splices, nil
}

// insertLast puts members before the closing brace of the object at r, which must
// be compact.
func insertLast(r jsonscan.Range, members []byte) splice {
	if r.End-r.Start > len("{}") {
		members = append([]byte{','}, members...)
	}
	return splice{jsonscan.Range{Start: r.End - 1, End: r.End - 1}, members}
}

// asObject is the inside of an object that holds pairs.
func asObject(pairs []Pair) []byte {
	dst := make([]byte, 0, room(pairs))
	for i, p := range pairs {
		if overwritten(pairs, i) {
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, p.Key)
		dst = append(dst, ':')
		dst = jsonscan.AppendString(dst, p.Value)
	}
	return dst
}

// overwritten reports whether a later pair has the key of pair i.
func overwritten(pairs []Pair, i int) bool {
	return slices.ContainsFunc(pairs[i+1:], func(p Pair) bool { return p.Key == pairs[i].Key })
}

// lastMember finds the value of key in the object at r.
func lastMember(b []byte, r jsonscan.Range, key string) (value jsonscan.Range, found bool, err error) {
	s := jsonscan.At(b, r.Start)
	more, err := s.EnterObject()
	for ; more && err == nil; more, err = s.NextMember() {
		k, err := s.Key()
		if err != nil {
			return value, false, err
		}
		v, err := s.Value()
		if err != nil {
			return value, false, err
		}
		if k.Is(b, key) {
			value, found = v, true
		}
	}
	return value, found, err
}
