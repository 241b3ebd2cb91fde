package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

type state string

const (
	stateFailed  state = "failed"                        // a check failed, be it in an invalid repetition
	stateInvalid state = "invalid"                       // no repetition may be believed
	stateAllowed state = "failed as the scenario allows" // a check failed that the scenario allows to fail
	stateCut     state = "cut at the drain limit"
	stateOpen    state = "passed what could be judged"
	statePassed  state = "passed every check"
)

var states = []state{stateFailed, stateInvalid, stateAllowed, stateCut, stateOpen, statePassed}

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
	for _, s := range states[:len(states)-1] {
		if slices.ContainsFunc(t.rows, func(r *row) bool { return r.state() == s }) {
			return s
		}
	}
	if len(t.res.Missing()) > 0 {
		return stateOpen
	}
	return statePassed
}

func (t *table) summary() Cell {
	if len(t.rows) == 0 {
		return Cell{Text: "The record holds no cells.", Tone: Bad}
	}
	count := map[state]int{}
	for _, r := range t.rows {
		count[r.state()]++
	}
	var parts []string
	for _, s := range slices.Backward(states) {
		if n := count[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return Cell{Text: "Of " + plural(len(t.rows), "point") + ": " + strings.Join(parts, "; ") + ".",
		Tone: t.outcome().tone()}
}

// with lists the checks that have a verdict, G2 before G10.
func (r *row) with(verdict string) (names []string) {
	for name, c := range r.checks {
		if c.Verdict == verdict {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, result.ByNumber)
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

func (r *row) cut() bool {
	return slices.ContainsFunc(r.valid, func(c *result.Cell) bool { return c.Cut })
}

func (r *row) cuts() string {
	n := 0
	for _, c := range r.valid {
		if c.Cut {
			n++
		}
	}
	if n == len(r.valid) {
		return ""
	}
	return fmt.Sprintf("%d of %d ", n, len(r.valid))
}

// cutFraction is the part of the work done when the drain limit came.
func (r *row) cutFraction() *float64 {
	return r.Median(func(c *result.Cell) *float64 { return ifSome(c.CutFraction, c.Cut) })
}

func (r *row) verdict() string {
	var words []string
	if r.void() {
		words = append(words, "INVALID")
	}
	if f := r.cutFraction(); f != nil {
		words = append(words, r.cuts()+"cut at "+percent(*f))
	}
	words = append(words, r.words()...)
	switch n := len(r.valid); {
	case n < len(r.Cells):
		words = append(words, fmt.Sprintf("n=%d of %d", n, len(r.Cells)))
	case n > 1:
		words = append(words, fmt.Sprintf("n=%d", n))
	}
	return orUnknown(clean(strings.Join(words, ", ")))
}

// CellChecks is a cell's checks in a few words.
func CellChecks(c *result.Cell) string { return strings.Join((&row{checks: c.Checks}).words(), ", ") }

func (r *row) words() (words []string) {
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
	return words
}

// notes explains what the table shows in this row: why it is invalid, cut, failed, or incomplete.
func (r *row) notes() (notes []string) {
	var reasons []string
	repetitions := map[string][]string{}
	for _, c := range r.Cells {
		if why := strings.Join(c.InvalidReasons, "; "); !c.Valid {
			reasons, repetitions[why] = append(reasons, why), append(repetitions[why], strconv.Itoa(c.Repetition))
		}
	}
	for i, why := range reasons {
		if slices.Index(reasons, why) == i {
			notes = append(notes, fmt.Sprintf("invalid (repetition %s): %s", strings.Join(repetitions[why], ", "), why))
		}
	}
	if f := r.cutFraction(); f != nil {
		notes = append(notes, fmt.Sprintf("%scut at the drain limit with %s of the events acknowledged", r.cuts(),
			percent(*f)))
	}
	for _, g := range r.failing() {
		notes = append(notes, failure(g, r.checks[g]))
	}
	for _, g := range r.with(result.NoPower) {
		notes = append(notes, fmt.Sprintf("%s found nothing, and has %s", checkTitle(g), verdictCell(r.checks[g]).Text))
	}
	return notes
}

// failure says in one line what is wrong with check g, with the first counterexample.
func failure(g string, c result.Check) string {
	s := checkTitle(g) + " fails"
	if c.Verdict == result.Allowed {
		s += ", which the scenario allows"
	}
	return s + ": " + violations(c) + leading(": ", strings.Join(strings.Fields(c.Counterexample), " "))
}

func violations(c result.Check) string {
	s := plural(int(max(c.Violations, 1)), "violation")
	if c.Judged > 0 {
		s += fmt.Sprintf(" in %d judged", c.Judged)
	}
	return s + leading(" (", c.Note, ")")
}

// noPower is that verdict with its figure: how many pairs could have gone wrong, of how many at least.
func noPower(power *int64, least int64) string {
	if power == nil {
		return "no power"
	}
	return fmt.Sprintf("no power (%d of %d)", *power, least)
}

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
	switch c.Verdict {
	case result.Pass:
		v.Text += fmt.Sprintf(" %d", c.Judged)
	case result.Fail, result.Allowed:
		v.Text += fmt.Sprintf(" %d", max(c.Violations, 1))
	case result.NoPower:
		v.Text = noPower(c.Power, c.MinPower)
	case result.NotJudged, "":
		v = Cell{Text: unknown, Tone: Faint}
	}
	return v
}

func checkTable(key Table, checks []string, rows int, at func(i int) ([]Cell, map[string]result.Check)) Section {
	s := Section{ID: "checks", Title: "Verdict per check", Table: key}
	for _, g := range checks {
		s.Table.Heads = append(s.Table.Heads, Head{Title: g, Unit: guarantees[g].name, Meaning: guarantees[g].meaning,
			Words: true})
	}
	for i := range rows {
		cells, all := at(i)
		for _, g := range checks {
			cells = append(cells, verdictCell(all[g]))
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	return s
}

// guarantees are the checks in a word or two, and what each of them asks.
var guarantees = map[string]struct{ name, meaning string }{
	"G1": {"converge", "Once the load has drained, storage holds exactly what the apiserver holds."},
	"G2": {"ordered", "The resource version applied to one object never goes down."},
	"G3": {"no stale write", "No write is older than what storage already holds."},
	"G4": {"no resurrection", "An object that was deleted is not written again."},
	"G5": {"exact recreate", "Deleting and recreating a name ends with the new object."},
	"G6": {"conservation", "Every event received is counted as sent, merged, filtered, parked, queued or dropped, " +
		"and dropped only where the configuration asks for it."},
	"G7": {"bounded", "Memory, goroutines and sockets stay under their ceilings and come back down."},
	"G8": {"isolation", "What a fault hits does not delay the others."},
	"G9": {"restart-safe", "After a restart, storage catches up with what the API server held then, and holds nothing " +
		"that it had not."},
	"G10": {"unknown outcomes fenced", "After a timeout, the old write cannot overwrite the object's next one. Of " +
		"replicas, only the holder of the Lease, or of that of the object's shard, writes."},
	"G11": {"replay idempotent", "A request that is applied again takes nothing back."},
	"G12": {"self-healing", "A row removed, edited or added in storage is repaired within one synchronizer period and 2 " +
		"s."},
	"G13": {"secrecy", "Masked data turns up in no file of the cell, log, metric or stored byte."},
	"G14": {"honest telemetry", "Counters and lag metrics agree with the recorded history."},
	"R1": {"answers", "An answer is complete and what was asked for, and a list lacks nothing that was there all the " +
		"time."},
	"R2": {"watches", "A watch shows every change once, in order and as it was."},
	"R3": {"webhooks", "A healthy receiver gets every change, those of one object in order."},
}

// checkTitle is "G2 (ordered)".
func checkTitle(g string) string { return clean(g) + leading(" (", guarantees[g].name, ")") }
