package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/scenarios/history"
)

// canon writes the canonical form of one object in one pass over its text: the bytes that
// json.Marshal makes of what project leaves, at a tenth of the time. It knows no masks and
// not the rules of Nodes.
type canon struct {
	s       jsonscan.Scanner
	b       []byte // the text
	rec     *history.StateRecord
	managed bool // managedFields stay
	pod     bool
	seen    [2]bool // the object has apiVersion, kind
	version []byte  // metadata.resourceVersion, which is left out; nil: there is none
	spare   []byte  // for the order of members
}

// place is where in an object a value stands, as far as rules ask for that.
type place int

const (
	elsewhere place = iota
	atRoot
	inMetadata
	inAnnotations
)

type pair struct {
	key      string
	from, to int // in the canonical text
}

var errNotPlain = errors.New("not a plain object")

// plain appends the canonical form of an object for which there are neither masks nor
// rules of its kind, without its resourceVersion, which it returns, and sets the record's identity. On an error the
// caller uses project.
func (r *Rules) plain(dst []byte, o Raw, rec *history.StateRecord) (canonical, version []byte, err error) {
	if len(r.Masks) > 0 || o.Kind == "" || o.Kind == kindNode || !utf8.Valid(o.JSON) {
		return dst, nil, errNotPlain
	}
	found := *rec
	found.Name, found.Namespace = "", ""
	c := canon{s: jsonscan.New(o.JSON), b: o.JSON, rec: &found, managed: r.KeepManagedFields ||
		o.Side != history.SideApiserver, pod: o.Kind == kindPod}
	if first, err := c.s.Peek(); err != nil || first != '{' {
		return dst, nil, errNotPlain
	}
	missing := [2]string{}
	if o.Side == history.SideApiserver {
		missing = [2]string{o.APIVersion, o.Kind}
	}
	dst, err = c.object(dst, atRoot, missing)
	if err == nil {
		err = c.s.End()
	}
	if err != nil {
		return dst, nil, err
	}
	if rec.Name != "" {
		found.Name, found.Namespace = rec.Name, rec.Namespace
	}
	*rec = found
	return dst, c.version, nil
}

func (c *canon) value(dst []byte, at place) ([]byte, error) {
	first, err := c.s.Peek()
	if err != nil {
		return dst, err
	}
	switch first {
	case '{':
		return c.object(dst, at, [2]string{})
	case '[':
		dst = append(dst, '[')
		more, err := c.s.EnterArray()
		for i := 0; more && err == nil; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = c.value(dst, elsewhere); err == nil {
				more, err = c.s.NextElement()
			}
		}
		return append(dst, ']'), err
	}
	v, err := c.s.Value()
	if err != nil {
		return dst, err
	}
	if first == '"' {
		return appendCanonicalString(dst, v.Of(c.b))
	}
	return append(dst, v.Of(c.b)...), nil
}

// object appends an object with its members sorted by key; of equal keys the last one
// counts. missing are the root's apiVersion and kind where it has none.
func (c *canon) object(dst []byte, at place, missing [2]string) ([]byte, error) {
	var all []pair
	start := len(dst)
	more, err := c.s.EnterObject()
	for more && err == nil {
		var name jsonscan.Str
		if name, err = c.s.Key(); err != nil {
			break
		}
		m := pair{key: name.Text(c.b), from: len(dst)}
		quoted := c.b[name.Start-1 : name.End+1]
		keep := true
		if dst, err = appendCanonicalString(dst, quoted); err == nil {
			dst = append(dst, ':')
			dst, keep, err = c.member(dst, at, m.key)
		}
		if err != nil {
			break
		}
		if m.to = len(dst); keep {
			all = append(all, m)
		} else {
			all = slices.DeleteFunc(all, func(former pair) bool { return former.key == m.key })
		}
		more, err = c.s.NextMember()
	}
	if err != nil {
		return dst, err
	}
	if at == atRoot {
		for i, key := range []string{"apiVersion", "kind"} {
			if missing[i] != "" && !c.seen[i] {
				m := pair{key: key, from: len(dst)}
				dst = jsonscan.AppendString(append(dst, `"`+key+`":`...), missing[i])
				m.to = len(dst)
				all = append(all, m)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	c.spare = append(c.spare[:0], dst[start:]...)
	dst = append(dst[:start], '{')
	for i, m := range all {
		if i+1 < len(all) && all[i+1].key == m.key {
			continue
		}
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		dst = append(dst, c.spare[m.from-start:m.to-start]...)
	}
	return append(dst, '}'), nil
}

// member appends the value of one member, unless a rule leaves that out.
func (c *canon) member(dst []byte, at place, key string) (_ []byte, keep bool, err error) {
	inside := elsewhere
	from := len(dst)
	switch {
	case at == atRoot && key == "metadata":
		inside = inMetadata
		*c.rec = history.StateRecord{Side: c.rec.Side, Kind: c.rec.Kind, Bytes: c.rec.Bytes} // a second one counts alone
		c.version = nil
	case at == atRoot && key == "apiVersion":
		c.seen[0] = true
	case at == atRoot && key == "kind":
		c.seen[1] = true
	case at == inMetadata && key == "managedFields" && !c.managed,
		at == inAnnotations && slices.Contains(workloadAnnotations, key):
		_, err = c.s.Value()
		return dst, false, err
	case at == inMetadata && key == "annotations" && c.pod:
		inside = inAnnotations
	}
	if dst, err = c.value(dst, inside); err != nil {
		return dst, false, err
	}
	if at == inMetadata {
		c.identity(key, dst[from:])
		if key == "resourceVersion" {
			c.version = slices.Clone(dst[from:])
			return dst, false, nil
		}
	}
	return dst, inside != inAnnotations || string(dst[from:]) != "{}", nil
}

// identity takes what the record says from one member of metadata; only a string counts.
func (c *canon) identity(key string, value []byte) {
	text := ""
	if jsonscan.IsString(value) {
		text = jsonscan.Unquote(value)
	}
	switch key {
	case "name":
		c.rec.Name = text
	case "namespace":
		c.rec.Namespace = text
	case "uid":
		c.rec.UID = text
	case "resourceVersion":
		c.rec.ResourceVersion, _ = strconv.ParseUint(text, 10, 64) // see project
	}
}

// appendCanonicalString appends a string as json.Marshal escapes it.
func appendCanonicalString(dst, quoted []byte) ([]byte, error) {
	if !bytes.ContainsFunc(quoted[1:len(quoted)-1], func(r rune) bool {
		return r < 0x20 || r > 0x7e || r == '\\' || r == '<' || r == '>' || r == '&'
	}) {
		return append(dst, quoted...), nil
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return dst, err
	}
	again, err := json.Marshal(text)
	return append(dst, again...), err
}
