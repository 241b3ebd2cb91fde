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

func at(n *yaml.Node, key string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// Remove takes a key out of a mapping and returns its value, nil where it has none.
func Remove(n *yaml.Node, key string) *yaml.Node {
	i := at(n, key)
	if i < 0 {
		return nil
	}
	v := n.Content[i+1]
	n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
	return v
}

// Put stores a copy of a value at a dotted path in a mapping, making the mappings on
// the way. A mapping that meets a mapping is merged field by field; anything else
// replaces.
func Put(n *yaml.Node, path string, value *yaml.Node) {
	key, below, deeper := strings.Cut(path, ".")
	i := at(n, key)
	if i < 0 {
		i = len(n.Content)
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: value.Line},
			&yaml.Node{})
	}
	next := n.Content[i+1]
	switch {
	case deeper:
		if next.Kind != yaml.MappingNode {
			*next = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: value.Line}
		}
		Put(next, below, value)
	case next.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
		for j := 0; j+1 < len(value.Content); j += 2 {
			Put(next, value.Content[j].Value, value.Content[j+1])
		}
	default:
		*next = *Clone(value)
	}
}
