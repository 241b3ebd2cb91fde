package latency

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Model draws the service time of a request by its method and kind. It is safe
// for concurrent use; with one seed and one order of requests it draws the same.
type Model struct{ rules []Rule[*source] }

// source draws from one distribution.
type source struct {
	distribution
	mu  sync.Mutex // guards rng and the state of the distribution
	rng *rand.Rand
}

var modelGrammar = grammar{"latency", "distribution", "a duration like 87ms or a distribution like lognormal(mean=87ms,p99=110ms)"}

// ParseModel parses the rules of the grammar. Text without any rule is an error; 0s
// serves without delay.
func ParseModel(text string, seed uint64) (*Model, error) {
	n := uint64(0)
	rules, err := parseRules(modelGrammar, text, func(text string) (*source, error) {
		d, err := parseDistribution(text)
		if err != nil {
			return nil, err
		}
		rng := rand.New(rand.NewPCG(seed, n))
		n++
		return &source{distribution: d, rng: rng}, nil
	})
	return &Model{rules}, err
}

// Sample draws the service time of a request.
func (m *Model) Sample(method, kind string, now time.Time) time.Duration {
	s := first(m.rules, method, kind)
	switch {
	case s == nil:
		return 0
	case s.draw == nil:
		return s.mean
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draw(s.rng, now)
}

// Mean is the expected service time of such a request.
func (m *Model) Mean(method, kind string) time.Duration {
	if s := first(m.rules, method, kind); s != nil {
		return s.mean
	}
	return 0
}
