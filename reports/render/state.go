package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// state says whether a row may be believed and compared.
type state string

const (
	stateInvalid state = "invalid" // no repetition may be believed
	stateFailed  state = "failed"  // a check failed
	stateAllowed state = "allowed" // a check failed that the scenario allows to fail
	stateCut     state = "cut"     // the drain limit ended it
	stateOpen    state = "open"    // nothing failed, but not everything was judged
	statePassed  state = "passed"
)

// coreChecks are those a cell must pass before its speed is compared.
var coreChecks = []string{"G1", "G2", "G3", "G4", "G5", "G6"}

func (r *row) state() state {
	switch {
	case len(r.valid) == 0:
		return stateInvalid
	case len(r.with(result.Fail)) > 0:
		return stateFailed
	case len(r.with(result.Allowed)) > 0:
		return stateAllowed
	case r.cut():
		return stateCut
	case len(r.with(result.Pass)) == 0, len(r.open()) > 0:
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
	return slices.DeleteFunc(r.with(result.NotJudged), func(g string) bool { return !slices.Contains(coreChecks, g) })
}

// unaskedNote names the checks that this scenario leaves open.
func (t *table) unaskedNote() string {
	if len(t.unasked) == 0 {
		return ""
	}
	return "Not asked by this scenario: " + ranges(t.unasked) + "."
}

// ranges writes G1 G2 G3 G6 as "G1–G3 G6".
func ranges(checks []string) string {
	number := func(g string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(g, "G"))
		if err != nil {
			return -1
		}
		return n
	}
	var words []string
	for i := 0; i < len(checks); {
		j := i
		for j+1 < len(checks) && number(checks[j]) >= 0 && number(checks[j+1]) == number(checks[j])+1 {
			j++
		}
		switch j - i {
		case 0:
			words = append(words, checks[i])
		case 1:
			words = append(words, checks[i], checks[j])
		default:
			words = append(words, checks[i]+"–"+checks[j])
		}
		i = j + 1
	}
	return strings.Join(words, " ")
}

// cut reports whether any believed repetition ended at the drain limit.
func (r *row) cut() bool {
	return slices.ContainsFunc(r.valid, func(c *result.Cell) bool { return c.Cut })
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
	if len(r.valid) == 0 || len(r.checks) == 0 {
		return false
	}
	for _, g := range coreChecks {
		if v := r.checks[g].Verdict; v == result.Fail || v == result.Allowed {
			return false
		}
	}
	return true
}

// verdict is the row's checks in a few words.
func (r *row) verdict() string {
	if len(r.valid) == 0 {
		return "INVALID"
	}
	var words []string
	if f := r.cutFraction(); f != nil {
		words = append(words, "cut at "+percent(*f))
	}
	if failed := r.with(result.Fail); len(failed) > 0 {
		words = append(words, "FAIL "+strings.Join(failed, " "))
	}
	if allowed := r.with(result.Allowed); len(allowed) > 0 {
		words = append(words, "fails "+strings.Join(allowed, " ")+" (allowed)")
	}
	passed, open := r.with(result.Pass), r.open()
	if len(r.with(result.Fail))+len(r.with(result.Allowed)) == 0 && len(passed) > 0 {
		words = append(words, "pass "+ranges(passed))
	}
	if len(open) > 0 {
		words = append(words, ranges(open)+" not judged")
	}
	return orUnknown(clean(strings.Join(words, ", ")))
}

// note is a remark on a row.
type note struct{ Name, Text string }

// notes are those of all rows.
func (t *table) notes() (all []note) {
	for _, r := range t.rows {
		for _, n := range r.notes() {
			all = append(all, note{r.name(), clean(n)})
		}
	}
	return all
}

// notes explains what the table shows in this row: why it is invalid, cut, failed,
// or incomplete. The first words are a full sentence's; names are not escaped.
func (r *row) notes() []string {
	var notes []string
	if len(r.valid) == 0 {
		for _, c := range r.cells {
			notes = append(notes, "invalid"+r.repetition(c)+": "+strings.Join(c.InvalidReasons, "; "))
		}
		return notes
	}
	for _, c := range r.cells {
		if !c.Valid {
			notes = append(notes, "left out as invalid"+r.repetition(c)+": "+strings.Join(c.InvalidReasons, "; "))
		}
	}
	if f := r.cutFraction(); f != nil {
		note := fmt.Sprintf("cut at the drain limit with %s of the events acknowledged", percent(*f))
		if v := drain.value(r); v.number != nil {
			note += fmt.Sprintf("; a full drain is projected to take about %s s", short(*v.number))
		}
		if freshnessP99.value(r).number != nil {
			note += "; freshness covers only what was acknowledged, so it is at least that"
		}
		notes = append(notes, note)
	}
	for _, g := range append(r.with(result.Fail), r.with(result.Allowed)...) {
		notes = append(notes, r.failure(g))
	}
	return notes
}

// failure says in one line what is wrong with check g.
func (r *row) failure(g string) string {
	c := r.checks[g]
	s := checkTitle(g) + " fails"
	if c.Verdict == result.Allowed {
		s += ", which the scenario allows"
	}
	if c.Violations > 0 {
		s += fmt.Sprintf(": %s", plural(int(c.Violations), "violation"))
		if c.Judged > 0 {
			s += fmt.Sprintf(" in %d judged", c.Judged)
		}
	}
	if c.Note != "" {
		s += " (" + c.Note + ")"
	}
	return s
}

// example is the first counterexample of a failed check.
type example struct {
	Name    string // of the row
	Failure string // in one line
	Text    string // in full
	Allowed bool
}

func examples(t *table) (all []example) {
	for _, r := range t.rows {
		if r.state() == stateInvalid {
			continue
		}
		for _, g := range append(r.with(result.Fail), r.with(result.Allowed)...) {
			c := r.checks[g]
			text := strings.TrimSpace(cleanLines(c.Counterexample))
			all = append(all, example{r.name(), clean(r.failure(g)), cmp.Or(text, "The record holds no counterexample."), c.Verdict == result.Allowed})
		}
	}
	return all
}

func (r *row) repetition(c *result.Cell) string {
	if len(r.cells) < 2 {
		return ""
	}
	return fmt.Sprintf(" (repetition %d)", c.Repetition)
}

// checkNames are the guarantees in a word or two.
var checkNames = map[string]string{
	"G1": "converge", "G2": "ordered", "G3": "no stale write", "G4": "no resurrection",
	"G5": "exact recreate", "G6": "conservation", "G7": "bounded", "G8": "isolation",
	"G9": "restart-safe", "G10": "unknown outcomes fenced", "G11": "replay idempotent",
	"G12": "self-healing", "G13": "secrecy", "G14": "honest telemetry",
}

// checkMeanings say what each of them asks.
var checkMeanings = map[string]string{
	"G1":  "Once the load stops, storage holds exactly what the apiserver holds.",
	"G2":  "The resource version applied to one object never goes down.",
	"G3":  "No write is older than what storage already holds.",
	"G4":  "An object that was deleted is not written again.",
	"G5":  "Deleting and recreating a name ends with the new object.",
	"G6":  "Every event received is sent, merged, filtered, parked or still queued; none is dropped unasked.",
	"G7":  "Memory, goroutines and sockets stay under their ceilings and come back down.",
	"G8":  "A poison object, slow kind or slow webhook does not delay the others.",
	"G9":  "After a kill at any moment and a restart, storage converges again.",
	"G10": "After a timeout, the old write cannot overwrite the object's next one.",
	"G11": "Sending any tail of the requests again changes nothing.",
	"G12": "A row removed or edited in storage is repaired within one synchronizer period.",
	"G13": "Masked data leaves the process nowhere.",
	"G14": "Counters and lag metrics agree with the recorded history.",
}

// checkTitle is "G2 (ordered)".
func checkTitle(g string) string {
	if name := checkNames[g]; name != "" {
		return g + " (" + name + ")"
	}
	return clean(g)
}
