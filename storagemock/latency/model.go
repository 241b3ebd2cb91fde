package latency

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/expr"
)

// Model draws the service time of a request by its method and kind. It is safe
// for concurrent use; with one seed and one order of requests it draws the same.
type Model struct {
	rules []*rule
	text  string
}

type rule struct {
	match Match
	dist  Distribution

	mu  sync.Mutex // guards rng and the state of dist
	rng *rand.Rand
}

// Match selects requests; empty lists select all.
type Match struct {
	Methods, Kinds []string
}

// Matches reports whether a request is selected.
func (m Match) Matches(method, kind string) bool {
	return (len(m.Methods) == 0 || slices.Contains(m.Methods, method)) &&
		(len(m.Kinds) == 0 || slices.Contains(m.Kinds, kind))
}

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

// ParseModel reads the rules of the grammar. Text without any rule is an error:
// to serve without delay, say 0s.
func ParseModel(text string, seed uint64) (*Model, error) {
	m := &Model{text: text}
	unconditional := ""
	for _, part := range expr.Split(text, ';') {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, fmt.Errorf("latency %q: an empty rule; want a duration like 87ms or a distribution like lognormal(mean=87ms,p99=110ms)", text)
		}
		if unconditional != "" {
			return nil, fmt.Errorf("latency %q: the rule %q is never reached, because %q before it matches everything", text, part, unconditional)
		}
		r, err := parseRule(part)
		if err != nil {
			return nil, err
		}
		if len(r.match.Kinds)+len(r.match.Methods) == 0 {
			unconditional = part
		}
		r.rng = rand.New(rand.NewPCG(seed, uint64(len(m.rules))))
		m.rules = append(m.rules, r)
	}
	return m, nil
}

func parseRule(part string) (*rule, error) {
	pieces := expr.Split(part, ':')
	if len(pieces) == 1 {
		d, err := Parse(part)
		return &rule{dist: d}, err
	}
	if len(pieces) > 2 {
		return nil, fmt.Errorf("latency %q: more than one colon; want selector: distribution", part)
	}
	match, err := ParseMatch(pieces[0])
	if err != nil {
		return nil, fmt.Errorf("latency %q: %w", part, err)
	}
	d, err := Parse(strings.TrimSpace(pieces[1]))
	return &rule{match: match, dist: d}, err
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

// Sample draws the service time of a request.
func (m *Model) Sample(method, kind string, now time.Time) time.Duration {
	for _, r := range m.rules {
		if r.match.Matches(method, kind) {
			if c, ok := r.dist.(Constant); ok {
				return time.Duration(c)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.dist.Sample(r.rng, now)
		}
	}
	return 0
}

// Mean is the expected service time of such a request.
func (m *Model) Mean(method, kind string) time.Duration {
	for _, r := range m.rules {
		if r.match.Matches(method, kind) {
			return r.dist.Mean()
		}
	}
	return 0
}

// String is the text the model was parsed from.
func (m *Model) String() string { return m.text }
