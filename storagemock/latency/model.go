package latency

import (
	"math/rand/v2"
	"sync"
	"time"
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

var modelGrammar = grammar{"latency", "distribution", "a duration like 87ms or a distribution like lognormal(mean=87ms,p99=110ms)"}

// ParseModel parses the rules of the grammar. Text without any rule is an error; 0s
// serves without delay.
func ParseModel(text string, seed uint64) (*Model, error) {
	choices, err := modelGrammar.rules(text)
	if err != nil {
		return nil, err
	}
	m := &Model{text: text}
	for i, c := range choices {
		d, err := Parse(c.text)
		if err != nil {
			return nil, err
		}
		m.rules = append(m.rules, &rule{match: c.match, dist: d, rng: rand.New(rand.NewPCG(seed, uint64(i)))})
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
