package matrix

import (
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// timing are the columns that a machine which stands still for a moment can fail.
var timing = []string{"I", "T"}

// Repeat returns why an entry is worth a second try: only timing columns failed, or the
// load fell short. It is empty otherwise: a violation of any other kind is a fact,
// whatever the machine did.
func Repeat(e *result.MatrixEntry) string {
	failed, invalid := e.Verdict()
	for _, c := range failed {
		if !slices.Contains(timing, c) {
			return ""
		}
	}
	if e.Error != "" || e.First != "" || len(failed) == 0 && invalid == "" {
		return ""
	}
	why := invalid
	for _, c := range failed {
		why = strings.TrimPrefix(why+"; "+c+": "+e.Columns[c].Detail, "; ")
	}
	return why
}

// WorthRepeating returns why a scenario is run again, by cell: where anything failed
// that a second try cannot excuse, it is not.
func WorthRepeating(entries []result.MatrixEntry) map[string]string {
	why := map[string]string{}
	for i := range entries {
		e := &entries[i]
		failed, invalid := e.Verdict()
		switch w := Repeat(e); {
		case w != "":
			why[e.Cell] = w
		case len(failed) > 0 || invalid != "":
			return nil
		}
	}
	return why
}

// Settle is what two runs of a scenario came to; why is from WorthRepeating. The second
// one counts, and records what the first try of a repeated cell was. A cell that was good
// at once, and was run again only beside others, keeps its first result where the second
// failed in nothing but what a further try would excuse.
func Settle(first, second []result.MatrixEntry, why map[string]string) []result.MatrixEntry {
	good := map[string]result.MatrixEntry{}
	for _, e := range first {
		if _, repeated := why[e.Cell]; !repeated {
			good[e.Cell] = e
		}
	}
	settled := slices.Clone(second)
	for i := range settled {
		e := &settled[i]
		if was, ok := good[e.Cell]; !ok {
			e.First = why[e.Cell]
		} else if Repeat(e) != "" {
			*e = was
		}
	}
	return settled
}
