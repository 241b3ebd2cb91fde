package strictyaml

import (
	"fmt"
	"strings"
)

// Error is one problem of a file.
type Error struct {
	Place   string // file:line, or --set key=value
	Field   string // dotted path; empty for the file as a whole
	Problem string
	Remedy  string // what would be right; may be empty
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
