package record

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// Names of the kinds that hold other people's data.
const (
	secretKind    = "Secret"
	configMapKind = "ConfigMap"
)

// filled is the multiple of bytes to which the length of a filler is rounded up, since it would be the length of a key
// or a password.
const filled = 32

// masker takes out of objects what is not for other eyes; see doc.go. It is not safe for concurrent use; several with
// the same salt give the same pseudonyms.
type masker struct {
	all  bool // or only the data of Secrets and ConfigMaps
	keep map[string]bool
	names
	fillers hash.Hash
}

// newSalt returns the secret on which the pseudonyms of one file depend.
func newSalt() []byte {
	salt := make([]byte, 32)
	_, _ = rand.Read(salt) // it never fails
	return salt
}

func newMasker(salt []byte, all bool) *masker {
	return &masker{all: all, keep: vocabulary(), names: newNames(salt),
		fillers: hmac.New(sha256.New, append([]byte("watchbench filler\x00"), salt...))}
}

// name replaces the words of a name, such as the group of a custom resource, as object does, or returns it as it is if
// only data are masked.
func (m *masker) name(text string) string {
	if !m.all {
		return text
	}
	return m.text(text, m.keep)
}

// filler returns a text that says nothing of the one for which it stands but whether it is the same: a pattern of 32
// characters that repeats, and so takes little room in a compressed file. It is valid base64.
func (m *masker) filler(text string) string {
	m.fillers.Reset()
	m.fillers.Write([]byte(text))
	pattern := base64.StdEncoding.EncodeToString(m.fillers.Sum(nil)[:filled/4*3])
	return strings.Repeat(pattern, (len(text)+filled-1)/filled)
}

// object returns an object of that kind without what is not for other eyes.
func (m *masker) object(gvk schema.GroupVersionKind, object []byte) ([]byte, error) {
	kind := gvk.Kind
	if !m.all && kind != secretKind && kind != configMapKind {
		return object, nil
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	var root any
	err := dec.Decode(&root)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("text after the object")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("object to be masked: %w", err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	w := walk{masker: m, kind: kind}
	if err := enc.Encode(w.value(place{typ: scheme.Scheme.AllKnownTypes()[gvk]}, root)); err != nil {
		return nil, fmt.Errorf("encode a masked object: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

type treatment byte

const (
	plain    treatment = iota // words are replaced but for the vocabulary, if all are to be
	pairs                     // variables or headers: all but their names become fillers
	labelled                  // plain, whatever the labels are called
	fill                      // fillers
)

type place struct {
	depth   int
	typ     reflect.Type // in the API, without pointers and slices; nil if the API does not define it
	treat   treatment
	version bool // it is called resourceVersion
	hidden  bool // the keys here are a Secret's
}

type walk struct {
	*masker
	kind string
}

func (w *walk) value(at place, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[w.key(at, key)] = w.value(w.below(at, key), member)
		}
		return out
	case []any:
		for i := range v {
			v[i] = w.value(at, v[i])
		}
	case string:
		return w.string(at, v)
	case json.Number:
		if w.all && !numeric(at.typ) {
			return json.Number(w.number(v.String()))
		}
	}
	return v
}

// ends reports whether a field is called so, or ends so, as podAnnotations does.
func ends(field string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(field, name) })
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func (w *walk) below(at place, key string) place {
	next := place{depth: at.depth + 1, typ: apiTypes().member(at.typ, key), treat: at.treat,
		version: key == "resourceVersion"}
	if at.depth == 0 && key == "metadata" && next.typ == nil {
		next.typ = reflect.TypeFor[metav1.ObjectMeta]() // a custom resource has it too
	}
	field := strings.ToLower(key)
	held := w.kind == secretKind || w.kind == configMapKind
	switch {
	case at.treat >= labelled:
	case at.depth == 0 && held && (key == "data" || key == "stringData" || key == "binaryData"):
		next.treat, next.hidden = fill, w.kind == secretKind
	case held && (key == lastApplied || w.kind == secretKind && key == "annotations"):
		next.treat = fill
	case key == "f:data" || key == "f:stringData": // of managedFields
		next.hidden = w.kind == secretKind
	case !w.all:
	case at.treat == pairs && key != "name" && key != "valueFrom", ends(field, "args", "command", "annotations"):
		next.treat = fill
	case ends(field, "env", "environment", "header", "headers", "headerstoadd"):
		next.treat = pairs
	case ends(field, "labels", "selector"):
		next.treat = labelled
	default:
		next.treat = plain
	}
	return next
}

func (w *walk) key(at place, key string) string {
	switch {
	case w.all:
		return w.text(key, w.keep)
	case !at.hidden:
		return key
	}
	// Nothing refers to a Secret's keys: no word of them need stay.
	inner, managed := strings.CutPrefix(key, "f:")
	if key = w.text(inner, nil); managed {
		key = "f:" + key
	}
	return key
}

func (w *walk) string(at place, text string) string {
	switch {
	case at.treat == fill || at.treat == pairs:
		return w.filler(text)
	case !w.all || at.treat != labelled && stays(at, text):
		return text
	}
	return w.text(text, w.keep)
}

// numeric reports whether a field of the API is a number. A definition's default, which may be one, is of any type.
func numeric(t reflect.Type) bool {
	return t == reflect.TypeFor[intstr.IntOrString]() || t != nil && t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}

// stays reports whether a text is of a type that holds no words.
func stays(at place, text string) bool {
	switch at.typ {
	case nil:
		return false
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return true
	case reflect.TypeFor[intstr.IntOrString]():
		return strings.HasSuffix(text, "%")
	}
	return at.version && strings.Trim(text, digits) == ""
}
