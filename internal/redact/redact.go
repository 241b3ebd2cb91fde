// Package redact takes passwords and tokens out of what is said about addresses: users in
// URLs, and parameters of a query that are named like a secret. It errs on the side of
// taking out too much.
package redact

import (
	"regexp"
	"strings"
)

// rules are applied in this order. In quotes an address may hold spaces, as a password
// that was not escaped may.
var rules = []struct {
	of *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`"((?:[a-zA-Z+]+:)?//)?[^"\n]*@`), `"${1}…@`},
	{regexp.MustCompile(`((?:[a-zA-Z+]+:)?//)?[^\s"'…]+@`), `${1}…@`},
	{regexp.MustCompile(`(?i)([?&;][^=&;\s"]*(?:token|passw|secret|key|auth|sig)[^=&;\s"]*=)[^&;\s"]+`), `${1}…`},
}

// Text is s without secrets in addresses.
func Text(s string) string {
	if !strings.ContainsAny(s, "@?&") {
		return s
	}
	for _, r := range rules {
		s = r.of.ReplaceAllString(s, r.to)
	}
	return s
}

// Error is err with the text that Text leaves of it; it unwraps to err. nil stays nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	return &redacted{err}
}

type redacted struct{ err error }

func (e *redacted) Error() string { return Text(e.err.Error()) }
func (e *redacted) Unwrap() error { return e.err }
