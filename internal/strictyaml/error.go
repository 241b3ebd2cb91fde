package strictyaml

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Error is one problem of a file.
type Error struct {
	Place   string // file:line, or --set key=value
	Field   string // dotted path; empty for the file as a whole
	Problem string
	Remedy  string // what would be right; may be empty

	node      *yaml.Node   // where it is written; nil for the file as a whole
	unwritten bool         // node is only the nearest section around the field
	around    []*yaml.Node // sections from which Drop took it, and their keys
}

// Unwritten reports whether the field is not in the file: its place is that of the section
// around it.
func (e *Error) Unwritten() bool { return e.unwritten || e.node == nil }

// Section reports whether it is a section as a whole that is wrong, which a file and overrides
// may write together.
func (e *Error) Section() bool { return e.node != nil && e.node.Kind == yaml.MappingNode }

// Line is where the field is written; that of an override is negative, see OverrideLine.
func (e *Error) Line() int {
	if e.node == nil {
		return 0
	}
	return e.node.Line
}

func (e *Error) Error() string {
	var b strings.Builder
	for _, s := range []string{e.Place, e.Field} {
		if s != "" {
			b.WriteString(s)
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Problem)
	if e.Remedy != "" {
		b.WriteString("; ")
		b.WriteString(e.Remedy)
	}
	return oneLine.Replace(b.String())
}

// oneLine keeps a key that was written with line breaks from spreading an error
// over several lines.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")

// FieldError is a problem found in typed values, before its place is known.
type FieldError struct {
	Path    string // as written in the file, such as stages[1].gap
	Problem string
	Remedy  string // may be empty
}

func (e *FieldError) Error() string {
	return (&Error{Field: e.Path, Problem: e.Problem, Remedy: e.Remedy}).Error()
}

// Bad returns a *FieldError.
func Bad(path, remedy, format string, args ...any) error {
	return &FieldError{Path: path, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// Drop takes what an error is about out of the tree of the same file, so that it can be
// read for further ones. What is not written in the file stays.
func (t *Tree) Drop(e *Error) {
	if !e.Unwritten() {
		e.around = nil
		e.drop(t.Root)
	}
}

func (e *Error) drop(in *yaml.Node) bool {
	step := 1
	if in.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(in.Content); i += step {
		item := in.Content[i : i+step]
		if slices.ContainsFunc(item, func(c *yaml.Node) bool { return same(c, e.node) }) {
			in.Content = slices.Delete(in.Content, i, i+step)
			e.around = append(e.around, in)
			return true
		}
		if e.drop(item[step-1]) {
			e.around = append(e.around, item[0], in)
			return true
		}
	}
	return false
}

// same compares nodes of two trees of one file. A key that an edit made has no column.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.Line == b.Line && (a.Column == b.Column || b.Column == 0)
}

// Around reports whether e is about a section that lacks what another error was about,
// since that was dropped.
func (e *Error) Around(dropped *Error) bool {
	return e.node != nil && slices.ContainsFunc(dropped.around, func(n *yaml.Node) bool { return same(n, e.node) })
}
