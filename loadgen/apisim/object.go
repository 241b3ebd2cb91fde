package apisim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unique"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/pack"
)

type key = kubeapi.Name

// version is one state of an object. It is immutable once it is recorded. The end of an object is reported as its last
// state under a later version, so the JSON is kept without the resourceVersion, which belongs at cut.
type version struct {
	key                 // its place
	uid, created string // created is the creationTimestamp as JSON
	labels       kubeapi.RawLabels
	fields       []string // of the kind's selectable fields, in their order
	rv           uint64
	packed       pack.Text // the JSON without the leading brace, kind and apiVersion; plain where that is smaller
	plain        []byte
	cut          int
}

// maxScratch is the largest buffer that is kept for unpacking.
const maxScratch = 256 << 10

var scratch = sync.Pool{New: func() any { return new([]byte) }}

var errChanged = errors.New("the object has been modified: apply the change to its latest version")

// errObject is the class of all mistakes in an object that is to be applied.
var errObject = errors.New("not an object")

// maxObject bounds an object. An apiserver takes 3 MiB at most.
const maxObject = 3 << 20

// draft is an object that is to be applied, taken apart.
type draft struct {
	version
	raw        []byte
	given      string           // its resourceVersion
	meta, rest []jsonscan.Range // members of metadata and of the object that stay as they are
}

// parseObject takes an object apart. raw belongs to the draft until it is rendered.
func parseObject(raw []byte, f kubeapi.Fields) (*draft, error) {
	if len(raw) > maxObject {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errObject, len(raw), maxObject)
	}
	d := &draft{raw: raw}
	var metadata jsonscan.Range
	s := jsonscan.New(raw)
	err := s.Object(func(name jsonscan.Str) error {
		value, err := s.Value()
		switch {
		case err != nil:
		case name.Is(raw, "metadata"):
			metadata = value
		case name.Is(raw, "apiVersion"), name.Is(raw, "kind"):
		default:
			d.rest = append(d.rest, jsonscan.Range{Start: name.Start - 1, End: value.End})
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: want JSON with metadata.name: %w", errObject, err)
	}
	if s.Spaced() { // frames of a watch are lines
		compact, err := jsonscan.Compact(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errObject, err)
		}
		return parseObject(compact, f)
	}
	if err := d.metadata(metadata); err != nil {
		return nil, err
	}
	d.fields = f.Values(raw)
	for i, value := range d.fields {
		d.fields[i] = shared(value)
	}
	return d, nil
}

// metadata reads the identity; the other members stay as they are.
func (d *draft) metadata(at jsonscan.Range) error {
	if at.Empty() || !jsonscan.IsObject(at.Of(d.raw)) {
		return fmt.Errorf("%w: metadata: want a JSON object with name", errObject)
	}
	s := jsonscan.At(d.raw, at.Start)
	err := s.Object(func(name jsonscan.Str) error {
		value, err := s.Value()
		if err != nil {
			return err
		}
		v := value.Of(d.raw)
		field := name.Text(d.raw)
		switch field {
		case "name":
			d.Name, err = text(v)
		case "namespace":
			d.Namespace, err = text(v)
			d.Namespace = shared(d.Namespace)
		case "uid":
			d.uid, err = text(v)
		case "resourceVersion":
			d.given, err = text(v)
		case "creationTimestamp":
			d.created = shared(string(v))
		default:
			d.meta = append(d.meta, jsonscan.Range{Start: name.Start - 1, End: value.End})
			if field == "labels" {
				d.labels, err = slices.Clone(v), checkLabels(v)
			}
		}
		if err != nil {
			return fmt.Errorf("%w: metadata.%s: %w", errObject, field, err)
		}
		return nil
	})
	if err == nil && d.Name == "" {
		err = fmt.Errorf("%w: metadata.name is missing", errObject)
	}
	return err
}

var errNotText = errors.New("want a string")

func text(v []byte) (string, error) {
	switch {
	case jsonscan.IsString(v):
		return jsonscan.Unquote(v), nil
	case string(v) == "null":
		return "", nil
	}
	return "", errNotText
}

func checkLabels(v []byte) error {
	if string(v) != "null" && !jsonscan.IsObject(v) {
		return errors.New("want an object of strings")
	}
	for _, value := range jsonscan.Members(v) {
		if _, err := text(value); err != nil {
			return err
		}
	}
	return nil
}

// shared is a text that many objects have, in memory that they share.
func shared(s string) string { return unique.Make(s).Value() }

func (d *draft) render(rv uint64, p *pack.Packer) *version {
	v := d.version
	v.rv = rv
	v.packed, v.plain = p.Pack(func(b []byte) []byte {
		b, v.cut = d.append(b)
		return b
	})
	return &v
}

// append appends the JSON of a version; cut is where its resourceVersion belongs.
func (d *draft) append(b []byte) (_ []byte, cut int) {
	v := &d.version
	b = jsonscan.AppendString(append(b, `"metadata":{"name":`...), v.Name)
	if v.Namespace != "" {
		b = jsonscan.AppendString(append(b, `,"namespace":`...), v.Namespace)
	}
	b = jsonscan.AppendString(append(b, `,"uid":`...), v.uid)
	b = append(b, `,"resourceVersion":"`...)
	cut = len(b)
	b = append(append(b, `","creationTimestamp":`...), v.created...)
	b = appendMembers(b, d.raw, d.meta)
	b = appendMembers(append(b, '}'), d.raw, d.rest)
	return append(b, '}'), cut
}

func appendMembers(b, raw []byte, members []jsonscan.Range) []byte {
	for _, m := range members {
		b = append(append(b, ','), m.Of(raw)...)
	}
	return b
}

// appendJSON appends the object under resourceVersion rv; typed is apiVersion and kind as members of JSON, or empty.
func (v *version) appendJSON(b []byte, typed string, rv uint64) []byte {
	buf := scratch.Get().(*[]byte)
	text := v.plain
	if !v.packed.IsZero() {
		var err error
		if text, err = v.packed.Unpack(*buf); err != nil {
			panic(fmt.Sprintf("object %s: %v", v.key, err)) // only this package writes it
		}
		*buf = text
	}
	b = append(append(append(b, '{'), typed...), text[:v.cut]...)
	b = strconv.AppendUint(b, rv, 10)
	b = append(b, text[v.cut:]...)
	if cap(*buf) <= maxScratch {
		scratch.Put(buf)
	}
	return b
}

// typed is the members that say what an object is.
func typed(apiVersion, kind string) string { return string(kubeapi.Typed(nil, apiVersion, kind)) }
