package strictyaml

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// IsNull reports whether n is an empty value or null.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// Clone copies a node and everything below it.
func Clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = Clone(child)
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

// Remove takes a key out of a mapping and returns its value, nil where it has none.
func Remove(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			v := n.Content[i+1]
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return v
		}
	}
	return nil
}

// Put stores a copy of a value at a dotted path, making the mappings on the way. A
// mapping that meets a mapping is merged field by field; anything else replaces.
func Put(root *yaml.Node, path string, value *yaml.Node) {
	parts := strings.Split(path, ".")
	n := root
	for i, part := range parts {
		next := child(n, part)
		last := i == len(parts)-1
		switch {
		case last && next != nil && next.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			for j := 0; j+1 < len(value.Content); j += 2 {
				Put(next, value.Content[j].Value, value.Content[j+1])
			}
			return
		case last && next != nil:
			*next = *Clone(value)
			return
		case next == nil || next.Kind != yaml.MappingNode:
			fresh := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: value.Line}
			if last {
				fresh = Clone(value)
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
