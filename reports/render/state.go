package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// state says whether a row may be believed and compared.
type state string

const (
	stateFailed  state = "failed"  // a check failed, be it in an invalid repetition
	stateInvalid state = "invalid" // no repetition may be believed
	stateAllowed state = "allowed" // a check failed that the scenario allows to fail
	stateCut     state = "cut"     // the drain limit ended it
	stateOpen    state = "open"    // nothing failed, but not everything was judged
	statePassed  state = "passed"
)

// states are all of them, the worst first, in words.
var states = []struct {
	state state
	text  string
}{
	{stateFailed, "failed"},
	{stateInvalid, "invalid"},
	{stateAllowed, "failed as the scenario allows"},
	{stateCut, "cut at the drain limit, passed what could be judged"},
	{stateOpen, "passed what could be judged"},
	{statePassed, "passed every check"},
}

func core(g string) bool { return slices.Contains(result.Core, g) }

func (r *row) state() state {
	switch {
	case len(r.with(result.Fail)) > 0:
		return stateFailed
	case r.void():
		return stateInvalid
	case len(r.with(result.Allowed)) > 0:
		return stateAllowed
	case r.cut():
		return stateCut
	case len(r.with(result.Pass)) == 0, len(r.open()) > 0, len(r.with(result.NoPower)) > 0:
		return stateOpen
	}
	return statePassed
}

// with lists the checks that have a verdict, G2 before G10.
func (r *row) with(verdict string) []string {
	var names []string
	for name, c := range r.checks {
		if c.Verdict == verdict {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, compareNatural)
	return names
}

// open lists the core checks that could not be judged. The others are judged only
// where a scenario makes what they ask about happen.
func (r *row) open() []string {
	return slices.DeleteFunc(r.with(result.NotJudged), func(g string) bool { return !core(g) })
}

// failing lists the checks that failed, those last that the scenario allows to.
func (r *row) failing() []string { return append(r.with(result.Fail), r.with(result.Allowed)...) }

// Unasked names the checks that this scenario leaves open.
func (t *table) Unasked() string {
	if len(t.unasked) == 0 {
		return ""
	}
	return "Not asked by this scenario: " + ranges(t.unasked) + "."
}

// ranges writes G1 G2 G3 G6 as "G1–G3 G6".
func ranges(checks []string) string {
	follows := func(g, last string) bool {
		prefix, n, ok := splitNumber(g)
		lastPrefix, m, lastOK := splitNumber(last)
		return ok && lastOK && prefix == lastPrefix && n == m+1
	}
	var words []string
	for i := 0; i < len(checks); {
		j := i + 1
		for j < len(checks) && follows(checks[j], checks[j-1]) {
			j++
		}
		if j-i > 2 {
			words = append(words, checks[i]+"–"+checks[j-1])
		} else {
			words = append(words, checks[i:j]...)
		}
		i = j
	}
	return strings.Join(words, " ")
}

// cut reports whether any believed repetition ended at the drain limit.
func (r *row) cut() bool {
	return slices.ContainsFunc(r.valid, func(c *result.Cell) bool { return c.Cut })
}

// cuts says how many repetitions were cut, if others were not.
func (r *row) cuts() string {
	n := 0
	for _, c := range r.valid {
		if c.Cut {
			n++
		}
	}
	if n == 0 || n == len(r.valid) {
		return ""
	}
	return fmt.Sprintf("%d of %d ", n, len(r.valid))
}

// cutFraction is the part of the work done when the drain limit came.
func (r *row) cutFraction() *float64 {
	var done []float64
	for _, c := range r.valid {
		if c.Cut {
			done = append(done, c.CutFraction)
		}
	}
	return median(done)
}

// correct reports whether the row's speed may be compared: believed, and none of
// the core checks failed, allowed or not.
func (r *row) correct() bool {
	return len(r.valid) > 0 && len(r.checks) > 0 && !slices.ContainsFunc(r.failing(), core)
}

// verdict is the row's checks in a few words.
func (r *row) verdict() string {
	var words []string
	if r.void() {
		words = append(words, "INVALID")
	}
	if f := r.cutFraction(); f != nil {
		words = append(words, r.cuts()+"cut at "+percent(*f))
	}
	failed, allowed, passed, open := r.with(result.Fail), r.with(result.Allowed), r.with(result.Pass), r.open()
	if len(failed) > 0 {
		words = append(words, "FAIL "+strings.Join(failed, " "))
	}
	if len(allowed) > 0 {
		words = append(words, "fails "+strings.Join(allowed, " ")+" (allowed)")
	}
	if len(failed)+len(allowed) == 0 && len(passed) > 0 {
		words = append(words, "pass "+ranges(passed))
	}
	if len(open) > 0 {
		words = append(words, ranges(open)+" not judged")
	}
	if weak := r.with(result.NoPower); len(weak) > 0 {
		words = append(words, ranges(weak)+" no power")
	}
	return orUnknown(clean(strings.Join(words, ", ")))
}

// Notes are the remarks on all rows, under their names.
func (t *table) Notes() (all []fact) {
	for _, r := range t.rows {
		for _, n := range r.notes() {
			all = append(all, fact{r.name(), clean(n)})
		}
	}
	return all
}

// notes explains what the table shows in this row: why it is invalid, cut, failed,
// or incomplete. The first words are a full sentence's; names are not escaped.
func (r *row) notes() []string {
	var notes []string
	invalid := "left out as invalid"
	if r.void() {
		invalid = "invalid"
	}
	for _, c := range r.cells {
		if !c.Valid {
			note := invalid + r.repetition(c) + ": " + strings.Join(c.InvalidReasons, "; ")
			if found := violated(c); len(found) > 0 {
				note += "; what it violates counts all the same: " + strings.Join(found, " ")
			}
			notes = append(notes, note)
		}
	}
	if f := r.cutFraction(); f != nil {
		note := fmt.Sprintf("%scut at the drain limit with %s of the events acknowledged", r.cuts(), percent(*f))
		if v := drain.measure(r); v.number != nil && !v.projected {
			note += "; the Pods had drained, other kinds had not"
		} else if v.number != nil && r.cuts() == "" {
			note += fmt.Sprintf("; a full drain is projected to take about %s s", short(*v.number))
		} else if v.number != nil {
			note += ", whose drain is projected; the row's is the median of all"
		}
		if freshnessP99.measure(r).number != nil {
			note += "; freshness covers only what was acknowledged, so it is at least that"
		}
		notes = append(notes, note)
	}
	for _, g := range r.failing() {
		notes = append(notes, r.failure(g))
	}
	for _, g := range r.with(result.NoPower) {
		c := r.checks[g]
		notes = append(notes, fmt.Sprintf("%s found nothing, and has %s: too few states of one object waited or were in flight together", checkTitle(g), noPower(c.Power, c.MinPower)))
	}
	return notes
}

// violated lists what an invalid repetition is found guilty of.
func violated(c *result.Cell) []string {
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(c.Checks), compareNatural), func(g string) bool { return !c.Counts(g) })
}

// failure says in one line what is wrong with check g.
func (r *row) failure(g string) string {
	c := r.checks[g]
	s := checkTitle(g) + " fails"
	if c.Verdict == result.Allowed {
		s += ", which the scenario allows"
	}
	return s + ": " + violations(c)
}

// violations is how often a check failed.
func violations(c result.Check) string {
	s := plural(int(max(c.Violations, 1)), "violation")
	if c.Judged > 0 {
		s += fmt.Sprintf(" in %d judged", c.Judged)
	}
	if c.Note != "" {
		s += " (" + c.Note + ")"
	}
	return s
}

func (r *row) repetition(c *result.Cell) string {
	if len(r.cells) < 2 {
		return ""
	}
	return fmt.Sprintf(" (repetition %d)", c.Repetition)
}

// guarantees are the checks in a word or two, and what each of them asks.
var guarantees = map[string]struct{ name, meaning string }{
	"G1":  {"converge", "Once the load has drained, storage holds exactly what the apiserver holds."},
	"G2":  {"ordered", "The resource version applied to one object never goes down."},
	"G3":  {"no stale write", "No write is older than what storage already holds."},
	"G4":  {"no resurrection", "An object that was deleted is not written again."},
	"G5":  {"exact recreate", "Deleting and recreating a name ends with the new object."},
	"G6":  {"conservation", "Every event received is counted as sent, merged, filtered, parked, still queued or dropped, and dropped only where the configuration asks for it."},
	"G7":  {"bounded", "Memory, goroutines and sockets stay under their ceilings and come back down."},
	"G8":  {"isolation", "What a fault hits does not delay the others: their freshness stays close to that of an undisturbed run."},
	"G9":  {"restart-safe", "After a restart, storage catches up with what the API server held then, and holds nothing that it had not."},
	"G10": {"unknown outcomes fenced", "After a timeout, the old write cannot overwrite the object's next one."},
	"G11": {"replay idempotent", "A request that is applied again takes nothing back."},
	"G12": {"self-healing", "A row removed, edited or added in storage is repaired within one synchronizer period and 2 s."},
	"G13": {"secrecy", "Masked data turns up in no file of the cell, log, metric or stored byte."},
	"G14": {"honest telemetry", "Counters and lag metrics agree with the recorded history."},
	"R1":  {"answers", "An answer is complete and what was asked for, and a list lacks nothing that was there all the time."},
	"R2":  {"watches", "A watch shows every change once, in order and as it was."},
	"R3":  {"webhooks", "A receiver without faults is told of every change, and of those of one object in their order."},
}

// checkTitle is "G2 (ordered)".
func checkTitle(g string) string {
	if name := guarantees[g].name; name != "" {
		return g + " (" + name + ")"
	}
	return clean(g)
}

// name is how notes refer to a row.
func (r *row) name() string { return r.label() + " / " + clean(r.load) }
