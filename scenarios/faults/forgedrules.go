package faults

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
)

// badConfig is the exit code of a watcher that refuses its configuration.
const badConfig = 2

// Rules: no forged address was connected to, and what shows in the configuration refused the
// start.
func (*forgery) Rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[forgedSeen](c.Deeds, forgeWebhooks)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	seen := &all[len(all)-1]
	return []matrix.Rule{{Facts: func(matrix.Seen) []result.Fact { return seen.facts() }, Vacuous: func(matrix.Seen) []string { return seen.vacuous() }}}, nil
}

func (s *forgedSeen) facts() []result.Fact {
	return []result.Fact{s.strange(), s.dialled(), s.started(), s.elsewhere()}
}

// strange: somebody listens on some of the addresses, and nobody came.
func (s *forgedSeen) strange() result.Fact {
	const name = "connections to listeners that no allowed subscription made"
	if len(s.Listeners) == 0 {
		return matrix.Missing("S", name, "", "nobody listened")
	}
	total, example := int64(0), ""
	for _, l := range s.Listeners {
		if l.Strange > 0 {
			total, example = total+l.Strange, l.Address+" "+l.Example
		}
	}
	return matrix.None("S", name, total, example)
}

// dialled: each forged address was refused when it was dialled, and failed for no other
// reason.
func (s *forgedSeen) dialled() result.Fact {
	const name = "forged addresses that were not refused when dialled"
	if len(s.Subscriptions) == 0 {
		return matrix.Missing("S", name, "", "there were none")
	}
	total, example := int64(0), ""
	for _, x := range s.Subscriptions {
		if x.Refused > 0 && x.Other == 0 && x.Delivered == 0 {
			continue
		}
		total++
		example = fmt.Sprintf("%s: %d delivered, %d times refused, %d other failures %s", x.Name, x.Delivered, x.Refused, x.Other, x.Example)
	}
	return matrix.None("S", name, total, example)
}

// started: a configuration that shows its fault is refused, by exit code and key.
func (s *forgedSeen) started() result.Fact {
	const name = "configurations with a forged address that were not refused"
	if len(s.Refusals) == 0 {
		return matrix.Missing("S", name, "", "none was tried")
	}
	total, example := int64(0), ""
	for _, r := range s.Refusals {
		if r.Ended && r.ExitCode == badConfig && r.NamesKey {
			continue
		}
		total++
		example = fmt.Sprintf("%s: ended %t, exit code %d, %s", r.Name, r.Ended, r.ExitCode, r.LastLine)
	}
	return matrix.None("S", name, total, example)
}

// elsewhere: an event whose receiver is elsewhere is given up.
func (s *forgedSeen) elsewhere() result.Fact {
	const name = "redirects after which the event was not given up"
	if s.Redirects == 0 {
		return matrix.Missing("S", name, "", "there was no redirect")
	}
	return matrix.None("S", name, max(0, s.Redirects-s.Gone), "")
}

// vacuous: the listeners must have been within reach. A subscription that never tried was
// never refused, which fails.
func (s *forgedSeen) vacuous() (why []string) {
	for _, l := range s.Listeners {
		if l.Deliveries < matrix.MinKeys {
			why = append(why, fmt.Sprintf("%d events reached %s by the subscription that is allowed to; at least %d are needed", l.Deliveries, l.Address, matrix.MinKeys))
		}
	}
	return why
}
