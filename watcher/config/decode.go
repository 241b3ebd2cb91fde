package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/spelling"
)

// Error is one wrong thing in a file. Key is empty when the file as a whole is wrong.
type Error struct {
	File string
	Line int
	Key  string // as in bcs.podQueueNum
	Msg  string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// decoder reads one file into a struct, key by key, so that each error has a place.
type decoder struct {
	file     string
	lines    map[string]int // by path
	unused   map[string]bool
	warnings []string
}

// decode fills into, a pointer to a struct. unused are lower-case keys that the
// original knows and nothing here needs.
func decode(file string, data []byte, into any, unused ...string) (*decoder, error) {
	d := &decoder{file: file, unused: map[string]bool{}}
	for _, k := range unused {
		d.unused[k] = true
	}
	var err error
	if d.lines, err = lineIndex(data); err != nil {
		var syn *json.SyntaxError
		line := 1 + bytes.Count(data, []byte("\n"))
		if errors.As(err, &syn) {
			line = lineAt(data, syn.Offset)
		}
		return nil, &Error{File: file, Line: line, Msg: "not valid JSON: " + err.Error()}
	}
	return d, d.value("", data, reflect.ValueOf(into).Elem())
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (d *decoder) value(path string, raw json.RawMessage, v reflect.Value) error {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	if v.Addr().Type().Implements(unmarshaler) {
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			return d.fail(path, err.Error())
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.object(path, raw, v)
	case reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return d.fail(path, "want a list, got "+shorten(raw))
		}
		s := reflect.MakeSlice(v.Type(), len(items), len(items))
		for i, it := range items {
			if err := d.value(fmt.Sprintf("%s[%d]", path, i), it, s.Index(i)); err != nil {
				return err
			}
		}
		v.Set(s)
		return nil
	default:
		if json.Unmarshal(raw, v.Addr().Interface()) != nil {
			return d.fail(path, fmt.Sprintf("want %s, got %s", wanted(v.Type()), shorten(raw)))
		}
		return nil
	}
}

func (d *decoder) object(path string, raw json.RawMessage, v reflect.Value) error {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return d.fail(path, "want an object, got "+shorten(raw))
	}
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		at := join(path, k)
		f, ok := fieldByKey(v, k)
		if !ok {
			if err := d.unknown(at, k, v.Type()); err != nil {
				return err
			}
			continue
		}
		if err := d.value(at, keys[k], f); err != nil {
			return err
		}
	}
	return nil
}

// unknown decides between a warning and an error for a key that has no field.
func (d *decoder) unknown(path, key string, t reflect.Type) error {
	if d.unused[strings.ToLower(key)] {
		d.warnings = append(d.warnings, fmt.Sprintf("%s:%d: %s: has no effect", d.file, d.lines[path], path))
		return nil
	}
	var known []string
	for i := range t.NumField() {
		known = append(known, tagOf(t.Field(i)))
	}
	if meant := spelling.Nearest(key, known); meant != "" {
		return d.fail(path, fmt.Sprintf("unknown key, did you mean %q?", meant))
	}
	d.warnings = append(d.warnings, fmt.Sprintf("%s:%d: %s: unknown key, ignored", d.file, d.lines[path], path))
	return nil
}

func (d *decoder) fail(path, msg string) error {
	return &Error{File: d.file, Line: d.lines[path], Key: path, Msg: msg}
}

// fieldByKey matches as the original does: without regard to case.
func fieldByKey(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if strings.EqualFold(tagOf(v.Type().Field(i)), key) {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func tagOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint16:
		return "a number from 0 to 65535"
	case reflect.Uint64:
		return "a number from 0"
	case reflect.Int:
		return "a whole number"
	case reflect.Map:
		return "an object of strings"
	default:
		return t.String()
	}
}

func shorten(raw []byte) string {
	const most = 60
	if raw = bytes.TrimSpace(raw); len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
