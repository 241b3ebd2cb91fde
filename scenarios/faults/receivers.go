package faults

import (
	"cmp"
	"fmt"

	"github.com/watchbench/watchbench/loadgen/hookfault"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/matrix"
)

// receiving has no events: the faults of receivers are a part of the scenario's readers.
func receiving() family { return family{shared: receiverRules{}} }

type receiverRules struct{}

var _ Ruler = receiverRules{}

const (
	// leastFreshness is, in seconds, what a lower baseline counts as, as for G8.
	leastFreshness = 0.05
	// mostAnswer is, in bytes, what a receiver can get rid of of an answer of which 64 KiB
	// are read: what the sockets of both ends hold, too.
	mostAnswer = 8 << 20
)

// Rules: the pipeline must not notice the receivers, those that are well must be told of
// everything, and no answer is read to its end.
func (receiverRules) Rules(c *matrix.Case) ([]matrix.Rule, error) {
	s := &c.Cell.Scenario
	if s.Readers.Webhooks == 0 {
		return nil, nil
	}
	return []matrix.Rule{{Facts: func(seen matrix.Seen) []result.Fact {
		w := seen.Figures.Readers.Webhooks
		r3 := seen.Figures.Checks["R3"]
		facts := []result.Fact{
			matrix.None("L", "changes that well receivers were not told of", w.Missed, r3.Counterexample),
			matrix.None("O", "deliveries that were wrong or out of order", r3.Violations-w.Missed, r3.Counterexample),
			freshAsBase(c, seen),
		}
		for _, f := range s.Readers.FaultSpecs() {
			if f.Effect == hookfault.Huge {
				facts = append(facts, matrix.Within("B", "most that was taken of an answer of "+fmt.Sprint(f.Size)+" B", "B", float64(w.AnswerBytes), mostAnswer))
				break
			}
		}
		return facts
	}}}, nil
}

// freshAsBase compares the Pods' freshness with that of the row F0, whatever the fault.
func freshAsBase(c *matrix.Case, seen matrix.Seen) result.Fact {
	const name = "freshness p99 of Pods against F0"
	base, q := c.Baseline, seen.Figures.Freshness
	if base == nil || base.Freshness == nil || q == nil {
		return matrix.Missing("I", name, "×", "there is no row F0 to compare with")
	}
	return matrix.Within("I", name, "×", q.P99/max(base.Freshness.P99, leastFreshness), cmp.Or(c.Cell.Scenario.Fault.Isolation, 2))
}
