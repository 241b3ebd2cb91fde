package faults

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
)

const (
	// leastProbed is how often each probe must have been answered.
	leastProbed = 5
	// leastSlow is how many slow clients must have connected: enough that several times as many
	// wait as are served.
	leastSlow = 4 * apiConnections
	// againLimit is how long after the slow clients, in seconds, an honest one may have to
	// wait: those that the kernel has connected are looked at first.
	againLimit = 10.0
)

// Rules: each request is answered as it must be, nothing is found by what is masked, and the
// server comes back once slow clients are gone. That its connections are bounded is G7.
func (*abuse) Rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[abused](c.Deeds, abuseQueries)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	a := &all[len(all)-1]
	return []matrix.Rule{{Facts: func(matrix.Seen) []result.Fact { return a.facts() }, Vacuous: func(matrix.Seen) []string { return a.vacuous() }}}, nil
}

func (a *abused) facts() []result.Fact {
	const wrong, found = "requests that were answered otherwise than they must be", "lists that have other items than they must"
	if len(a.Probes) == 0 {
		return []result.Fact{matrix.Missing("S", wrong, "", "nothing was asked")}
	}
	var others, lists, answered int64
	example, list := "", ""
	for _, p := range a.Probes {
		for code, n := range p.Codes {
			answered += n
			if code != p.Want {
				others += n
				example = fmt.Sprintf("%s: %d, want %d %s", p.Name, code, p.Want, p.Error)
			}
		}
		if p.Items > 0 {
			lists += p.Items
			list = p.Name
		}
	}
	facts := []result.Fact{
		matrix.None("S", wrong, others, example), matrix.None("S", found, lists, list),
		matrix.Within("S", "requests that were answered", "", float64(answered), 0),
	}
	const again = "an honest client is answered after the slow ones"
	if a.Again < 0 {
		return append(facts, matrix.Missing("I", again, "s", fmt.Sprintf("it was not within %s", goodAgain)))
	}
	return append(facts, matrix.Within("I", again, "s", a.Again, againLimit))
}

func (a *abused) vacuous() (why []string) {
	for _, p := range a.Probes {
		n := int64(0)
		for _, m := range p.Codes {
			n += m
		}
		if n < leastProbed {
			why = append(why, fmt.Sprintf("%s was asked %d times; at least %d are needed", p.Name, n, leastProbed))
		}
	}
	there := 0
	for _, p := range a.Probes {
		there = max(there, p.There)
	}
	if there == 0 {
		why = append(why, "no object has the masked label that is looked for")
	}
	switch s := a.Slow; {
	case s.Connected < leastSlow:
		why = append(why, fmt.Sprintf("%d slow clients connected; at least %d are needed, with %d served at a time %s", s.Connected, leastSlow, apiConnections, s.Error))
	case s.Shaken == 0 || s.Cut == 0:
		why = append(why, fmt.Sprintf("of the slow clients %d got through the handshake and %d were cut off; some are needed", s.Shaken, s.Cut))
	}
	return why
}
