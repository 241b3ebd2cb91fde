package latency

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

func (m Match) everything() bool { return len(m.Kinds)+len(m.Methods) == 0 }

func (m Match) String() string {
	var parts []string
	if len(m.Methods) > 0 {
		parts = append(parts, "method="+strings.Join(m.Methods, "|"))
	}
	if len(m.Kinds) > 0 {
		parts = append(parts, "kind="+strings.Join(m.Kinds, "|"))
	}
	return strings.Join(parts, ",")
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

// choice is one rule: what is chosen for whom.
type choice struct {
	match Match
	text  string
}

// rules reads selector: thing; selector: thing; thing. A rule that an unconditional
// one before it hides is an error.
func (g grammar) rules(text string) ([]choice, error) {
	var all []choice
	unconditional := ""
	for _, part := range expr.Split(text, ';') {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, fmt.Errorf("%s %q: an empty rule; want %s", g.subject, text, g.want)
		}
		if unconditional != "" {
			return nil, fmt.Errorf("%s %q: the rule %q is never reached, because %q before it matches everything", g.subject, text, part, unconditional)
		}
		c := choice{text: part}
		switch pieces := expr.Split(part, ':'); len(pieces) {
		case 1:
		case 2:
			m, err := ParseMatch(pieces[0])
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", g.subject, part, err)
			}
			c = choice{m, strings.TrimSpace(pieces[1])}
		default:
			return nil, fmt.Errorf("%s %q: more than one colon; want selector: %s", g.subject, part, g.thing)
		}
		if c.match.everything() {
			unconditional = part
		}
		all = append(all, c)
	}
	return all, nil
}
