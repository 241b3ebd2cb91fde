package pseudonym

import (
	"crypto/rand"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Names of the kinds that hold other people's data.
const (
	secretKind    = "Secret"
	configMapKind = "ConfigMap"
)

// maxNesting bounds the depth of an object.
const maxNesting = 1000

// Pseudonyms replaces what an object holds. It is not safe for concurrent use; several
// with the same salt give the same pseudonyms.
type Pseudonyms struct {
	all    bool
	named  *words // keeps the vocabulary
	strict *words
	filler *filler
}

// NewSalt returns the secret on which the pseudonyms of one file depend.
func NewSalt() []byte {
	salt := make([]byte, 32)
	_, _ = rand.Read(salt) // it never fails
	return salt
}

// New returns Pseudonyms that only mask (see Mask), or replace everything.
func New(salt []byte, all bool) *Pseudonyms {
	p := newPermutation(salt)
	return &Pseudonyms{all: all, named: newWords(p, vocabulary()), strict: newWords(p, nil), filler: newFiller(salt)}
}

// Text replaces the words of a name, such as the group of a custom resource, as Object
// does, or returns it as it is if only data are masked.
func (p *Pseudonyms) Text(text string) string {
	if !p.all {
		return text
	}
	return string(p.named.appendText(nil, text))
}

// APIVersion is Text for a version, or a group and a version. Versions as Kubernetes has
// them (v2alpha1) stay.
func (p *Pseudonyms) APIVersion(text string) string {
	if !p.all {
		return text
	}
	return string(p.appendAPIVersion(nil, text))
}

func (p *Pseudonyms) appendAPIVersion(dst []byte, text string) []byte {
	version := strings.LastIndexByte(text, '/') + 1
	if !kubeVersion.MatchString(text[version:]) {
		return p.named.appendText(dst, text)
	}
	return append(p.named.appendText(dst, text[:version]), text[version:]...)
}

var kubeVersion = regexp.MustCompile(`^v[0-9]{1,2}((alpha|beta)[0-9]{1,2})?$`)

// Object appends object, one JSON value of that kind, without what is not for other eyes.
//
// Whatever the mode, the values of a Secret's and a ConfigMap's data become fillers: of
// the same length, of a Secret's rounded up to 24 bytes; another value has another filler.
// So do a Secret's annotations, of both kinds the last applied configuration, and a
// Secret's keys are pseudonyms, in its managedFields too.
func (p *Pseudonyms) Object(dst []byte, gvk schema.GroupVersionKind, object []byte) ([]byte, error) {
	kind := gvk.Kind
	if !p.all && kind != secretKind && kind != configMapKind {
		return append(dst, object...), nil
	}
	if err := jsonscan.ValidWithin(object, maxNesting); err != nil {
		return dst, fmt.Errorf("object to be anonymised: %w", err)
	}
	root := scheme.Scheme.AllKnownTypes()[gvk]
	w := walk{p: p, kind: kind, builtIn: root != nil, text: object, scan: jsonscan.New(object), out: dst}
	err := w.value(place{typ: root})
	if err == nil {
		err = w.scan.End()
	}
	return w.out, err
}

// treatment says what becomes of a value and of all below it.
type treatment byte

const (
	plain    treatment = iota // words are replaced but for the vocabulary, if all are to be
	pairs                     // variables or headers: all but their names become fillers
	managed                   // the keys of fieldsV1
	labelled                  // plain, whatever the labels are called
	fill                      // fillers of rounded length
	sized                     // fillers of the same length
)

// place is where the walk is.
type place struct {
	depth   int
	key     string       // the nearest one above, arrays passed over
	typ     reflect.Type // in the API, without pointers and slices; nil if the API does not define it
	treat   treatment
	hideKey bool // the keys of a Secret's data, here
}

type walk struct {
	p       *Pseudonyms
	kind    string
	builtIn bool // and no custom resource
	text    []byte
	scan    jsonscan.Scanner
	out     []byte
}

func (w *walk) value(at place) error {
	c, err := w.scan.Peek()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return w.object(at)
	case '[':
		return w.array(at)
	case '"':
		s, err := w.scan.String()
		if err != nil {
			return err
		}
		if w.stays(at) {
			w.out = append(append(append(w.out, '"'), s.Of(w.text)...), '"')
			return nil
		}
		w.out = jsonscan.AppendString(w.out, string(w.string(nil, at, s.Text(w.text))))
		return nil
	}
	r, err := w.scan.Value()
	if text := r.Of(w.text); w.stays(at) || at.typ != nil {
		w.out = append(w.out, text...)
	} else {
		w.out = w.p.strict.appendNumber(w.out, string(text))
	}
	return err
}

func (w *walk) array(at place) error {
	w.out = append(w.out, '[')
	more, err := w.scan.EnterArray()
	for err == nil && more {
		if err = w.value(at); err != nil {
			return err
		}
		if more, err = w.scan.NextElement(); more {
			w.out = append(w.out, ',')
		}
	}
	w.out = append(w.out, ']')
	return err
}

func (w *walk) object(at place) error {
	w.out = append(w.out, '{')
	more, err := w.scan.EnterObject()
	for err == nil && more {
		var k jsonscan.Str
		if k, err = w.scan.Key(); err != nil {
			return err
		}
		key := k.Text(w.text)
		w.out = append(jsonscan.AppendString(w.out, string(w.key(nil, at, key))), ':')
		if err = w.value(w.below(at, key)); err != nil {
			return err
		}
		if more, err = w.scan.NextMember(); more {
			w.out = append(w.out, ',')
		}
	}
	w.out = append(w.out, '}')
	return err
}

// ends reports whether a field is called so, or ends so, as podAnnotations does.
func ends(field string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(field, name) })
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// below is the place of the value of a member.
func (w *walk) below(at place, key string) place {
	next := at
	next.depth++
	next.key = key
	if next.typ = apiTypes().member(at.typ, key); next.typ == nil && at.depth == 0 && key == "metadata" {
		next.typ = reflect.TypeFor[metav1.ObjectMeta]() // a custom resource has it too
	}
	field := strings.ToLower(key)
	held := w.kind == secretKind || w.kind == configMapKind
	switch {
	case at.treat >= labelled:
	case at.treat == managed:
		// f:data of a Secret is followed by its keys.
		next.hideKey = w.kind == secretKind && (key == "f:data" || key == "f:stringData")
	case at.depth == 0 && held && (key == "data" || key == "stringData" || key == "binaryData"):
		if next.treat, next.hideKey = fill, true; w.kind == configMapKind {
			next.treat, next.hideKey = sized, false
		}
	case held && (key == lastApplied || w.kind == secretKind && key == "annotations"):
		next.treat = fill
	case key == "fieldsV1" && at.key == "managedFields":
		next.treat = managed
	case !w.p.all:
	case at.treat == pairs && key != "name" && key != "valueFrom",
		ends(field, "args", "command", "annotations") && key != "auditAnnotations": // they are expressions
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

// key appends the key of a member.
func (w *walk) key(dst []byte, at place, key string) []byte {
	all := w.p.all || at.hideKey
	if !all {
		return append(dst, key...)
	}
	words := w.p.named
	if !w.p.all { // nothing refers to a Secret's keys: no word of them need stay
		words = w.p.strict
	}
	if at.treat != managed {
		return words.appendText(dst, key)
	}
	// f:name of a field, k:{...} and v:... of an element, i:0, or a dot for the whole.
	if len(key) < 2 || key[1] != ':' {
		return words.appendText(dst, key)
	}
	inner := key[2:]
	if key[0] == 'k' || key[0] == 'v' {
		text := []byte(inner)
		deep := walk{p: w.p, kind: w.kind, text: text, scan: jsonscan.New(text), out: append(dst, key[:2]...)}
		element := place{depth: 1}
		if w.builtIn {
			element.typ = reflect.TypeFor[map[string]int]() // ports stay
		}
		if key[0] == 'v' {
			element.treat = fill // the set may be args
		}
		if jsonscan.ValidWithin(deep.text, maxNesting) == nil && deep.value(element) == nil {
			return deep.out
		}
	}
	return words.appendText(append(dst, key[:2]...), inner)
}

// stays reports whether all is copied as it stands.
func (w *walk) stays(at place) bool {
	return !w.p.all && at.treat < fill
}

// string appends what a text becomes.
func (w *walk) string(dst []byte, at place, text string) []byte {
	switch {
	// The apiserver refuses other annotations of these names than an int32 and networks.
	case at.treat == fill && w.builtIn && at.key == corev1.PodDeletionCost && isNumber(strings.TrimPrefix(text, "-")):
		return w.p.strict.appendNumber(dst, text[:min(len(text), 9)])
	case at.treat == fill && w.kind == "Service" && at.key == corev1.AnnotationLoadBalancerSourceRangesKey:
		return w.p.strict.appendText(dst, text)
	case at.treat == sized:
		return w.p.filler.append(dst, text, len(text))
	case at.treat == fill || at.treat == pairs:
		return w.p.filler.append(dst, text, (len(text)+filled-1)/filled*filled)
	case at.treat == labelled:
		return w.p.named.appendText(dst, text)
	case isTime(text), at.typ == reflect.TypeFor[resource.Quantity](),
		at.typ == reflect.TypeFor[intstr.IntOrString]() && strings.HasSuffix(text, "%"),
		at.typ != nil && at.key == "resourceVersion" && isNumber(text):
		return append(dst, text...)
	case at.key == "apiVersion":
		return w.p.appendAPIVersion(dst, text)
	}
	return w.p.named.appendText(dst, text)
}

// isTime reports whether a text is a timestamp as Kubernetes writes them.
func isTime(text string) bool {
	if len(text) < len("2006-01-02T15:04:05Z") || len(text) > len(time.RFC3339Nano) || text[4] != '-' {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
