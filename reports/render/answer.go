package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// answer says what a run found, in sentences for readers who know none of the checks by name.
// It says nothing that tables and verdicts do not.
type answer struct{ *table }

// sentences are the paragraph, bad news first, and the answers for which it has no room.
func (a answer) sentences() []string {
	contests, more := a.decided(), []string(nil)
	if n := len(contests); n > mostTold {
		contests, more = contests[n-1:], contests[:n-1] // the heaviest load comes last
	}
	paragraph := slices.Concat(a.doubts(), a.wrong(), contests, a.proven(), a.limits(), a.sureness())
	return slices.Concat([]string{strings.Join(paragraph, " ")}, more, a.floors())
}

// mostTold bounds how many rows or loads the paragraph names.
const mostTold = 2

// doubts say that there is nothing to answer with, or not all of it.
func (a answer) doubts() (s []string) {
	switch {
	case len(a.rows) == 0:
		s = append(s, "Nothing can be said: the run holds no measurement.")
	case !a.any(func(c *result.Cell) bool { return c.Valid }):
		why := inShort(strings.Join(a.res.Cells[0].InvalidReasons, "; "), 20)
		s = append(s, "Nothing can be said about speed: no measurement is valid"+leading("; of the first: ", why)+".")
	}
	n, why := len(a.res.Missing()), "The run stopped early"
	switch {
	case len(a.res.Run.Crashed) > 0:
		why = "The watcher crashed"
	case a.res.Run.Interrupted:
		why = "The run was interrupted"
	case n == 0:
		return s
	}
	if n > 0 {
		why += fmt.Sprintf(": %d of %d measurements %s missing", n, len(a.res.Run.Order), number(n, "is", "are"))
	}
	return append(s, why+".")
}

// wrong are the violated guarantees.
func (a answer) wrong() []string {
	var failed, who []string
	allowed := 0
	for _, r := range a.rows {
		switch r.state() {
		case stateFailed:
			g := r.with(result.Fail)[0]
			what := cmp.Or(guarantees[g].misdeed, "failed check "+clean(g))
			violations := plural(int(max(r.checks[g].Violations, 1)), "violation")
			failed = append(failed, fmt.Sprintf("%s %s (%s)", a.inWords(r), what, violations))
		case stateAllowed:
			if allowed++; !slices.Contains(who, inShort(r.strategy, 5)) {
				who = append(who, inShort(r.strategy, 5))
			}
		}
	}
	if n := len(failed); n > mostTold {
		failed = append(failed[:mostTold], fmt.Sprintf("%d more failed", n-mostTold))
	}
	switch {
	case len(failed) > 0:
		return []string{"Not correct: " + strings.Join(failed, "; ") + "."}
	case allowed > 0:
		return []string{fmt.Sprintf("As the scenario allows, %s failed, in %d of %d %s.",
			join(others(who, 3)), allowed, len(a.rows), a.combinations())}
	}
	return nil
}

// proven counts the rows that lost, reordered or resurrected nothing, and those not tested enough.
func (a answer) proven() []string {
	good, untested := 0, 0
	for _, r := range a.rows {
		verdicts := map[string]bool{}
		for _, g := range []string{"G1", "G2", "G3", "G4"} {
			verdicts[r.checks[g].Verdict] = true
		}
		switch {
		case r.void() || r.isFloor() || verdicts[result.Fail] || verdicts[result.Allowed]:
		case verdicts[result.Pass] && len(verdicts) == 1:
			good++
		default:
			untested++
		}
	}
	switch {
	case good > 0 && len(a.rows) == 1:
		return []string{"Nothing was lost, reordered or brought back."}
	case good > 0:
		s := fmt.Sprintf("In %d of %d %s nothing was lost, reordered or brought back", good, len(a.rows), a.combinations())
		if untested > 0 {
			s += fmt.Sprintf("; %d not fully tested", untested)
		}
		return []string{s + "."}
	case untested > 0:
		return []string{"Not proven: that nothing was lost, reordered or brought back."}
	}
	return nil
}

// combinations names what a row combines.
func (a answer) combinations() string { return "combinations of " + a.who() + " and load" }

// limits names the bottleneck of most cells of each correct row.
func (a answer) limits() []string {
	limited, order := map[string][]string{}, []string(nil)
	for _, r := range a.rows {
		if !r.correct() || r.isFloor() {
			continue
		}
		stages, most := map[string]int{}, ""
		for _, c := range r.valid {
			s := orUnknown(c.Bottleneck.Stage)
			if stages[s]++; stages[s] > stages[most] {
				most = s
			}
		}
		if limited[most] == nil {
			order = append(order, most)
		}
		limited[most] = append(limited[most], a.inWords(r))
	}
	var words []string
	for _, stage := range order {
		words = append(words, fmt.Sprintf("%s (%s)", stage, strings.Join(others(limited[stage], 2), ", ")))
	}
	if len(words) == 0 {
		return nil
	}
	return []string{"Limited by: " + strings.Join(words, "; ") + "."}
}

// sureness says how many measurements there are, and why the run ended.
func (a answer) sureness() (s []string) {
	least, most, invalid := math.MaxInt, 0, 0
	for _, r := range a.rows {
		if n := len(r.valid); n > 0 {
			least, most = min(least, n), max(most, n)
		}
		invalid += len(r.cells) - len(r.valid)
	}
	left := ""
	if invalid > 0 {
		left = fmt.Sprintf("; %d of %d %s invalid", invalid, len(a.res.Cells), number(invalid, "was", "were"))
	}
	switch {
	case most == 0:
		return nil
	case most == 1:
		s = append(s, "Each was measured once, so no difference is claimed"+left+".")
	case least == most:
		s = append(s, fmt.Sprintf("Figures are medians of %d measurements%s.", most, left))
	default:
		s = append(s, fmt.Sprintf("Figures are medians of %d to %d measurements%s.", least, most, left))
	}
	if d := a.res.Run.Decision; d != nil {
		s = append(s, fmt.Sprintf("The run ended after %s: %s.", plural(d.Blocks, "repetition"), map[string]string{
			result.EndDecided: "that was decided", result.EndTime: "its time was up, before all was decided",
			result.EndInvalid: "no cell was valid",
			result.EndBlocks:  "the most that the scenario allows, and not all was decided",
		}[d.End]))
	}
	if method(a).disturbed() {
		s = append(s, "Faults were injected on purpose.")
	}
	return s
}

// floors compare, under each load, the CPU that a request costs a watcher with what it
// costs the relay.
func (a answer) floors() (lines []string) {
	for _, r := range a.rows {
		if !r.correct() || r.isFloor() || r.cut() || cpuPerRequest(r).number == nil {
			continue
		}
		for _, f := range a.under(r.load) {
			if cpu := cpuPerRequest(f).number; f.isFloor() && !f.cut() && cpu != nil && *cpu > 0 && a.together(f, r) {
				of := *cpuPerRequest(r).number
				lines = append(lines, fmt.Sprintf("%s: a request costs %s %.0f µs of CPU = %.1f × floor (%.0f µs).",
					clean(r.load), r.label(), of, of / *cpu, *cpu))
			}
		}
	}
	return lines
}

// together reports whether two rows of a load differ in their watcher alone.
func (a answer) together(r, o *row) bool {
	for i, name := range a.extra {
		if !result.OfWatcher(name) && r.extra[i] != o.extra[i] {
			return false
		}
	}
	return true
}

// inWords is a row's name in a sentence.
func (a answer) inWords(r *row) string {
	if len(a.loads()) == 1 {
		return inShort(r.label(), 8)
	}
	return inShort(r.label(), 8) + " under " + inShort(r.load, 5)
}

// rankColumn is the column of a figure that ranks.
func rankColumn(figure string) *column {
	if figure == result.FigureFreshness {
		return freshnessP99
	}
	return drain
}

// best are the rows that lead alone, with the column in which they do.
func (t *table) best() map[*row]*column {
	all := map[*row]*column{}
	for i := range t.contests {
		if c := &t.contests[i]; c.Tied() == 1 {
			all[t.row(c.Ranked[0].Point)] = rankColumn(c.Figure)
		}
	}
	return all
}

// others are the first names, and how many more there are.
func others(names []string, most int) []string {
	switch n := len(names) - most; {
	case n <= 0:
		return names
	case n == 1:
		return append(names[:most:most], "1 other")
	default:
		return append(names[:most:most], fmt.Sprintf("%d others", n))
	}
}

// leading puts a text between two others unless it is empty.
func leading(before, s string, after ...string) string {
	if s == "" {
		return ""
	}
	return before + s + strings.Join(after, "")
}

// number is one of two forms.
func number(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// inShort is the first words of a text that may be long.
func inShort(s string, most int) string {
	words := strings.Fields(clean(s))
	cut := len(words) > most
	if cut {
		words = words[:most]
	}
	s = strings.Join(words, " ")
	if r := []rune(s); len(r) > most*12 {
		s, cut = string(r[:most*12]), true
	}
	if cut {
		s += "…"
	}
	return s
}
