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

func (s state) tone() Tone {
	switch s {
	case statePassed:
		return Good
	case stateFailed, stateInvalid:
		return Bad
	}
	return Warn
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

// outcome is the worst state of the rows; a run that lacks cells did not pass.
func (t *table) outcome() state {
	if len(t.rows) == 0 {
		return stateInvalid
	}
	for _, s := range states {
		if slices.ContainsFunc(t.rows, func(r *row) bool { return r.state() == s.state }) {
			if s.state == statePassed && len(t.res.Missing()) > 0 {
				return stateOpen
			}
			return s.state
		}
	}
	return statePassed
}

// with lists the checks that have a verdict, G2 before G10.
func (r *row) with(verdict string) (names []string) {
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

// correct reports whether the row's speed may be compared: believed, and none of
// the core checks failed, allowed or not.
func (r *row) correct() bool {
	return len(r.valid) > 0 && len(r.checks) > 0 && !slices.ContainsFunc(r.failing(), core)
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
	return median(valuesOf(r.valid, func(c *result.Cell) *float64 { return ifSome(c.CutFraction, c.Cut) }))
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

// notes explains what the table shows in this row: why it is invalid, cut, failed,
// or incomplete.
func (r *row) notes() (notes []string) {
	var reasons []string
	repetitions := map[string][]string{}
	for _, c := range r.cells {
		if c.Valid {
			continue
		}
		why := strings.Join(c.InvalidReasons, "; ")
		why += leading("; what it violates counts all the same: ", strings.Join(violated(c), " "))
		if repetitions[why] == nil {
			reasons = append(reasons, why)
		}
		repetitions[why] = append(repetitions[why], fmt.Sprint(c.Repetition))
	}
	for _, why := range reasons {
		note := "left out as invalid"
		if r.void() {
			note = "invalid"
		}
		if len(r.cells) > 1 {
			note += " (repetition " + strings.Join(repetitions[why], ", ") + ")"
		}
		notes = append(notes, note+": "+why)
	}
	if f := r.cutFraction(); f != nil {
		note := fmt.Sprintf("%scut at the drain limit with %s of the events acknowledged", r.cuts(), percent(*f))
		if v := drain.measure(r); v.number != nil && !v.projected {
			note += "; the Pods had drained, other kinds had not"
		}
		notes = append(notes, note)
	}
	for _, g := range r.failing() {
		notes = append(notes, r.failure(g))
	}
	for _, g := range r.with(result.NoPower) {
		c := r.checks[g]
		notes = append(notes, fmt.Sprintf("%s found nothing, and has %s", checkTitle(g), noPower(c.Power, c.MinPower)))
	}
	return notes
}

// violated lists what an invalid repetition is found guilty of.
func violated(c *result.Cell) []string {
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(c.Checks), compareNatural),
		func(g string) bool { return !c.Counts(g) })
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

// noPower is that verdict with its figure: how many pairs could have gone wrong, of how
// many at least.
func noPower(power *int64, least int64) string {
	if power == nil {
		return "no power"
	}
	return fmt.Sprintf("no power (%d of %d)", *power, least)
}

// shortVerdict is a verdict in a word or sign.
func shortVerdict(verdict string) Cell {
	switch verdict {
	case result.Pass:
		return Cell{Text: "pass", Tone: Good}
	case result.Fail:
		return Cell{Text: "FAIL", Tone: Bad}
	case result.Allowed:
		return Cell{Text: "fail*", Tone: Warn}
	case result.NoPower:
		return Cell{Text: "no power", Tone: Warn}
	case result.NotJudged:
		return Cell{Text: "?", Tone: Warn}
	}
	return Cell{Text: "n/a", Tone: Faint}
}

// verdictCell is a check's outcome with how much it looked at.
func verdictCell(c result.Check) Cell {
	v := shortVerdict(c.Verdict)
	v.Tip = c.Note
	violations := max(c.Violations, 1)
	switch c.Verdict {
	case result.Pass:
		v.Text += fmt.Sprintf(" %d", c.Judged)
	case result.Fail:
		v.Text += fmt.Sprintf(" %d", violations)
	case result.Allowed:
		v.Text = fmt.Sprintf("fails %d (allowed)", violations)
	case result.NoPower:
		v.Text = noPower(c.Power, c.MinPower)
	case result.NotJudged:
		v.Text, v.Tone = "not judged", Faint
	}
	return v
}

// guarantees are the checks in a word or two, and what each of them asks; misdeed is a violation
// in plain words, after a row's name.
var guarantees = map[string]struct{ name, meaning, misdeed string }{
	"G1": {"converge", "Once the load has drained, storage holds exactly what the apiserver holds.",
		"left storage different from the cluster"},
	"G2": {"ordered", "The resource version applied to one object never goes down.",
		"let an object's versions go backwards"},
	"G3": {"no stale write", "No write is older than what storage already holds.", "replaced newer data with older"},
	"G4": {"no resurrection", "An object that was deleted is not written again.", "brought deleted objects back"},
	"G5": {"exact recreate", "Deleting and recreating a name ends with the new object.",
		"mixed up a recreated object with the one before it"},
	"G6": {"conservation", "Every event received is counted as sent, merged, filtered, parked, queued or dropped, " +
		"and dropped only where the configuration asks for it.", "lost count of events"},
	"G7": {"bounded", "Memory, goroutines and sockets stay under their ceilings and come back down.",
		"outgrew its limits on memory or connections"},
	"G8": {"isolation", "What a fault hits does not delay the others.",
		"let a fault delay objects that it did not concern"},
	"G9": {"restart-safe", "After a restart, storage catches up with what the API server held then, and holds nothing " +
		"that it had not.", "left storage wrong after a restart"},
	"G10": {"unknown outcomes fenced", "After a timeout, the old write cannot overwrite the object's next one.",
		"let a late request overwrite newer data"},
	"G11": {"replay idempotent", "A request that is applied again takes nothing back.",
		"undid newer data by repeating a request"},
	"G12": {"self-healing", "A row removed, edited or added in storage is repaired within one synchronizer period and 2 " +
		"s.",
		"did not repair damaged records in time"},
	"G13": {"secrecy", "Masked data turns up in no file of the cell, log, metric or stored byte.", "leaked secret data"},
	"G14": {"honest telemetry", "Counters and lag metrics agree with the recorded history.",
		"reported figures that the record contradicts"},
	"R1": {"answers", "An answer is complete and what was asked for, and a list lacks nothing that was there all the " +
		"time.", ""},
	"R2": {"watches", "A watch shows every change once, in order and as it was.", ""},
	"R3": {"webhooks", "A healthy receiver gets every change, those of one object in order.",
		""},
}

// checkTitle is "G2 (ordered)".
func checkTitle(g string) string {
	if name := guarantees[g].name; name != "" {
		return g + " (" + name + ")"
	}
	return clean(g)
}
