package render

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// Answer is what the run found, in one paragraph for readers who know none of the checks by
// name. Bad news come first. It says nothing that headlines, tables and verdicts do not.
func (t *table) Answer() string {
	var s []string
	for _, more := range [][]string{t.doubts(), t.wrong(), t.speeds(), t.scaling(), t.proven(), t.limits(), t.sureness()} {
		s = append(s, more...)
	}
	return strings.Join(s, " ")
}

// doubts say that there is nothing to answer with, or not all of it.
func (t *table) doubts() (s []string) {
	valid := t.any(func(c *result.Cell) bool { return c.Valid })
	switch {
	case len(t.rows) == 0:
		s = append(s, "Nothing can be said: the run holds no measurement.")
	case !valid:
		why := ""
		if reasons := t.res.Cells[0].InvalidReasons; len(reasons) > 0 {
			why = "; of the first: " + inShort(reasons[0], 20)
		}
		s = append(s, "Nothing can be said about speed: no measurement is valid"+why+".")
	}
	n, why := len(t.res.Missing()), "The run stopped early"
	switch {
	case len(t.Run.Crashed) > 0:
		why = "The watcher crashed"
	case t.Run.Interrupted:
		why = "The run was interrupted"
	case n == 0:
		return s
	}
	if n > 0 {
		why += fmt.Sprintf(": %d of %d measurements %s missing", n, len(t.Run.Order), number(n, "is", "are"))
	}
	return append(s, why+".")
}

// mostTold bounds how many rows or loads the paragraph tells of by name.
const mostTold = 2

// wrong are the violated guarantees and bounds.
func (t *table) wrong() (s []string) {
	var failed []string
	allowed := 0
	var who []string
	for _, r := range t.rows {
		switch r.state() {
		case stateFailed:
			g := r.with(result.Fail)[0]
			what := "check " + clean(g) + " failed"
			if w := misdeeds[g]; w != "" {
				what = w
			}
			failed = append(failed, fmt.Sprintf("%s %s (%s)", t.inWords(r), what, plural(int(max(r.checks[g].Violations, 1)), "violation")))
		case stateAllowed:
			if allowed++; !slices.Contains(who, inShort(r.strategy, 5)) {
				who = append(who, inShort(r.strategy, 5))
			}
		}
	}
	if n := len(failed); n > mostTold {
		failed = append(failed[:mostTold], fmt.Sprintf("%d more failed", n-mostTold))
	}
	if len(failed) > 0 {
		s = append(s, "Not correct: "+strings.Join(failed, "; ")+".")
	}
	if missed := len(t.missed()); missed > 0 {
		s = append(s, fmt.Sprintf("Of %s, %d failed.", plural(len(t.res.Thresholds), "required limit"), missed))
	}
	if allowed > 0 && len(failed) == 0 {
		s = append(s, fmt.Sprintf("As the scenario allows, %s failed, in %d of %d %s.", join(others(who, 3)), allowed, len(t.rows), t.combinations()))
	}
	return s
}

// others are the first names, and how many more there are.
func others(names []string, most int) []string {
	n := len(names) - most
	switch {
	case n <= 0:
		return names
	case n == 1:
		return append(names[:most:most], "1 other")
	}
	return append(names[:most:most], fmt.Sprintf("%d others", n))
}

// misdeeds are the violations of each guarantee in plain words, after a row's name.
var misdeeds = map[string]string{
	"G1":  "left storage different from the cluster",
	"G2":  "let an object's versions go backwards",
	"G3":  "replaced newer data with older",
	"G4":  "brought deleted objects back",
	"G5":  "mixed up a recreated object with the one before it",
	"G6":  "lost count of events",
	"G7":  "outgrew its limits on memory or connections",
	"G8":  "let a fault delay objects that it did not concern",
	"G9":  "left storage wrong after a restart",
	"G10": "let a late request overwrite newer data",
	"G11": "undid newer data by repeating a request",
	"G12": "did not repair damaged records in time",
	"G13": "leaked secret data",
	"G14": "reported figures that the record contradicts",
}

// speeds are the answers for one or two loads, or how often there is one; beside the
// published tables, the comparison with them.
func (t *table) speeds() (s []string) {
	if shaped := t.Shaped(); shaped != "" {
		return []string{shaped}
	}
	all := t.told()
	if len(all) == 0 {
		return nil
	}
	if len(all) > mostTold {
		if c := t.champions(); len(c) > 0 {
			s = append(s, fmt.Sprintf("Of %d loads, %s.", len(all), join(c)))
		}
		all = all[:1]
	}
	for i, h := range all {
		if i == 0 {
			h.plain = h.full()
		}
		s = append(s, h.plain+".")
	}
	return s
}

// told are the headlines that have an answer in plain words, the heaviest load first.
func (t *table) told() []headline {
	all := slices.DeleteFunc(t.Headlines(), func(h headline) bool { return h.plain == "" })
	slices.Reverse(all)
	return all
}

// Untold are the headlines that Answer does not tell in full.
func (t *table) Untold() []headline {
	all := t.told()
	if len(all) == 0 {
		return nil
	}
	all = all[1:]
	slices.Reverse(all)
	return all
}

// champions are the strategies that drained fastest, under how many loads each.
func (t *table) champions() (words []string) {
	names := map[string]int{}
	for r := range t.winners() {
		names[r.strategy]++
	}
	order := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(cmp.Compare(names[b], names[a]), cmp.Compare(a, b)) })
	for _, n := range order[:min(len(order), 3)] {
		words = append(words, fmt.Sprintf("%s was fastest under %d", inShort(n, 5), names[n]))
	}
	return words
}

// scaling is how costs grow with objects.
func (t *table) scaling() (s []string) {
	if g := t.res.Growth; g != nil && g.Memory != nil {
		s = append(s, fmt.Sprintf("Beyond the smallest step, ten times as many objects take %s times the memory.", short(math.Pow(10, g.Memory.Exponent))))
	}
	return s
}

// proven counts where nothing was lost, reordered or brought back, and where that was not
// put to the test.
func (t *table) proven() (s []string) {
	good, cut, untested := 0, 0, 0
	var events int64
	known := true
	for _, r := range t.rows {
		if r.void() || r.isFloor() {
			continue
		}
		has := func(verdict string, asked ...string) bool {
			return slices.ContainsFunc(asked, func(g string) bool { return r.checks[g].Verdict == verdict })
		}
		every := !slices.ContainsFunc([]string{"G1", "G2", "G3", "G4"}, func(g string) bool { return r.checks[g].Verdict != result.Pass })
		switch {
		case every:
			good++
			for _, c := range r.valid {
				if e := account(c); e == nil || c.Watcher.Restarts > 0 { // those of the last process are not all
					known = false
				} else {
					events += e.Received
				}
			}
		case has(result.Fail, "G1", "G2", "G3", "G4") || has(result.Allowed, "G1", "G2", "G3", "G4"):
		case r.cut():
			cut++
		default:
			untested++
		}
	}
	over := ""
	if known && events > 0 {
		over = fmt.Sprintf(" (%d events received)", events)
	}
	var rest []string
	if cut > 0 {
		rest = append(rest, fmt.Sprintf("%d ran out of time", cut))
	}
	if untested > 0 {
		rest = append(rest, fmt.Sprintf("%d not fully put to the test", untested))
	}
	switch {
	case good > 0 && len(t.rows) == 1:
		s = append(s, "Nothing was lost, reordered or brought back"+over+".")
	case good > 0:
		s = append(s, fmt.Sprintf("In %d of %d %s nothing was lost, reordered or brought back%s%s.", good, len(t.rows), t.combinations(), over, leading("; ", join(rest))))
	case len(rest) > 0:
		s = append(s, "Not proven: that nothing was lost, reordered or brought back"+leading("; ", join(rest))+".")
	}
	return s
}

// combinations is what the rows are.
func (t *table) combinations() string { return "combinations of " + t.who() + " and load" }

// leading puts a text before another unless that is empty.
func leading(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// limits is what kept each correct row from being faster: what most of its cells were limited by.
func (t *table) limits() []string {
	limited := map[string][]string{}
	n := 0
	for _, r := range t.rows {
		if !r.correct() || r.void() || r.isFloor() {
			continue
		}
		stages := map[string]int{}
		for _, c := range r.valid {
			stages[c.Bottleneck.Stage]++
		}
		order := slices.SortedFunc(maps.Keys(stages), func(a, b string) int { return cmp.Or(cmp.Compare(stages[b], stages[a]), cmp.Compare(a, b)) })
		limited[order[0]] = append(limited[order[0]], t.inWords(r))
		n++
	}
	var words []string
	for _, x := range bottlenecks {
		if who := limited[x.stage]; len(who) > 0 && len(limited) > 1 {
			words = append(words, fmt.Sprintf("%s (%s)", x.words, strings.Join(others(who, 2), ", ")))
		} else if len(who) > 0 {
			words = append(words, x.words)
		}
	}
	if len(words) == 0 {
		return nil
	}
	return []string{"What limited " + number(n, "it", "them") + ": " + strings.Join(words, "; ") + "."}
}

// bottlenecks are the stages of a record in plain words.
var bottlenecks = []struct{ stage, words string }{
	{"storage", "storage had no more capacity"},
	{"handler concurrency", "the number of requests in flight, each waiting for storage"},
	{"handler skew", "some of the watcher's queues had far more work than others"},
	{"writer queue", "the watcher's first queue was full"},
	{"watcher CPU", "the watcher had no more CPU"},
	{"machine CPU", "the machine had no more CPU"},
	{"generator", "the load generator was late, so the watcher's own limit was not reached"},
	{"none", "the load itself, which the watcher kept up with"},
	{"unknown", "not known"},
}

// sureness is how much the figures rest on.
func (t *table) sureness() (s []string) {
	least, most, invalid := 0, 0, 0
	for _, r := range t.rows {
		if n := len(r.valid); n > 0 {
			if most = max(most, n); least == 0 || n < least {
				least = n
			}
		}
		invalid += len(r.cells) - len(r.valid)
	}
	left := "."
	if invalid > 0 {
		left = fmt.Sprintf("; %d of %d %s invalid.", invalid, len(t.res.Cells), number(invalid, "was", "were"))
	}
	switch most {
	case 0:
		return nil
	case 1:
		s = append(s, "Each was measured once, so no difference is claimed"+left)
	default:
		s = append(s, fmt.Sprintf("Figures are medians of %s measurements%s%s", fromTo(least, most), withInterval(least), left))
	}
	if d := t.Run.Decision; d != nil {
		s = append(s, map[string]string{
			result.EndDecided: fmt.Sprintf("The run ended when %d repetitions had decided that.", d.Blocks),
			result.EndTime:    fmt.Sprintf("Its time was up after %s, before all was decided.", plural(d.Blocks, "repetition")),
			result.EndInvalid: "The run ended, because its first two blocks have no valid cell.",
			result.EndBlocks:  fmt.Sprintf("Not all was decided by %s, the most that the scenario allows.", plural(d.Blocks, "repetition")),
		}[d.End])
	}
	if t.disturbed() {
		s = append(s, "Faults were injected on purpose.")
	}
	return s
}

// withInterval says what stands after ±, if every median has one.
func withInterval(least int) string {
	if least < stats.Least {
		return ""
	}
	return fmt.Sprintf(", ± their %g %% interval", 100*stats.Level)
}

// number is one of two forms.
func number(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func fromTo(least, most int) string {
	if least == most {
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// inWords is a row's name in a sentence.
func (t *table) inWords(r *row) string {
	if len(t.loads()) == 1 {
		return inShort(r.label(), 8)
	}
	return inShort(r.label(), 8) + " under " + inShort(r.load, 5)
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
