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

// version is one state of an object. It is immutable once it is recorded. The end of
// an object is reported as its last state under a later version, so its JSON is kept
// in two parts with the resourceVersion between them.
type version struct {
	key
	uid, created string // created is the creationTimestamp as JSON
	labels       labels.Set
	meta, rest   map[string]json.RawMessage // until render
	rv           uint64
	head, tail   []byte // JSON without kind and apiVersion, before and after the resourceVersion
}

// errObject is the class of all mistakes in an object that is to be applied.
var errObject = errors.New("not an object")

// maxObject bounds an object. An apiserver takes 3 MiB at most.
const maxObject = 3 << 20

// parseObject takes an object apart.
func parseObject(raw []byte) (*version, error) {
	if len(raw) > maxObject {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errObject, len(raw), maxObject)
	}
	v := &version{}
	if err := json.Unmarshal(raw, &v.rest); err != nil {
		return nil, fmt.Errorf("%w: want JSON with metadata.name: %w", errObject, err)
	}
	if err := json.Unmarshal(v.rest["metadata"], &v.meta); err != nil {
		return nil, fmt.Errorf("%w: metadata: want a JSON object with name: %w", errObject, err)
	}
	for field, into := range map[string]any{"name": &v.name, "namespace": &v.namespace, "uid": &v.uid, "labels": &v.labels} {
		if text, ok := v.meta[field]; ok {
			if err := json.Unmarshal(text, into); err != nil {
				return nil, fmt.Errorf("%w: metadata.%s: %w", errObject, field, err)
			}
		}
	}
	if v.name == "" {
		return nil, fmt.Errorf("%w: metadata.name is missing", errObject)
	}
	v.created = string(v.meta["creationTimestamp"])
	for _, field := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		delete(v.meta, field)
	}
	for _, field := range []string{"metadata", "apiVersion", "kind"} {
		delete(v.rest, field)
	}
	return v, nil
}

// render makes the JSON of an object that has its identity.
func (v *version) render(rv uint64) {
	v.rv = rv
	identity := marshal(struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace,omitempty"`
		UID       string `json:"uid"`
	}{v.name, v.namespace, v.uid})
	v.head = append(bytes.TrimSuffix(identity, []byte{'}'}), `,"resourceVersion":"`...)
	v.tail = slices.Concat([]byte(`","creationTimestamp":`+v.created), closing(v.meta), closing(v.rest))
	v.meta, v.rest = nil, nil
}

// closing is further members of a JSON object that has some already, and its end.
func closing(members map[string]json.RawMessage) []byte {
	if len(members) == 0 {
		return []byte{'}'}
	}
	text := marshal(members)
	text[0] = ','
	return text
}

// marshal is for what always has a form. It has no line breaks: frames of a watch
// are lines.
func marshal(value any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// appendJSON appends the object under resourceVersion rv; typed is apiVersion and
// kind as members of JSON, or empty.
func (v *version) appendJSON(b []byte, typed string, rv uint64) []byte {
	b = append(append(append(b, '{'), typed...), `"metadata":`...)
	b = strconv.AppendUint(append(b, v.head...), rv, 10)
	return append(b, v.tail...)
}

// typed is the members that say what an object is.
func typed(apiVersion, kind string) string {
	return `"kind":` + string(marshal(kind)) + `,"apiVersion":` + string(marshal(apiVersion)) + `,`
}
