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

// RecoveryFact states how long after the end of a fault (Unix nanoseconds) storage first had everything that had
// happened until then, at most limit seconds. There is none if it never had, or if nothing happened before.
func RecoveryFact(name string, changes iter.Seq[history.Change], end int64, limit float64) result.Fact {
	last, happened, never := end, false, false
	for c := range changes {
		if c.Finished > end || c.Stored == 0 && (c.Gone || c.Unconfirmed) {
			continue
		}
		last, happened, never = max(last, c.Stored), true, never || c.Stored == 0
	}
	if !happened || never {
		return Missing("T", name, "s", "storage never had what had happened until then, or nothing had")
	}
	return Within("T", name, "s", float64(last-end)/1e9, limit)
}

// DelayFact states the longest delay of the changes that were dispatched since a time (Unix nanoseconds), from when
// they were intended, at most limit seconds. Without a change, or where one never arrived, there is none.
func DelayFact(name string, changes iter.Seq[history.Change], since int64, limit float64) result.Fact {
	made, missing, longest := 0, 0, int64(0)
	for c := range changes {
		if c.Started < since || c.Unconfirmed {
			continue // of what nobody acknowledged, nobody knows when
		}
		made++
		if c.Stored != 0 {
			longest = max(longest, c.Stored-c.Intended)
		} else if !c.Gone {
			missing++
		}
	}
	switch {
	case made == 0:
		return Missing("T", name, "s", "no change was made")
	case missing > 0:
		return Missing("T", name, "s", fmt.Sprintf("%d changes never arrived", missing))
	}
	return Within("T", name, "s", float64(longest)/1e9, limit)
}
