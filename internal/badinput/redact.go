package badinput

import (
	"regexp"
	"strings"
)

// redactions are applied in this order. In quotes an address may hold spaces, as a password that was not escaped may.
var redactions = []struct {
	of *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`"((?:[a-zA-Z+]+:)?//)?[^"\n]*@`), `"${1}…@`},
	{regexp.MustCompile(`((?:[a-zA-Z+]+:)?//)?[^\s"'…]+@`), `${1}…@`},
	{regexp.MustCompile(`(?i)([?&;][^=&;\s"]*(?:token|passw|secret|key|auth|sig)[^=&;\s"]*=)[^&;\s"]+`), `${1}…`},
}

// Redact takes passwords and tokens out of what is said about addresses: users in URLs, and parameters of a query that
// are named like a secret. It errs on the side of taking out too much.
func Redact(s string) string {
	if !strings.ContainsAny(s, "@?&") {
		return s
	}
	for _, r := range redactions {
		s = r.of.ReplaceAllString(s, r.to)
	}
	return s
}

// Redacted is err with the text that Redact leaves of it; it unwraps to err. nil stays nil.
func Redacted(err error) error {
	if err == nil {
		return nil
	}
	return &redactedError{err}
}

type redactedError struct{ err error }

func (e *redactedError) Error() string { return Redact(e.err.Error()) }
func (e *redactedError) Unwrap() error { return e.err }
