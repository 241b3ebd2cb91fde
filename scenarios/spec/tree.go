package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds on a scenario file. Shipped ones are below 4 KiB and 100 nodes; these
// leave room for generated ones and keep hostile ones cheap.
const (
	MaxBytes = 1 << 20
	MaxDepth = 16
	MaxNodes = 20_000
)

// tree is a parsed file: nodes keep their line, and nodes that came from an
// override carry -(1+index into sets) in place of it.
type tree struct {
	file string
	root *yaml.Node
	sets []string
}

// place renders where a node was written.
func (t *tree) place(n *yaml.Node) string {
	switch {
	case n == nil || n.Line == 0:
		return t.file
	case n.Line < 0:
		return "--set " + t.sets[-n.Line-1]
	}
	return t.file + ":" + strconv.Itoa(n.Line)
}

func (t *tree) fail(n *yaml.Node, field, problem, remedy string) error {
	return &Error{Place: t.place(n), Field: field, Problem: problem, Remedy: remedy}
}

var yamlLine = regexp.MustCompile(`^(?:go-)?yaml: (?:line (\d+): )?(.*)$`)

// parse reads exactly one YAML document, a mapping, within the bounds.
func parse(file string, data []byte) (*tree, error) {
	t := &tree{file: file}
	if len(data) > MaxBytes {
		return nil, &Error{Place: file, Problem: fmt.Sprintf("the file has %d bytes", len(data)),
			Remedy: fmt.Sprintf("a scenario has at most %d", MaxBytes)}
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, &Error{Place: file, Problem: "the file is not text", Remedy: "a scenario is a YAML mapping in UTF-8"}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Error{Place: file, Problem: "the file is empty", Remedy: "a scenario starts with apiVersion: " + APIVersion}
		}
		return nil, syntaxError(file, err)
	}
	var more yaml.Node
	if err := dec.Decode(&more); err == nil {
		return nil, &Error{Place: file + ":" + strconv.Itoa(more.Line), Problem: "a second YAML document",
			Remedy: "a file holds one scenario; use matrix for variants"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(file, err)
	}
	t.root = doc.Content[0]
	nodes := 0
	if err := t.bounds(t.root, 0, &nodes); err != nil {
		return nil, err
	}
	if t.root.Kind != yaml.MappingNode {
		return nil, t.fail(t.root, "", "the file is not a mapping", "a scenario starts with apiVersion: "+APIVersion)
	}
	return t, nil
}

func syntaxError(file string, err error) error {
	place, problem := file, err.Error()
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		if problem = m[2]; m[1] != "" {
			place += ":" + m[1]
		}
	}
	return &Error{Place: place, Problem: "not YAML: " + strings.ReplaceAll(problem, "\n", " "), Remedy: "check indentation and quotes there"}
}

func (t *tree) bounds(n *yaml.Node, depth int, nodes *int) error {
	*nodes++
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return t.fail(n, "", "anchors and aliases are not read", "write the value out")
	case depth > MaxDepth:
		return t.fail(n, "", "nested too deeply", fmt.Sprintf("a scenario has at most %d levels", MaxDepth))
	case *nodes > MaxNodes:
		return t.fail(n, "", "too many values", fmt.Sprintf("a scenario has at most %d", MaxNodes))
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			switch {
			case c.Kind != yaml.ScalarNode:
				return t.fail(c, "", "a key that is not a word", "keys are plain field names")
			case c.Tag == "!!merge":
				return t.fail(c, "", "merge keys are not read", "write the fields out")
			case seen[c.Value]:
				return t.fail(c, c.Value, "given twice in one mapping", "keep one")
			}
			seen[c.Value] = true
		}
		if err := t.bounds(c, depth+1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// clone copies a node and everything below it.
func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = clone(child)
	}
	return &c
}

// child finds the value of a key in a mapping.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// remove takes a key out of a mapping and returns its value.
func remove(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			v := n.Content[i+1]
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return v
		}
	}
	return nil
}

// put stores a value at a dotted path, making the mappings on the way. A mapping
// that meets a mapping is merged field by field; anything else replaces.
func put(root *yaml.Node, path string, value *yaml.Node) {
	parts := strings.Split(path, ".")
	n := root
	for i, part := range parts {
		next := child(n, part)
		last := i == len(parts)-1
		switch {
		case last && next != nil && next.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			for j := 0; j+1 < len(value.Content); j += 2 {
				put(next, value.Content[j].Value, value.Content[j+1])
			}
			return
		case last && next != nil:
			*next = *clone(value)
			return
		case next == nil || next.Kind != yaml.MappingNode:
			fresh := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: value.Line}
			if last {
				fresh = clone(value)
			}
			if next != nil {
				*next = *fresh
				n = next
				continue
			}
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: part, Line: value.Line}, fresh)
			n = fresh
		default:
			n = next
		}
	}
}
