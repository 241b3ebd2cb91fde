package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/units"
)

var format = Format{Noun: "menu", Start: "name", MaxBytes: 4096, MaxDepth: 8, MaxNodes: 100, QuotedText: true}

type menu struct {
	Name string `json:"name"`
	prices
	Open   units.Duration `json:"open,omitzero"`
	Dishes []dish         `json:"dishes,omitempty"`
	Notes  map[string]int `json:"notes,omitempty"`
	Extra  *dish          `json:"extra,omitempty"`
	Vegan  bool           `json:"vegan,omitempty"`
	Spice  either         `json:"spice,omitempty"`
	Hidden int            // has no tag
}

type prices struct {
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

type dish struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// either is a word or a list of words.
type either []string

func (e *either) DecodeYAML(d *Decoder, n *yaml.Node, path string) error {
	switch n.Kind {
	case yaml.ScalarNode:
		*e = either{n.Value}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			*e = append(*e, c.Value)
			d.Mark(fmt.Sprintf("%s[%d]", path, i), c)
		}
	default:
		return d.Fail(n, path, "neither a word nor a list", "write mild")
	}
	return nil
}

func read(text string) (menu, *Decoder, error) {
	m := menu{Name: "default", prices: prices{Least: 1}}
	tree, err := format.Parse("m.yaml", []byte(text))
	if err != nil {
		return m, nil, err
	}
	d, err := tree.Decode(tree.Root, &m)
	return m, d, err
}

func TestDecodeFillsOverDefaults(t *testing.T) {
	got, _, err := read("most: 2.5\nopen: 1m30s\ndishes: [{name: a, count: 18446744073709551615}, {}]\nnotes: {x: -1}\nextra: {name: \"7\"}\nvegan: true\nspice: [hot, mild]\n")
	want := menu{
		Name: "default", prices: prices{Least: 1, Most: 2.5}, Open: 90e9, Dishes: []dish{{"a", 1<<64 - 1}, {}},
		Notes: map[string]int{"x": -1}, Extra: &dish{Name: "7"}, Vegan: true, Spice: either{"hot", "mild"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	got, _, err = read("dishes: []\nnotes: {}\nextra:\nspice: mild")
	if want = (menu{Name: "default", prices: prices{Least: 1}, Spice: either{"mild"}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestErrorsNamePlaceFieldAndRemedy(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "m.yaml: the file is empty; a menu starts with name",
		"# nothing\n":                  "m.yaml: the file is empty; a menu starts with name",
		"[a]":                          "m.yaml:1: the file is not a mapping; a menu starts with name",
		"a: b\n---\nc: d":              "m.yaml:2: a second YAML document; a file holds one menu",
		"a: [":                         "m.yaml:1: not YAML: did not find expected node content; check indentation and quotes there",
		"\x00":                         "m.yaml: the file is not text; a menu is a YAML mapping in UTF-8",
		"n\x00a\x00":                   "m.yaml: the text is in UTF-16 (little-endian): save it as UTF-8; a menu is a YAML mapping in UTF-8",
		"\xfe\xff\x00a\x00:":           "m.yaml: the text is in UTF-16 (big-endian): save it as UTF-8; a menu is a YAML mapping in UTF-8",
		"\ufeffleast: x":               `m.yaml:1: least: "x" is not a number; write for example 2.5`, // a mark of UTF-8 is no part of the text
		"least: 1\nname: caf\xe9":      "m.yaml:2: the text is not UTF-8, but perhaps Latin-1: save it as UTF-8; a menu is a YAML mapping in UTF-8",
		"name: &x a":                   "m.yaml:1: anchors and aliases are not read; write the value out",
		"<<: {name: a}":                "m.yaml:1: merge keys are not read; write the fields out",
		"? {a: b}\n: c":                "m.yaml:1: a key that is not a word; keys are plain field names",
		"extra:\n  name: a\n  name: b": "m.yaml:3: name: given twice in one mapping; keep one",
		"name: a\nlesst: 2":            "m.yaml:2: lesst: unknown field; did you mean least?",
		"Hidden: 2":                    "m.yaml:1: Hidden: unknown field; the fields there are name, least, most, open, dishes, notes, extra, vegan, spice",
		"\"a\\nb\": 2":                 "m.yaml:1: a b: unknown field; the fields there are name, least, most, open, dishes, notes, extra, vegan, spice",
		"name: 12":                     "m.yaml:1: name: 12 is not text; put it in quotes",
		"most: 50%":                    `m.yaml:1: most: "50%" is not a number; write a part of a whole as a fraction, here 0.5`,
		"most: .inf":                   `m.yaml:1: most: ".inf" is not a number; write for example 2.5`,
		"notes: {x: 2.5}":              `m.yaml:1: notes.x: "2.5" is not a whole number; write digits only, for example 30`,
		"dishes:\n- {count: -1}":       `m.yaml:2: dishes[0].count: "-1" is not a whole number from 0; write digits only, for example 42`,
		"dishes: 1":                    "m.yaml:1: dishes: not a list; write [a, b]",
		"notes: 1":                     "m.yaml:1: notes: not a mapping; write key: value pairs below it",
		"extra: 1":                     "m.yaml:1: extra: not a mapping; write fields below it: name, count",
		"vegan: maybe":                 `m.yaml:1: vegan: "maybe" is neither true nor false; write true or false`,
		"vegan:":                       "m.yaml:1: vegan: nothing where one value is wanted; write one value",
		"most: [1]":                    "m.yaml:1: most: a list where one value is wanted; write one value",
		"open: [1s]":                   "m.yaml:1: open: not one value; write one value there",
		"open: 5":                      `m.yaml:1: open: "5" is not a duration; write a number with ms, s, m or h, for example 45s`,
		"spice: {a: b}":                "m.yaml:1: spice: neither a word nor a list; write mild",
		"notes: {a: {b: {c: {d: {e: {f: {g: {h: i}}}}}}}}":       "m.yaml:1: nested too deeply; a menu has at most 8 levels",
		"dishes: [" + strings.Repeat("{},", 100) + "{}]":         "m.yaml:1: too many values; a menu has at most 100",
		"name: " + strings.Repeat("a", format.MaxBytes-6) + "\n": "m.yaml: the file has 4097 bytes; a menu has at most 4096",
	} {
		_, _, err := read(text)
		var at *Error
		if !errors.As(err, &at) || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestLocate(t *testing.T) {
	_, d, err := read("name: a\nextra:\n  name: b\nspice:\n- mild\n")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"extra.name":  "m.yaml:3: extra.name: is odd; drop it",
		"extra.count": "m.yaml:3: extra.count: is odd; drop it", // the section around it
		"spice[0].x":  "m.yaml:5: spice[0].x: is odd; drop it",
		"most":        "m.yaml: most: is odd; drop it",
	} {
		if got := d.Locate(fmt.Errorf("wrapped: %w", Bad(path, "drop it", "is %s", "odd"))); got.Error() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	other := errors.New("other")
	if got := d.Locate(other); !errors.Is(got, other) || got.Error() != "other" {
		t.Errorf("another error became %v", got)
	}
}

func TestOverrides(t *testing.T) {
	tree, err := format.Parse("m.yaml", []byte("extra: {name: a, count: 2}\ndishes: [{name: x}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	tree.Overrides = []string{"extra={count: 5}", "dishes=", "notes.y.z=4"}
	root := Clone(tree.Root)
	for i, text := range tree.Overrides {
		path, value, _ := strings.Cut(text, "=")
		n, err := tree.ParseOverride(i, value)
		if err != nil {
			t.Fatal(err)
		}
		Put(root, path, n)
	}
	var m menu
	_, err = tree.Decode(root, &m)
	if want := "--set notes.y.z=4: notes.y: a mapping where one value is wanted; write one value"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if want := (dish{"a", 5}); *m.Extra != want || m.Dishes != nil {
		t.Errorf("got %+v and %+v", m.Extra, m.Dishes)
	}
	if n := Remove(root, "notes"); n == nil || Remove(root, "notes") != nil {
		t.Error("a key is removed once")
	}
	if _, err := tree.Decode(root, &m); err != nil {
		t.Error(err)
	}
	if _, err := tree.Decode(tree.Root, &m); err != nil || len(m.Dishes) != 1 {
		t.Errorf("the tree changed with its clone: %+v, %v", m, err)
	}
}

// FuzzRead checks that no input panics and that an error is one line.
func FuzzRead(f *testing.F) {
	f.Add("most: 2.5\nopen: 1m\ndishes: [{name: a}]\nnotes: {x: 1}")
	f.Add("a: &a [*a]\n")
	f.Add("? {}\n: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, err := read(text); err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("error on several lines: %q", err)
		}
	})
}
