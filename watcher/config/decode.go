package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/setting"
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
	return badinput.Redact(b.String())
}

// decoder reads one file into a struct, key by key, so that each error has a place.
type decoder struct {
	file    string
	data    []byte
	lines   map[string]int // by path in lower case
	unused  []string
	ignored map[string]string // why keys have no effect, by path
}

// decode fills into, a pointer to a struct. unused are lower-case keys that the
// original knows and nothing here needs.
func decode(file string, data []byte, into any, unused ...string) (*decoder, error) {
	d := &decoder{file: file, data: data, lines: map[string]int{}, unused: unused, ignored: map[string]string{}}
	all, err := d.whole()
	if err != nil {
		return nil, err
	}
	return d, d.value("", all, reflect.ValueOf(into).Elem())
}

func (d *decoder) whole() (jsonscan.Range, error) {
	dec := json.NewDecoder(bytes.NewReader(d.data))
	var value json.RawMessage
	err := dec.Decode(&value)
	end, line := int(dec.InputOffset()), lineAt(d.data, len(d.data))
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("the file is empty, want a JSON object")
	case errors.As(err, &syntax):
		line = lineAt(d.data, int(syntax.Offset))
	case err == nil && len(bytes.TrimSpace(d.data[end:])) > 0:
		err = errors.New("something follows the JSON object")
	}
	if err != nil {
		return jsonscan.Range{}, &Error{File: d.file, Line: line, Msg: "not valid JSON: " + err.Error()}
	}
	return jsonscan.Range{Start: end - len(value), End: end}, nil
}

func lineAt(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

func (d *decoder) warnings() []string {
	var all []string
	for _, path := range slices.Sorted(maps.Keys(d.ignored)) {
		all = append(all, (&Error{File: d.file, Line: d.lines[strings.ToLower(path)], Key: path,
			Msg: d.ignored[path]}).Error())
	}
	return all
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (d *decoder) value(path string, r jsonscan.Range, v reflect.Value) error {
	if at := strings.ToLower(path); d.lines[at] == 0 {
		d.lines[at] = lineAt(d.data, r.Start)
	}
	raw := r.Of(d.data)
	switch {
	case string(raw) == "null":
		return nil
	case v.Addr().Type().Implements(unmarshaler):
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			return d.fail(path, err.Error())
		}
		return nil
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(path, r, v.Elem())
	case v.Kind() == reflect.Struct:
		return d.object(path, r, "an object", func(at, key string, value jsonscan.Range) error {
			f, ok := fieldByKey(v, key)
			if !ok {
				return d.unknown(at, key, v.Type())
			}
			return d.value(at, value, f)
		})
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		return d.object(path, r, "an object of strings", func(at, key string, value jsonscan.Range) error {
			elem := reflect.New(v.Type().Elem()).Elem()
			err := d.value(at, value, elem)
			v.SetMapIndex(reflect.ValueOf(key), elem)
			return err
		})
	case v.Kind() == reflect.Slice:
		return d.list(path, r, v)
	}
	if json.Unmarshal(raw, v.Addr().Interface()) != nil {
		return d.wrong(path, wanted(v.Type()), r)
	}
	return nil
}

// object calls member for each member of the object at r; want names the expected value.
func (d *decoder) object(path string, r jsonscan.Range, want string,
	member func(at, key string, value jsonscan.Range) error) error {
	if d.data[r.Start] != '{' {
		return d.wrong(path, want, r)
	}
	s := jsonscan.At(d.data, r.Start)
	return s.Object(func(k jsonscan.Str) error {
		key := k.Text(d.data)
		at := join(path, key)
		line := lineAt(d.data, k.Start)
		if d.lines[strings.ToLower(at)] > 0 {
			d.ignore(at, "stands twice, the last one counts")
		}
		d.lines[strings.ToLower(at)] = line
		value, err := s.Value()
		if err != nil {
			return err
		}
		return member(at, key, value)
	})
}

func (d *decoder) list(path string, r jsonscan.Range, v reflect.Value) error {
	if d.data[r.Start] != '[' {
		return d.wrong(path, "a list", r)
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	s := jsonscan.At(d.data, r.Start)
	more, err := s.EnterArray()
	for i := 0; more && err == nil; i++ {
		item, err := s.Value()
		if err != nil {
			return err
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(fmt.Sprintf("%s[%d]", path, i), item, elem); err != nil {
			return err
		}
		v.Set(reflect.Append(v, elem))
		if more, err = s.NextElement(); err != nil {
			return err
		}
	}
	return err
}

// unknown decides between a warning and an error for a key that has no field.
func (d *decoder) unknown(path, key string, t reflect.Type) error {
	if slices.Contains(d.unused, strings.ToLower(key)) {
		d.ignore(path, "has no effect")
		return nil
	}
	if instead := retired[index.ReplaceAllString(path, "[]")]; instead != "" {
		return d.fail(path, instead)
	}
	var known []string
	for i := range t.NumField() {
		known = append(known, tagOf(t.Field(i)))
	}
	if meant := badinput.Nearest(key, known); meant != "" {
		msg := fmt.Sprintf("unknown key, did you mean %q?", meant)
		parent := path[:len(path)-len(key)]
		if !Original(parent + meant) {
			return d.fail(path, msg)
		}
		d.ignore(path, msg+" It is ignored")
		return nil
	}
	if section, _, _ := strings.Cut(path, "."); slices.Contains(strict, section) {
		return d.fail(path, "unknown key, want one of "+strings.Join(known, ", "))
	}
	d.ignore(path, "unknown key, ignored")
	return nil
}

const (
	portsRemoved = "removed, leave it out: no receiver may listen on a port of the cluster's own parts"
	indexRemoved = "removed, leave it out: an index goes 5 minutes after its last use"
)

// retired are keys that were removed, with what to write instead.
var retired = map[string]string{
	"resourceWatcher.server.clientCAFile": "removed, leave it out: clients show a bearer token " +
		"(authentication: tokenReview)",
	"resourceWatcher.relations.indexIdle":              indexRemoved,
	"resourceWatcher.notify.subscriptions[].dedicated": "removed, leave it out: the subscription shares the kind's watch",
	"resourceWatcher.notify.subscriptions[].queue.whenFull": "removed, leave it out: when the queue is full, reading " +
		"stops until half of it is free, as with resync",
	"resourceWatcher.notify.subscriptions[].target.webhook.allowPorts": portsRemoved,
	"resourceWatcher.notify.subscriptions[].target.nats.allowPorts":    portsRemoved,
	"resourceWatcher.notify.subscriptions[].target.kafka.allowPorts":   portsRemoved,
	"alertor": "no alerts are sent any more, leave it out: subscribe to v1/events, with a webhook, in " +
		"resourceWatcher.notify.subscriptions",
	"bcs.eventMaxAge": "removed, leave it out: bcs.eventQueueLen and bcs.eventQueueBytes bound what waits",
	"resourceWatcher.notify.deadLetters": "removed, leave it out: events that are given up are counted and logged, and " +
		"their objects can be read again by the read API",
	"resourceWatcher.query.fieldIndexes": "removed, leave it out: the fields that the apiserver selects by work, and " +
		"spec.nodeName of Pods has an index",
	"cacheCheck.maxObjects":  "removed, leave it out: kinds of any size are compared",
	"cacheCheck.relistLarge": "removed, leave it out: kinds of any size are compared",
}

// strict are the sections in which an unknown key is an error: in what bcs-k8s-watch never
// had, no key can be one of its own.
var strict = []string{"resourceWatcher", "cacheCheck"}

// index matches the index of a list's element in a path.
var index = regexp.MustCompile(`\[\d+\]`)

// ignore notes why a key has no effect, or not quite the one it asks for.
func (d *decoder) ignore(path, why string) {
	if before := d.ignored[path]; before != "" {
		why = before + "; " + why
	}
	d.ignored[path] = why
}

func (d *decoder) fail(path, msg string) error {
	return &Error{File: d.file, Line: d.lines[strings.ToLower(path)], Key: path, Msg: msg}
}

func (d *decoder) wrong(path, want string, r jsonscan.Range) error {
	got := setting.KindOf(r.Of(d.data))
	if at := strings.ToLower(path); strings.Contains(at, "password") || strings.Contains(at, "token") {
		got = "something else" // it is not to be printed
	}
	return d.fail(path, fmt.Sprintf("want %s, got %s", want, got))
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
	default:
		return t.String()
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
