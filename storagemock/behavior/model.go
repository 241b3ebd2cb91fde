package behavior

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
)

// Model draws the service time of a request by its method and kind. It is safe for concurrent use. With one seed an
// object's nth request draws the same, whatever other objects' requests come between: strategies that send in different
// orders are compared on equal latencies.
type Model struct{ rules []Rule[*source] }

// source draws from one distribution.
type source struct {
	dist.Latency
	seed   uint64
	mu     sync.Mutex        // guards what follows, and the state of the distribution
	served map[uint64]uint64 // requests so far, by object: 38 bytes for each that there ever was
	object rand.PCG          // is seeded anew for each request
	from   dist.Source
}

var modelGrammar = grammar{"latency", "distribution",
	"a duration like 87ms or a distribution like lognormal(mean=87ms,p99=110ms)"}

// ParseModel parses the rules of the grammar. Text without any rule is an error; 0s serves without delay.
func ParseModel(text string, seed uint64) (*Model, error) {
	n := uint64(0)
	rules, err := parseRules(modelGrammar, text, func(text string) (*source, error) {
		s := &source{seed: seed + n<<32, served: map[uint64]uint64{}}
		if err := s.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("latency %w", err)
		}
		s.from.Rand = rand.New(&s.object)
		n++
		return s, nil
	})
	return &Model{rules}, err
}

// Sample draws the service time of a request for an object of that name, in whatever namespace: that is where cells of
// a run differ.
func (m *Model) Sample(method, kind, name string, now time.Time) time.Duration {
	s := first(m.rules, method, kind)
	switch {
	case s == nil:
		return 0
	case s.Fixed():
		return s.Mean()
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, kind+"\x00"+name)
	id := h.Sum64()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.object.Seed(s.seed^id, s.served[id])
	s.served[id]++
	s.from.Now = now
	return s.Draw(s.from)
}

// Mean is the expected service time of such a request.
func (m *Model) Mean(method, kind string) time.Duration {
	if s := first(m.rules, method, kind); s != nil {
		return s.Mean()
	}
	return 0
}
