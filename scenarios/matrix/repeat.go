package matrix

import (
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Repeat returns why an entry is worth a second try: it was late in nothing but figures of
// time, and there is evidence that the machine stood still. It is empty otherwise: what a
// watcher lost, how it ended, and what could not be judged is a fact, whatever the machine
// did.
func Repeat(e *result.MatrixEntry) string {
	failed, _ := e.Verdict()
	if e.Error != "" || e.First != "" || len(e.Stalled) == 0 {
		return ""
	}
	for _, c := range failed {
		if !e.Columns[c].Late {
			return ""
		}
	}
	for _, reason := range e.Invalid {
		if !slices.Contains(e.Late, reason) {
			return ""
		}
	}
	why := slices.Clone(e.Invalid)
	for _, c := range failed {
		why = append(why, c+": "+e.Columns[c].Detail)
	}
	return strings.Join(why, "; ")
}

// good reports whether an entry has nothing that a second try could be for.
func good(e *result.MatrixEntry) bool {
	failed, invalid := e.Verdict()
	return len(failed) == 0 && invalid == ""
}

// WorthRepeating returns why a scenario is run again, by cell: where anything failed
// that a second try cannot excuse, it is not.
func WorthRepeating(entries []result.MatrixEntry) map[string]string {
	why := map[string]string{}
	for i := range entries {
		e := &entries[i]
		if good(e) {
			continue
		}
		w := Repeat(e)
		if w == "" {
			return nil
		}
		why[e.Cell] = w
	}
	return why
}

// retry is the second try of a scenario, for the table.
func retry(first []result.MatrixEntry, why map[string]string) result.Retry {
	r := result.Retry{Scenario: first[0].Scenario}
	var all []string
	for _, e := range first {
		w, repeated := why[e.Cell]
		if !repeated {
			continue
		}
		if len(first) > 1 {
			w = e.Cell + ": " + w
		}
		all = append(all, w)
		r.Stalled = append(r.Stalled, e.Stalled...)
	}
	r.Why = strings.Join(all, "; ")
	return r
}

// Settle is what two runs of a scenario came to; why is from WorthRepeating. The second
// one counts, and records what the first try of a repeated cell was. A cell that was good
// at once, and was run again only beside others, keeps its first result where the second
// failed in nothing but what a further try would excuse.
func Settle(first, second []result.MatrixEntry, why map[string]string) []result.MatrixEntry {
	was := map[string]result.MatrixEntry{}
	for _, e := range first {
		if _, repeated := why[e.Cell]; !repeated {
			was[e.Cell] = e
		}
	}
	settled := slices.Clone(second)
	for i := range settled {
		e := &settled[i]
		if before, ok := was[e.Cell]; !ok {
			e.First = why[e.Cell]
		} else if Repeat(e) != "" {
			*e = before
		}
	}
	return settled
}
