package faults

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Rules state what storage made of each event, and how long it took.
func (*customs) Rules(c *matrix.Case) ([]matrix.Rule, error) {
	if !hasEvent(&c.Cell.Scenario, customEvents...) {
		return nil, nil
	}
	all, err := history.Deeds[follow](c.Deeds, customEvents...)
	if err != nil {
		return nil, err
	}
	cached := 0
	for _, f := range all {
		cached = max(cached, f.Cached)
	}
	times := newCustomTimes(all)
	return []matrix.Rule{{
		Cached:  cached,
		Request: times.see,
		Vacuous: func(matrix.Seen) []string { return customVacuous(c) },
		Facts: func(matrix.Seen) []result.Fact {
			limit := recovery(c)
			facts := append([]result.Fact{missed(c)}, times.facts(limit)...)
			for _, what := range []string{crdSwitch, crdUnserve, changeCustoms, removeVersion} {
				some, err := history.Deeds[follow](c.Deeds, what)
				if err != nil || len(some) == 0 {
					continue // read above
				}
				longest, behind := 0.0, ""
				for _, f := range some {
					longest, behind = max(longest, f.Seconds), cmp.Or(behind, f.Behind)
				}
				if name := "until storage followed " + what; behind != "" {
					facts = append(facts, matrix.Missing("T", name, "s", "it never did: "+behind))
				} else {
					facts = append(facts, matrix.Within("T", name, "s", longest, limit))
				}
			}
			return facts
		},
	}}, nil
}

// missed counts the events that storage did not follow. At least one must have been
// waited for.
func missed(c *matrix.Case) result.Fact {
	n, waited, first := int64(0), 0, ""
	for _, what := range customEvents {
		some, err := history.Deeds[follow](c.Deeds, what)
		if err != nil {
			continue // Rules reports it
		}
		for _, f := range some {
			waited++
			if f.Behind == "" {
				continue
			}
			if n++; first == "" {
				first = what + ": " + f.Behind
			}
		}
	}
	f := matrix.None("C", "events that storage did not follow", n, strings.TrimPrefix(fmt.Sprintf("%s; %d waited for", first, waited), "; "))
	f.OK = f.OK && waited > 0
	return f
}

// customTimes reads from the ledger when the first write of each kind arrived, and the
// last delete.
type customTimes struct {
	definitions      []defined
	written, deleted map[string]int64
}

func newCustomTimes(all []follow) *customTimes {
	t := &customTimes{written: map[string]int64{}, deleted: map[string]int64{}}
	for _, f := range all {
		t.definitions = append(t.definitions, f.Defined...)
	}
	return t
}

func (t *customTimes) see(e *ledger.Entry) {
	switch {
	case !e.Took():
	case e.Method == http.MethodDelete:
		t.deleted[e.Kind] = e.Applied
	case t.written[e.Kind] == 0:
		t.written[e.Kind] = e.Applied
	}
}

// facts are in seconds; 0 where storage was faster than the apiserver's answer.
func (t *customTimes) facts(limit float64) []result.Fact {
	type times struct {
		name  string
		all   []float64
		never string // a kind of which it did not happen
	}
	established := &times{name: "definition established until its first object is in storage"}
	made := &times{name: "first object of a definition made until it is in storage"}
	left := &times{name: "definition removed until its last row is gone"}
	since := func(to *times, kind string, from, at int64) {
		switch {
		case from == 0: // the event was another
		case at == 0:
			to.never = kind
		default:
			to.all = append(to.all, max(0, float64(at-from)/1e9))
		}
	}
	for _, d := range t.definitions {
		since(established, d.Kind, d.Established, t.written[d.Kind])
		since(made, d.Kind, d.First, t.written[d.Kind])
		since(left, d.Kind, d.Gone, t.deleted[d.Kind])
	}
	var facts []result.Fact
	for _, x := range []*times{established, made, left} {
		if x.never != "" {
			facts = append(facts, matrix.Missing("T", x.name, "s", "it never happened for "+x.never))
		} else if len(x.all) > 0 {
			f := matrix.Within("T", x.name, "s", slices.Max(x.all), limit)
			f.Detail = fmt.Sprintf("the longest of %d definitions", len(x.all))
			facts = append(facts, f)
		}
	}
	return facts
}

// customVacuous names what the events did not show.
func customVacuous(c *matrix.Case) []string {
	var why []string
	want, fired, keys := map[string]int{}, map[string]int{}, map[string]int64{}
	for _, e := range c.Cell.Scenario.Events {
		want[e.What]++
	}
	for _, d := range c.Deeds {
		fired[d.What]++
		keys[d.What] += d.Keys
	}
	for _, what := range customEvents {
		switch n := want[what]; {
		case n == 0:
		case fired[what] < n:
			why = append(why, fmt.Sprintf("the event %s happened %d times instead of %d", what, fired[what], n))
		case keys[what] < minKeys:
			why = append(why, fmt.Sprintf("the event %s concerned %d custom objects; at least %d are needed", what, keys[what], minKeys))
		}
	}
	return why
}
