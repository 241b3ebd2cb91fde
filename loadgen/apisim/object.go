package apisim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"
)

// key is an object within its kind.
type key struct{ namespace, name string }

// path orders objects as the store of an apiserver does.
func (k key) path() string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}

// version is one state of an object. It is immutable. Its JSON is in two parts with
// the resourceVersion between them, because the end of an object is reported as its last
// state under a later version.
type version struct {
	key
	uid        string
	created    string // creationTimestamp as JSON
	labels     labels.Set
	rv         uint64
	head, tail []byte // JSON without apiVersion and kind; head begins with {"metadata":
}

// errObject is the class of all mistakes in an object that is to be applied.
var errObject = errors.New("not an object")

// maxObject bounds an object. An apiserver takes 3 MiB at most.
const maxObject = 3 << 20

// draft is an object as it was given, taken apart.
type draft struct {
	key
	uid, created string
	labels       labels.Set
	meta, rest   map[string]json.RawMessage
}

func parseObject(raw []byte) (*draft, error) {
	if len(raw) > maxObject {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errObject, len(raw), maxObject)
	}
	d := &draft{}
	if err := json.Unmarshal(raw, &d.rest); err != nil {
		return nil, fmt.Errorf("%w: want JSON with metadata.name: %w", errObject, err)
	}
	if err := json.Unmarshal(d.rest["metadata"], &d.meta); err != nil {
		return nil, fmt.Errorf("%w: metadata: want a JSON object with name: %w", errObject, err)
	}
	for field, into := range map[string]any{"name": &d.name, "namespace": &d.namespace, "uid": &d.uid, "labels": &d.labels} {
		if text, ok := d.meta[field]; ok {
			if err := json.Unmarshal(text, into); err != nil {
				return nil, fmt.Errorf("%w: metadata.%s: %w", errObject, field, err)
			}
		}
	}
	if d.name == "" {
		return nil, fmt.Errorf("%w: metadata.name is missing", errObject)
	}
	d.created = string(d.meta["creationTimestamp"])
	for _, field := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		delete(d.meta, field)
	}
	for _, field := range []string{"metadata", "apiVersion", "kind"} {
		delete(d.rest, field)
	}
	return d, nil
}

// build renders the object with the identity it has got.
func (d *draft) build(rv uint64) *version {
	v := &version{key: d.key, uid: d.uid, created: d.created, labels: d.labels, rv: rv}
	var b bytes.Buffer
	b.WriteString(`{"metadata":{"name":`)
	b.Write(quote(d.name))
	if d.namespace != "" {
		b.WriteString(`,"namespace":`)
		b.Write(quote(d.namespace))
	}
	b.WriteString(`,"uid":`)
	b.Write(quote(d.uid))
	b.WriteString(`,"resourceVersion":"`)
	cut := b.Len()
	b.WriteString(`","creationTimestamp":`)
	b.WriteString(d.created)
	members(&b, d.meta)
	b.WriteByte('}')
	members(&b, d.rest)
	b.WriteByte('}')
	v.head, v.tail = b.Bytes()[:cut:cut], b.Bytes()[cut:]
	return v
}

func members(b *bytes.Buffer, m map[string]json.RawMessage) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.WriteByte(',')
		b.Write(quote(name))
		b.WriteByte(':')
		// Frames of a watch are lines.
		if json.Compact(b, m[name]) != nil { // parsed before
			b.WriteString("null")
		}
	}
}

func quote(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always has a form
		panic(err)
	}
	return text
}

// appendJSON appends the object under resourceVersion rv; typed is apiVersion and
// kind as members of JSON, or empty.
func (v *version) appendJSON(b []byte, typed string, rv uint64) []byte {
	b = append(b, '{')
	b = append(b, typed...)
	b = append(b, v.head[1:]...)
	b = strconv.AppendUint(b, rv, 10)
	return append(b, v.tail...)
}

// typed is the members that say what an object is.
func typed(apiVersion, kind string) string {
	return `"kind":` + string(quote(kind)) + `,"apiVersion":` + string(quote(apiVersion)) + `,`
}
