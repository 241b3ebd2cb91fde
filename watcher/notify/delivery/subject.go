package delivery

import (
	"errors"
	"fmt"
	"strings"
)

// defaultSubject has all that a consumer may want to choose by.
const defaultSubject = "k8s.{group}.{version}.{resource}.{namespace}.{name}"

// subject is a parsed template: text, and between two texts the value of a field.
type subject struct {
	texts  []string
	fields []func(Event) string // one less than texts
}

var subjectFields = map[string]func(Event) string{
	"group":     func(e Event) string { return e.Group },
	"version":   func(e Event) string { return e.Version },
	"resource":  func(e Event) string { return e.Resource },
	"namespace": func(e Event) string { return e.Namespace },
	"name":      func(e Event) string { return e.Name },
	"uid":       func(e Event) string { return e.UID },
	"type":      func(e Event) string { return e.Type },
}

// parseSubject reads a template; empty is the default.
func parseSubject(text string) (subject, error) {
	if text == "" {
		text = defaultSubject
	}
	var s subject
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "{")
		if strings.ContainsAny(before, "}*> \t\r\n") || strings.HasPrefix(rest, "$") && len(s.texts) == 0 {
			return s, fmt.Errorf("%q has a character that is not for subjects", text)
		}
		s.texts = append(s.texts, before)
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		field := subjectFields[name]
		if !closed || field == nil {
			return s, errors.New("has an unknown field, want {group}, {version}, {resource}, {namespace}, {name}, {uid} or " +
				"{type}")
		}
		s.fields = append(s.fields, field)
		rest = behind
	}
	for token := range strings.SplitSeq(text, ".") {
		if token == "" {
			return s, fmt.Errorf("%q has an empty token", text)
		}
	}
	return s, nil
}

// of is the subject of one event.
func (s subject) of(e Event) string {
	dst := []byte(s.texts[0])
	for i, field := range s.fields {
		dst = appendToken(dst, field(e))
		dst = append(dst, s.texts[i+1]...)
	}
	return string(dst)
}

// appendToken writes text so that it is one token, and no other text is the same. "_" alone
// is the empty one.
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
