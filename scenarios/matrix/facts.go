package matrix

import (
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Within states a figure that may be at most limit; a limit of 0 is none.
func Within(col, name, unit string, v, limit float64) result.Fact {
	f := result.Fact{Column: col, Name: name, Unit: unit, Value: v, OK: true}
	if limit > 0 {
		f.Limit, f.OK = &limit, v <= limit
	}
	return f
}

// Fact states a figure that holds if ok.
func Fact(col, name, unit string, v float64, ok bool) result.Fact {
	return result.Fact{Column: col, Name: name, Unit: unit, Value: v, OK: ok}
}

// States is a rule whose facts need no look at the record.
func States(facts ...result.Fact) Rule {
	return Rule{Facts: func(Seen) []result.Fact { return facts }}
}

// None states a count that must be 0; example is the first occurrence.
func None(col, name string, count int64, example string) result.Fact {
	zero := 0.0
	return result.Fact{Column: col, Name: name, Value: float64(count), Limit: &zero, OK: count == 0, Detail: example}
}

// Missing states that a figure could not be established, and why. It fails.
func Missing(col, name, unit, why string) result.Fact {
	return result.Fact{Column: col, Name: name, Unit: unit, Missing: true, Detail: why}
}

// Recovery is how long after the end of a fault (Unix nanoseconds) storage first had
// everything that had happened until then, in seconds. ok is false if it never had, or
// if nothing happened before.
func Recovery(changes iter.Seq[history.Change], end int64) (seconds float64, ok bool) {
	last := end
	for c := range changes {
		if c.Finished > end || c.Stored == 0 && (c.Gone || c.Unconfirmed) {
			continue
		}
		if c.Stored == 0 {
			return 0, false
		}
		last, ok = max(last, c.Stored), true
	}
	return float64(last-end) / 1e9, ok
}

// Delay is how long changes took to reach storage.
type Delay struct {
	Changes, Missing int
	Longest          float64 // seconds, from the intended time
}

// Delays looks at the changes that were dispatched since a time (Unix nanoseconds).
func Delays(changes iter.Seq[history.Change], since int64) (d Delay) {
	for c := range changes {
		if c.Started < since || c.Unconfirmed {
			continue // of what nobody acknowledged, nobody knows when
		}
		d.Changes++
		if c.Stored != 0 {
			d.Longest = max(d.Longest, float64(c.Stored-c.Intended)/1e9)
		} else if !c.Gone {
			d.Missing++
		}
	}
	return d
}

// Fact states the longest delay, at most limit seconds. Without a change, or where one
// never arrived, there is none.
func (d Delay) Fact(name string, limit float64) result.Fact {
	switch {
	case d.Changes == 0:
		return Missing("T", name, "s", "no change was made")
	case d.Missing > 0:
		return Missing("T", name, "s", fmt.Sprintf("%d changes never arrived", d.Missing))
	}
	return Within("T", name, "s", d.Longest, limit)
}

// DelayFact states the longest delay of the changes that were dispatched since a time, at
// most limit seconds.
func DelayFact(name string, changes iter.Seq[history.Change], since int64, limit float64) result.Fact {
	return Delays(changes, since).Fact(name, limit)
}

// RecoveryFact states the recovery after an end, at most limit seconds.
func RecoveryFact(name string, changes iter.Seq[history.Change], end int64, limit float64) result.Fact {
	s, ok := Recovery(changes, end)
	if !ok {
		return Missing("T", name, "s", "storage never had what had happened until then, or nothing had")
	}
	return Within("T", name, "s", s, limit)
}
