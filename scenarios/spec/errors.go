package spec

import (
	"strings"

	"github.com/watchbench/watchbench/internal/strictyaml"
)

// Error is one problem of a scenario.
type Error = strictyaml.Error

// bad is a problem found in typed values, before its place is known.
func bad(path, remedy, format string, args ...any) error {
	return strictyaml.Bad(path, remedy, format, args...)
}

// oneOf renders a list of words for a remedy.
func oneOf(words []string) string {
	return "use one of " + strings.Join(words, ", ")
}
