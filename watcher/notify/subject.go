package notify

import (
	"fmt"
	"slices"
	"strings"
)

// defaultPrefix begins the subjects where the user sets nothing.
const defaultPrefix = "k8s"

// checkPrefix refuses what no subject can begin with.
func checkPrefix(text string) error {
	if strings.ContainsAny(text, "{}*> \t\r\n") || strings.HasPrefix(text, "$") ||
		text != "" && slices.Contains(strings.Split(text, "."), "") {
		return fmt.Errorf("%q: want the first tokens, such as k8s.prod; those of the object follow", text)
	}
	return nil
}

// subjectOf has all that a consumer may want to choose by.
func subjectOf(prefix string, e Event) string {
	dst := []byte(prefix)
	for _, field := range []string{e.Group, e.Version, e.Resource, e.Namespace, e.Name} {
		dst = appendToken(append(dst, '.'), field)
	}
	return string(dst)
}

// appendToken writes text so that it is one token, and no other text is the same. "_" alone is the empty one.
func appendToken(dst []byte, text string) []byte {
	const hex = "0123456789ABCDEF"
	switch text {
	case "":
		return append(dst, '_')
	case "_":
		return append(dst, "%5F"...)
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_':
			dst = append(dst, c)
		default:
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}
