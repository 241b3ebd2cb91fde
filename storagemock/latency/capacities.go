package latency

import "strings"

// Capacities are the rules of a storage's capacity: each has a queue of its own, and a
// request stands in that of the first rule it matches. What no rule matches is not
// limited.
type Capacities struct {
	rules []capacityRule
}

type capacityRule struct {
	match    Match
	capacity Capacity
}

var capacityGrammar = grammar{"capacity", "limits", "limits like inflight=300,rate=50/s"}

// ParseCapacities reads rules such as kind=Pod: rate=50/s; inflight=300. Empty text,
// or unlimited, is no limit.
func ParseCapacities(text string) (Capacities, error) {
	var c Capacities
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	choices, err := capacityGrammar.rules(text)
	if err != nil {
		return c, err
	}
	for _, ch := range choices {
		limits, err := ParseCapacity(ch.text)
		if err != nil {
			return c, err
		}
		c.rules = append(c.rules, capacityRule{ch.match, limits})
	}
	return c, nil
}

// String is the rules in their grammar.
func (c Capacities) String() string {
	var parts []string
	for _, r := range c.rules {
		text := r.capacity.String()
		if m := r.match.String(); m != "" {
			text = m + ": " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return Capacity{}.String()
	}
	return strings.Join(parts, "; ")
}

// Stations are the queues of one storage instance.
type Stations struct {
	capacities Capacities
	stations   []*Station // one for each rule, and one without limit
}

// NewStations returns the queues of those rules, all empty.
func NewStations(c Capacities, clock Clock) *Stations {
	s := &Stations{capacities: c}
	for _, r := range c.rules {
		s.stations = append(s.stations, NewStation(r.capacity, clock))
	}
	s.stations = append(s.stations, NewStation(Capacity{}, clock))
	return s
}

// For is the queue of a request.
func (s *Stations) For(method, kind string) *Station {
	for i, r := range s.capacities.rules {
		if r.match.Matches(method, kind) {
			return s.stations[i]
		}
	}
	return s.stations[len(s.capacities.rules)]
}

// Load is the number of requests in service and waiting, in all queues.
func (s *Stations) Load() (inFlight, waiting int) {
	for _, st := range s.stations {
		a, b := st.Load()
		inFlight, waiting = inFlight+a, waiting+b
	}
	return inFlight, waiting
}

// Capacities are what the stations were made with.
func (s *Stations) Capacities() Capacities { return s.capacities }
