package matrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// timeColumns are judged by how long something took.
var timeColumns = []string{"I", "T"}

// wrong reports whether an entry shows more than lateness: a second try would hide it.
func wrong(e *result.MatrixEntry) bool {
	failed, _ := e.Verdict()
	return e.Error != "" || slices.ContainsFunc(failed, func(c string) bool { return !slices.Contains(timeColumns, c) })
}

// Again returns why a scenario is run once more, by cell: those that prove nothing. It is empty where any cell shows
// something wrong beside figures of time.
func Again(entries []result.MatrixEntry) map[string]string {
	why := map[string]string{}
	for i := range entries {
		e := &entries[i]
		if wrong(e) {
			return nil
		}
		if len(e.Invalid) > 0 {
			why[e.Cell] = strings.Join(e.Invalid, "; ")
		}
	}
	return why
}

// Settle merges two runs of a scenario; why is from Again. The second try of an invalid cell counts, and records what
// the first was. A valid one keeps its first result, unless the second shows something wrong.
func Settle(first, second []result.MatrixEntry, why map[string]string) []result.MatrixEntry {
	settled := slices.Clone(second)
	for i := range settled {
		e := &settled[i]
		w, again := why[e.Cell]
		was := slices.IndexFunc(first, func(x result.MatrixEntry) bool { return x.Cell == e.Cell })
		if again {
			e.First = w
		} else if was >= 0 && !wrong(e) {
			*e = first[was]
		}
	}
	return settled
}

// retry is the second try of a scenario, for the table.
func retry(first []result.MatrixEntry, why map[string]string) result.Retry {
	r := result.Retry{Scenario: first[0].Scenario}
	for _, e := range first {
		if w, again := why[e.Cell]; again {
			if len(first) > 1 {
				w = e.Cell + ": " + w
			}
			r.Why = strings.TrimPrefix(r.Why+"; "+w, "; ")
		}
	}
	return r
}

const (
	// stallGap is four periods of the sampler, stallSteal a share of the CPU time; quiet machines have below 0.005.
	stallGap   = time.Second
	stallSteal = 0.05
)

// stoodStill says how the machine stood still between the start of the load and the end of the drain; empty if it did
// not.
func stoodStill(c *Case) string {
	samples := c.Samples
	within := func(t int64) bool { return t >= c.Cell.LoadStarted && t <= c.Cell.DrainEnd }
	gap, stolen, total := time.Duration(0), 0.0, 0.0
	for i := 1; i < len(samples); i++ {
		a, b := &samples[i-1], &samples[i]
		if !within(a.Time) || !within(b.Time) {
			continue
		}
		if a.Until != 0 { // what a party takes to answer a reading is not in it
			gap = max(gap, time.Duration(b.Time-a.Until))
		}
		if a.CPU != nil && b.CPU != nil {
			stolen, total = stolen+b.CPU.Steal-a.CPU.Steal, total+b.CPU.Total-a.CPU.Total
		}
	}
	switch {
	case gap >= stallGap:
		return fmt.Sprintf("the runner stood still for %s", gap.Round(10*time.Millisecond))
	case total > 0 && stolen/total >= stallSteal:
		return fmt.Sprintf("the hypervisor took %.0f%% of the CPU time", 100*stolen/total)
	}
	return ""
}
