package behavior

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/expr"
)

// Match selects requests; empty lists select all.
type Match struct {
	Methods, Kinds []string
}

// Matches reports whether a request is selected.
func (m Match) Matches(method, kind string) bool {
	return (len(m.Methods) == 0 || slices.Contains(m.Methods, method)) &&
		(len(m.Kinds) == 0 || slices.Contains(m.Kinds, kind))
}

// ParseMatch reads a selector such as method=PUT|DELETE,kind=Pod.
func ParseMatch(text string) (Match, error) {
	var m Match
	for _, term := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(term, "=")
		values := strings.Split(value, "|")
		for i := range values {
			if values[i] = strings.TrimSpace(values[i]); values[i] == "" {
				ok = false
			}
		}
		switch key = strings.TrimSpace(key); {
		case ok && key == "method":
			for i, v := range values {
				if values[i] = strings.ToUpper(v); !slices.Contains([]string{"GET", "PUT", "DELETE", "POST"}, values[i]) {
					return m, fmt.Errorf("method %s: want GET, PUT, DELETE or POST", v)
				}
			}
			m.Methods = append(m.Methods, values...)
		case ok && key == "kind":
			m.Kinds = append(m.Kinds, values...)
		default:
			return m, fmt.Errorf("selector %q: want method=PUT|GET or kind=Pod|Node", strings.TrimSpace(term))
		}
	}
	return m, nil
}

// grammar names what the rules of a text choose, for its errors.
type grammar struct{ subject, thing, want string }

// Rule is a value for the requests that match.
type Rule[T any] struct {
	Match
	Value T
}

// parseRules reads selector: thing; selector: thing; thing, and each thing with parse. A rule that an unconditional one
// before it hides is an error.
func parseRules[T any](g grammar, text string, parse func(string) (T, error)) ([]Rule[T], error) {
	var rules []Rule[T]
	unconditional := ""
	for _, part := range expr.Split(text, ';') {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, fmt.Errorf("%s %q: an empty rule; want %s", g.subject, text, g.want)
		}
		if unconditional != "" {
			return nil, fmt.Errorf("%s %q: the rule %q is never reached, because %q before it matches everything", g.subject,
				text, part, unconditional)
		}
		pieces := expr.Split(part, ':')
		var r Rule[T]
		var err error
		switch len(pieces) {
		case 1:
			unconditional = part
		case 2:
			if r.Match, err = ParseMatch(pieces[0]); err != nil {
				return nil, fmt.Errorf("%s %q: %w", g.subject, part, err)
			}
		default:
			return nil, fmt.Errorf("%s %q: more than one colon; want selector: %s", g.subject, part, g.thing)
		}
		if r.Value, err = parse(strings.TrimSpace(pieces[len(pieces)-1])); err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// first returns the value of the first rule that matches the request, nil if none does.
func first[T any](rules []Rule[*T], method, kind string) *T {
	for i := range rules {
		if rules[i].Matches(method, kind) {
			return rules[i].Value
		}
	}
	return nil
}
