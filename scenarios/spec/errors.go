package spec

import (
	"fmt"
	"strings"
)

// Error is one problem of a scenario.
type Error struct {
	Place   string // file:line, or --set key=value
	Field   string // dotted path; empty for the file as a whole
	Problem string
	Remedy  string // what would be right
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
	return b.String()
}

// fieldError is a problem found in typed values, before its place is known.
type fieldError struct{ path, problem, remedy string }

func (e *fieldError) Error() string {
	return e.path + ": " + e.problem + "; " + e.remedy
}

func bad(path, remedy, format string, args ...any) error {
	return &fieldError{path: path, problem: fmt.Sprintf(format, args...), remedy: remedy}
}

// oneOf renders a list of words for a remedy.
func oneOf(words []string) string {
	return "use one of " + strings.Join(words, ", ")
}
