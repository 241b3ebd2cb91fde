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
	return noneOf("connections to listeners that no allowed subscription made", "nobody listened", s.Listeners, func(l trapSeen) (int64, string) {
		return l.Strange, l.Address + " " + l.Example
	})
}

// noneOf is that nothing is wrong with any of all; empty says that there are none, wrong how
// much is wrong with one, and what.
func noneOf[T any](name, empty string, all []T, wrong func(T) (int64, string)) result.Fact {
	if len(all) == 0 {
		return matrix.Missing("S", name, "", empty)
	}
	total, example := int64(0), ""
	for _, one := range all {
		if n, text := wrong(one); n > 0 {
			total, example = total+n, text
		}
	}
	return matrix.None("S", name, total, example)
}

// dialled: each forged address was refused when it was dialled, and failed for no other
// reason.
func (s *forgedSeen) dialled() result.Fact {
	return noneOf("forged addresses that were not refused when dialled", "there were none", s.Subscriptions, func(x forgedTries) (int64, string) {
		if x.Refused > 0 && x.Other == 0 && x.Delivered == 0 {
			return 0, ""
		}
		return 1, fmt.Sprintf("%s: %d delivered, %d times refused, %d other failures %s", x.Name, x.Delivered, x.Refused, x.Other, x.Example)
	})
}

// started: a configuration that shows its fault is refused, by exit code and key.
func (s *forgedSeen) started() result.Fact {
	return noneOf("configurations with a forged address that were not refused", "none was tried", s.Refusals, func(r forgedRefusal) (int64, string) {
		if r.Ended && r.ExitCode == badConfig && r.NamesKey {
			return 0, ""
		}
		return 1, fmt.Sprintf("%s: ended %t, exit code %d, %s", r.Name, r.Ended, r.ExitCode, r.LastLine)
	})
}

// elsewhere: each redirect is a try that failed, but for the one that may be under way. That
// none is followed, strange says.
func (s *forgedSeen) elsewhere() result.Fact {
	const name = "redirects that were not counted as failures"
	if s.Redirects == 0 {
		return matrix.Missing("S", name, "", "there was no redirect")
	}
	return matrix.None("S", name, s.Taken+max(0, s.Redirects-s.Failed-1), "")
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
