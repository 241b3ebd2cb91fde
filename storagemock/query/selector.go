package query

import (
	"fmt"
	"strings"
)

// labelsPath is where label selectors look.
const labelsPath = "data.metadata.labels."

// ParseSelector reads a label selector: k=v, k+in+(a,b), k+notin+(a,b), k+!=+v,
// k+=+v or k (exists), joined by commas. A plus sign that was not escaped in the
// URL arrives as a space and counts the same.
func ParseSelector(s string) (Condition, error) {
	var all All
	for _, term := range splitTerms(s) {
		c, err := parseTerm(strings.ReplaceAll(strings.TrimSpace(term), " ", "+"))
		if err != nil {
			return nil, fmt.Errorf("labelSelector %q: %w", s, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// splitTerms cuts at commas outside of parentheses.
func splitTerms(s string) []string {
	var terms []string
	depth, start := 0, 0
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			terms = append(terms, s[start:i])
			start = i + 1
		}
	}
	return append(terms, s[start:])
}

func parseTerm(term string) (Condition, error) {
	if key, rest, ok := strings.Cut(term, "+"); ok {
		op, value, _ := strings.Cut(rest, "+")
		return operation(key, op, value)
	}
	if key, value, ok := strings.Cut(term, "="); ok {
		return operation(key, "=", strings.TrimPrefix(value, "="))
	}
	if term == "" || strings.ContainsAny(term, "()!") {
		return nil, fmt.Errorf("%q is no term; want k=v, k+in+(a,b), k+notin+(a,b), k+!=+v or k", term)
	}
	return Exists{ParsePath(labelsPath + term)}, nil
}

func operation(key, op, value string) (Condition, error) {
	path := labelsPath + key
	inner, isList := strings.CutPrefix(value, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	if key == "" || value == "" || isList != closed || isList != (op == "in" || op == "notin") {
		return nil, fmt.Errorf("%q %q %q: want a key, an operator and a value, or a list in parentheses after in and notin", key, op, value)
	}
	switch op {
	case "=", "==":
		return OneOf(path, []string{value}), nil
	case "!=":
		return Not{OneOf(path, []string{value})}, nil
	case "in":
		return OneOf(path, strings.Split(inner, ",")), nil
	case "notin":
		return Not{OneOf(path, strings.Split(inner, ","))}, nil
	}
	return nil, fmt.Errorf("operator %q: want =, !=, in or notin", op)
}
