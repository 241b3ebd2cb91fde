package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/userfile"
)

// Format describes a kind of file: its bounds and its name in messages.
type Format struct {
	Noun  string // such as "scenario"
	Start string // how such a file begins, such as "apiVersion: v1"
	// MaxBytes, MaxDepth and MaxNodes bound the file.
	MaxBytes, MaxDepth, MaxNodes int
	// Variants is the advice to a user who wrote a second document; may be empty.
	Variants string
	// Several is the advice to a user who wrote a list where one value belongs, given
	// the field's path; nil gives none.
	Several func(path string) string
	// Retired is the advice for fields that there are no longer, by their paths, or by *.name wherever they are.
	Retired map[string]string
	// QuotedText refuses an unquoted number or boolean where text belongs.
	QuotedText bool
}

// Tree is a parsed file: nodes keep their line, and nodes that came from an override
// carry OverrideLine of it in place of one.
type Tree struct {
	Root      *yaml.Node // a mapping
	Overrides []string   // as given with --set
	format    *Format
	file      string
}

// OverrideLine marks a node as written in Tree.Overrides[i].
func OverrideLine(i int) int { return -(i + 1) }

func (t *Tree) place(n *yaml.Node) string {
	switch {
	case n == nil || n.Line == 0:
		return t.file
	case n.Line < 0:
		return "--set " + t.Overrides[-n.Line-1]
	}
	return t.file + ":" + strconv.Itoa(n.Line)
}

// Fail returns an *Error about the field that is written at n; nil is the file as a
// whole.
func (t *Tree) Fail(n *yaml.Node, field, problem, remedy string) error {
	return &Error{Place: t.place(n), Field: field, Problem: problem, Remedy: remedy}
}

var yamlLine = regexp.MustCompile(`^(?:go-)?yaml: (?:line (\d+): )?(.*)$`)

// Parse reads exactly one YAML document, a mapping, within the bounds. The name of
// the file is used in errors only. Errors are *Error.
func (f *Format) Parse(file string, data []byte) (*Tree, error) {
	t := &Tree{format: f, file: file}
	if len(data) > f.MaxBytes {
		return nil, t.Fail(nil, "", fmt.Sprintf("the file has %d bytes", len(data)),
			fmt.Sprintf("a %s has at most %d", f.Noun, f.MaxBytes))
	}
	data, err := userfile.UTF8(data)
	if err != nil {
		return nil, t.Fail(&yaml.Node{Line: userfile.Line(err)}, "", err.Error(), "a "+f.Noun+" is a YAML mapping in UTF-8")
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, t.Fail(nil, "", "the file is not text", "a "+f.Noun+" is a YAML mapping in UTF-8")
	}
	start := "a " + f.Noun + " starts with " + f.Start
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, t.Fail(nil, "", "the file is empty", start)
	} else if err != nil {
		return nil, t.syntaxError(err)
	}
	if err := dec.Decode(&more); err == nil {
		return nil, t.Fail(&more, "", "a second YAML document", "a file holds one "+f.Noun+f.Variants)
	} else if !errors.Is(err, io.EOF) {
		return nil, t.syntaxError(err)
	}
	t.Root = doc.Content[0]
	nodes := 0
	if err := t.bounds(t.Root, 0, &nodes); err != nil {
		return nil, err
	}
	if t.Root.Kind != yaml.MappingNode {
		return nil, t.Fail(t.Root, "", "the file is not a mapping", start)
	}
	return t, nil
}

func (t *Tree) syntaxError(err error) error {
	e := &Error{Place: t.file, Problem: err.Error(), Remedy: "check indentation and quotes there"}
	if m := yamlLine.FindStringSubmatch(e.Problem); m != nil {
		if e.Problem = m[2]; m[1] != "" {
			e.Place += ":" + m[1]
		}
	}
	e.Problem = "not YAML: " + e.Problem
	return e
}

func (t *Tree) bounds(n *yaml.Node, depth int, nodes *int) error {
	*nodes++
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return t.Fail(n, "", "anchors and aliases are not read", "write the value out")
	case depth > t.format.MaxDepth:
		return t.Fail(n, "", "nested too deeply", fmt.Sprintf("a %s has at most %d levels", t.format.Noun, t.format.MaxDepth))
	case *nodes > t.format.MaxNodes:
		return t.Fail(n, "", "too many values", fmt.Sprintf("a %s has at most %d", t.format.Noun, t.format.MaxNodes))
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			switch {
			case c.Kind != yaml.ScalarNode:
				return t.Fail(c, "", "a key that is not a word", "keys are plain field names")
			case c.Tag == "!!merge":
				return t.Fail(c, "", "merge keys are not read", "write the fields out")
			case seen[c.Value]:
				return t.Fail(c, c.Value, "given twice in one mapping", "keep one")
			}
			seen[c.Value] = true
		}
		if err := t.bounds(c, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// ParseOverride reads the right side of override i, within the bounds; an empty one
// is null.
func (t *Tree) ParseOverride(i int, text string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	if len(doc.Content) > 0 {
		n = doc.Content[0]
	}
	relabel(n, OverrideLine(i))
	nodes := 0
	return n, t.bounds(n, 0, &nodes)
}

func relabel(n *yaml.Node, line int) {
	n.Line = line
	for _, c := range n.Content {
		relabel(c, line)
	}
}
