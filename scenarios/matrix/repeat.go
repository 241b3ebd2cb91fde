package matrix

import (
	"slices"
	"strings"
)

// timing are the columns that a machine which stands still for a moment can fail.
var timing = []string{"I", "T"}

// Repeat tells why an entry is worth a second try: all that failed are columns of
// time, or the load fell short. A violation of any other kind is a fact, whatever the
// machine did; it is empty then.
func (e *Entry) Repeat() string {
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

// WorthRepeating tells why a scenario is run again, by cell: where anything failed that a
// second try cannot excuse, it is not.
func WorthRepeating(entries []Entry) map[string]string {
	why := map[string]string{}
	for i := range entries {
		e := &entries[i]
		failed, invalid := e.Verdict()
		switch w := e.Repeat(); {
		case w != "":
			why[e.Cell] = w
		case len(failed) > 0 || invalid != "":
			return nil
		}
	}
	return why
}

// Settle is what two runs of a scenario came to; why is from WorthRepeating. The second
// one counts, and says what the first try of a repeated cell was. A cell that was good at
// once, and was run again only beside others, keeps its first result where the second
// failed in nothing but what a further try would excuse.
func Settle(first, second []Entry, why map[string]string) []Entry {
	good := map[string]Entry{}
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
		} else if e.Repeat() != "" {
			*e = was
		}
	}
	return settled
}
