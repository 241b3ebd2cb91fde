package object

import (
	"bytes"
	"strings"
	"unique"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Recipe says how an object's bytes are prepared before they are cached.
type Recipe struct {
	// KeepManagedFields leaves metadata.managedFields in.
	KeepManagedFields bool
	// APIVersion and Kind are put in front of an object that lacks them, as the
	// items of a LIST do. Empty adds nothing.
	APIVersion, Kind string
	// Masks are fields to delete, with the places where the object repeats them: see repeated. If one cannot be
	// applied, Build fails: the object must not travel on.
	Masks []Mask
	// Packer compresses the objects, nil leaves them plain. Each kind has its own.
	Packer *Packer
}

// Build copies the object that m describes out of b and edits the copy. kind is the key's. prev, the cached version of
// the same object if there is one, lends its strings.
func (r *Recipe) Build(b []byte, m *Meta, kind string, prev *Object) (*Object, error) {
	if m.Name == "" {
		return nil, ErrNoName
	}
	o := &Object{ResourceVersion: m.Version()}
	o.setIdentity(m, kind, prev)
	b, cuts, err := r.cuts(b, m)
	if err != nil {
		return nil, err
	}
	head := r.head(m, len(b)-total(cuts) > len("{}"))
	if r.Packer != nil {
		o.pack(r.Packer, b, head, cuts)
		return o, nil
	}
	o.Raw = appendOut(make([]byte, 0, len(b)+len(head)-total(cuts)), b, head, cuts)
	return o, nil
}

// cuts returns the bytes of the object alone, compact, and what to leave out of
// them. The usual case finds everything in m.
func (r *Recipe) cuts(b []byte, m *Meta) ([]byte, []jsonscan.Range, error) {
	whole := m.Whole.Of(b)
	masks := r.paths(m.Namespace)
	if len(masks) == 0 && !m.spaced && !m.odd {
		if r.KeepManagedFields || m.managedCut.Empty() {
			return whole, nil, nil
		}
		cut := jsonscan.Range{Start: m.managedCut.Start - m.Whole.Start, End: m.managedCut.End - m.Whole.Start}
		return whole, []jsonscan.Range{cut}, nil
	}
	if m.spaced {
		var err error
		if whole, err = jsonscan.Compact(whole); err != nil {
			return nil, nil, err
		}
	}
	if len(masks) > 0 {
		masks = append(masks, repeated...)
	} else if !r.KeepManagedFields {
		masks = append(masks, managedFieldsPath)
	}
	cuts, err := findCuts(whole, masks, exact)
	return whole, cuts, err
}

func (r *Recipe) paths(namespace string) [][]string {
	var paths [][]string
	for _, mask := range r.Masks {
		if mask.Namespace == "" || mask.Namespace == namespace {
			paths = append(paths, mask.Path)
		}
	}
	return paths
}

// appendOut appends the object b to dst: head behind the opening brace, the cuts
// left out. It is the one copy of the hot path.
func appendOut(dst, b []byte, head string, cuts []jsonscan.Range) []byte {
	dst = append(dst, b[0])
	dst = append(dst, head...)
	from := 1
	for _, cut := range cuts {
		dst = append(dst, b[from:cut.Start]...)
		from = cut.End
	}
	return append(dst, b[from:]...)
}

// without is a copy of the object b, the cuts left out.
func without(b []byte, cuts []jsonscan.Range) []byte {
	return appendOut(make([]byte, 0, len(b)-total(cuts)), b, "", cuts)
}

// head returns the members that a LIST item lacks, in the order in which the apiserver writes it,
// so that the same object has the same bytes from LIST and from WATCH.
func (r *Recipe) head(m *Meta, members bool) string {
	if m.hasKind && m.hasAPIVersion || r.Kind == "" && r.APIVersion == "" {
		return ""
	}
	var dst []byte
	if !m.hasKind && r.Kind != "" {
		dst = append(dst, `"kind":`...)
		dst = jsonscan.AppendString(dst, r.Kind)
		dst = append(dst, ',')
	}
	if !m.hasAPIVersion && r.APIVersion != "" {
		dst = append(dst, `"apiVersion":`...)
		dst = jsonscan.AppendString(dst, r.APIVersion)
		dst = append(dst, ',')
	}
	if !members {
		dst = bytes.TrimSuffix(dst, []byte{','})
	}
	return string(dst)
}

// setIdentity gives o strings that do not point into the scanned bytes. Name and UID share one allocation, which all
// versions of an object share; namespaces are interned.
func (o *Object) setIdentity(m *Meta, kind string, prev *Object) {
	o.Key.Kind = kind
	if prev != nil && prev.Key.Name == m.Name && prev.Key.Namespace == m.Namespace && prev.UID == m.UID {
		o.Key, o.UID = prev.Key, prev.UID
		o.Key.Kind = kind
		return
	}
	// Join copies even when one of the two is empty; + would not.
	both := strings.Join([]string{m.Name, m.UID}, "")
	o.Key.Name, o.UID = both[:len(m.Name)], both[len(m.Name):]
	if m.Namespace != "" {
		o.Key.Namespace = unique.Make(m.Namespace).Value()
	}
}

// Tombstone is an object of which only the identity is known: Raw is nil.
func Tombstone(m *Meta, kind string, prev *Object) *Object {
	o := &Object{ResourceVersion: m.Version()}
	o.setIdentity(m, kind, prev)
	return o
}

// total is the number of bytes that cuts remove.
func total(cuts []jsonscan.Range) int {
	n := 0
	for _, cut := range cuts {
		n += cut.End - cut.Start
	}
	return n
}

var managedFieldsPath = []string{"metadata", "managedFields"}

// repeated are the fields that may hold a masked one once more: the whole object as it
// was applied, and in managedFields the values of sets and the keys of lists.
var repeated = [][]string{
	{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"},
	managedFieldsPath,
}
