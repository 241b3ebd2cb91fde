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

// answer says what a run found, in sentences for readers who know none of the checks by name.
// It says nothing that tables and verdicts do not.
type answer struct{ *table }

// sentences are the paragraph, bad news first, and the answers for which it has no room.
func (a answer) sentences() []string {
	contests, more := a.decided(), []string(nil)
	if n := len(contests); n > mostTold {
		contests, more = contests[n-1:], contests[:n-1] // the heaviest load comes last
	}
	paragraph := slices.Concat(a.doubts(), a.wrong(), contests, a.scaling(), a.proven(), a.limits(), a.sureness())
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

// decided are the answers for each load, in the order of the table; beside the published tables,
// the comparison with them.
func (a answer) decided() (s []string) {
	if beside := besidePublished(a.res); beside.Comparison != nil {
		return []string{beside.shaped()}
	}
	order := func(c result.Contest) int {
		return slices.IndexFunc(a.rows, func(r *row) bool { return slices.Contains(c.Points, r.Name) })
	}
	all := slices.SortedStableFunc(slices.Values(a.contests),
		func(x, y result.Contest) int { return cmp.Compare(order(x), order(y)) })
	for i := range all {
		if all[i].Sizing != nil {
			s = append(s, a.sizing(all[i].Sizing))
		} else {
			s = append(s, a.race(&all[i]))
		}
	}
	return s
}

// words of the figures that rank.
var races = map[string]struct{ best, better, alone, took string }{
	result.FigureDrain: {"fastest", "faster", "storage had all Pods from %s after %s s", "all Pods stored after %s s"},
	result.FigureFreshness: {"freshest", "fresher", "of %s 99 %% of the changes arrived within %s s",
		"99 %% of the changes arrived within %s s"},
}

// race says who leads under one load, and over whom.
func (a answer) race(c *result.Contest) string {
	words, under := races[c.Figure], "Under load "+inShort(c.Name, 8)+", "
	switch {
	case len(c.Takes) == 0:
		return under + "no speed can be compared."
	case len(c.Takes) == 1:
		r := a.row(c.Takes[0])
		column := rankColumn(c.Figure)
		return under + fmt.Sprintf(words.alone, inShort(r.label(), 8),
			column.text(column.measure(r))) + ", with nothing to compare that with."
	case len(c.Ranked) == 0:
		return under + fmt.Sprintf("nothing is ranked: that takes %d valid repetitions.", stats.Least)
	}
	n := c.Tied()
	if n > 1 {
		return under + a.tie(c, n) + leading("; ", strings.Join(a.leads(c, n), "; ")) + "."
	}
	first := a.row(c.Ranked[0].Point)
	s := under + inShort(first.label(), 8) + " was " + words.best
	if len(c.Takes) < len(c.Points) {
		s += fmt.Sprintf(" of %d comparable", len(c.Takes))
	}
	s += ": " + fmt.Sprintf(words.took, short(c.Ranked[0].Value))
	s += leading(" (", rankColumn(c.Figure).measure(first).spread(), ")")
	claims := []string{a.claim(c, 0, 1)}
	for i := 2; i < len(c.Ranked); i++ {
		if a.row(c.Ranked[i].Point).strategy == serial {
			claims = append(claims, a.claim(c, 0, i))
		}
	}
	return s + ", " + join(claims) + leading("; ", strings.Join(a.leads(c, 1), "; ")) + "."
}

// serial is the strategy with one request at a time, which others are compared with.
const serial = "single"

// tie describes the first n, which are indistinguishable, and the next one.
func (a answer) tie(c *result.Contest, n int) string {
	var names []string
	limited := true
	for _, p := range c.Ranked[:n] {
		names = append(names, fmt.Sprintf("%s (%s s)", inShort(a.row(p.Point).label(), 8), short(p.Value)))
		limited = limited && p.Bounded
	}
	s := join(names)
	switch {
	case limited:
		s += " kept up with the load, which was their limit"
	case c.Alike:
		s += " are the same within 10 %"
	default:
		s += fmt.Sprintf(" are not told apart by %d repetitions", c.Blocks)
	}
	if c.Ahead {
		s += fmt.Sprintf("; each is at least %s × %s than %s", short(c.Ranked[n].Value/c.Ranked[n-1].Value),
			races[c.Figure].better, inShort(a.row(c.Ranked[n].Point).label(), 8))
	}
	return s
}

// leads are those among the places from i on, each over the next. That one request at a time is
// slower, all know.
func (a answer) leads(c *result.Contest, i int) (claims []string) {
	for ; i+1 < len(c.Ranked); i++ {
		if c.Ranked[i].Leads && a.row(c.Ranked[i+1].Point).strategy != serial {
			claims = append(claims, inShort(a.row(c.Ranked[i].Point).label(), 8)+" is "+a.claim(c, i, i+1))
		}
	}
	return claims
}

// claim compares two places.
func (a answer) claim(c *result.Contest, i, j int) string {
	p, o := c.Ranked[i], c.Ranked[j]
	s := fmt.Sprintf("%s × %s than %s", short(o.Value/p.Value), races[c.Figure].better, inShort(a.row(o.Point).label(), 8))
	if p.Bounded {
		s = "at least " + s + " (limited by the load)"
	}
	return s
}

// sizing says which settings keep up with an open load.
func (a answer) sizing(s *result.Sizing) string {
	chosen := a.row(append(append(slices.Clone(s.Every), s.Latest...), s.Closest)[0])
	numbers, names := a.res.Sizes()
	which, none := "smallest setting", "setting"
	switch {
	case len(numbers)+len(names) == 0:
		which, none = "freshest "+a.who(), a.who()
	case len(numbers) == 0:
		which = "freshest setting"
	}
	text := "At " + question(chosen) + ", "
	switch {
	case len(s.Every) > 0:
		text += a.found(which, s.Every)
		if len(s.Latest) > 0 {
			text += "; if the latest state of an object is enough, " + a.settings(s.Latest)
		}
	case len(s.Latest) > 0:
		text += a.found(which, s.Latest) + "; none does that sends every event"
	case s.KeepsUp:
		text += fmt.Sprintf("no %s will do: %s keeps up, but %s", none, a.setting(chosen), chosen.unfit())
	default:
		none = "no " + none + " keeps up"
		if len(s.Unknown) > 0 {
			none = "whether a setting keeps up is not known"
		}
		text += fmt.Sprintf("%s; the backlog of %s, which is least behind, grows by %s writes every second",
			none, a.setting(chosen), shortOf(chosen.BacklogGrowth()))
	}
	if len(s.Unknown) > 0 {
		text += "; not known, because invalid, missing or without a verdict: " + join(others(s.Unknown, 6))
	}
	return text + "."
}

// found is "the smallest setting that keeps up is keyed (…)".
func (a answer) found(which string, points []string) string {
	if len(points) == 1 {
		return "the " + which + " that keeps up is " + a.settings(points)
	}
	if stem, ok := strings.CutSuffix(which, "y"); ok {
		which = stem + "ie"
	}
	return "the " + which + "s that keep up are " + a.settings(points)
}

// settings names indistinguishable settings, with their freshness.
func (a answer) settings(points []string) string {
	var all []string
	for _, p := range points {
		r := a.row(p)
		sends, _ := sends(r)
		all = append(all, fmt.Sprintf("%s (%s, freshness p50 %s s, p99 %s s, n = %d)", a.setting(r), sends,
			freshnessP99.text(freshnessQuantiles[0].measure(r)), freshnessP99.text(freshnessP99.measure(r)), len(r.valid)))
	}
	if len(all) == 1 {
		return all[0]
	}
	return join(others(all, 3)) + ", not told apart in freshness"
}

// setting is "keyed with podQueueNum 20".
func (a answer) setting(r *row) string {
	if r.strategy == "adaptive" {
		return "adaptive, which finds the number itself"
	}
	var words []string
	for i, name := range a.extra {
		if result.OfWatcher(name) {
			words = append(words, axis(name)+" "+clean(r.extra[i]))
		}
	}
	return inShort(strings.TrimSuffix(clean(r.strategy)+" with "+join(words), " with "), 12)
}

// unfit explains why a row keeps up but does not qualify.
func (r *row) unfit() string {
	wrong := slices.DeleteFunc(r.failing(), func(g string) bool { return !core(g) })
	switch {
	case len(wrong) > 0:
		return "fails " + ranges(wrong)
	case len(r.checks) == 0:
		return "no check judged it"
	}
	return "a larger one falls behind or is not correct"
}

// question describes the load: "200 writes/s at storage latency p50 60 ms, p99
// 400 ms".
func question(r *row) string {
	s := "the load"
	if v := offered(r).number; v != nil {
		s = Brief(*v) + " writes/s"
	}
	p50, p99 := configuredP50(r).number, configuredP99(r).number
	if p50 != nil && p99 != nil {
		return s + fmt.Sprintf(" at storage latency p50 %s ms, p99 %s ms", Brief(*p50), Brief(*p99))
	}
	return s + leading(" at storage latency ", clean(r.cells[0].Storage.LatencySpec))
}

// scaling is how costs grow with objects.
func (a answer) scaling() []string {
	if g := a.res.Growth; g != nil && g.Memory != nil {
		return []string{fmt.Sprintf("Beyond the smallest step, ten times as many objects take %s times the memory.",
			short(math.Pow(10, g.Memory.Exponent)))}
	}
	return nil
}

// proven counts the rows that lost, reordered or resurrected nothing, and those not tested enough.
func (a answer) proven() []string {
	good, cut, untested, events := 0, 0, 0, int64(0)
	for _, r := range a.rows {
		verdicts := map[string]bool{}
		for _, g := range []string{"G1", "G2", "G3", "G4"} {
			verdicts[r.checks[g].Verdict] = true
		}
		switch {
		case r.void() || r.isFloor() || verdicts[result.Fail] || verdicts[result.Allowed]:
		case verdicts[result.Pass] && len(verdicts) == 1:
			good++
			for _, c := range r.valid {
				if e := account(c); e == nil || c.Watcher.Restarts > 0 { // those of the last process are not all
					events = math.MinInt32 * 1e6
				} else {
					events += e.Received
				}
			}
		case r.cut():
			cut++
		default:
			untested++
		}
	}
	var rest []string
	if cut > 0 {
		rest = append(rest, fmt.Sprintf("%d ran out of time", cut))
	}
	if untested > 0 {
		rest = append(rest, fmt.Sprintf("%d not fully tested", untested))
	}
	const nothing = "othing was lost, reordered or brought back"
	over := ""
	if events > 0 {
		over = fmt.Sprintf(" (%d events received)", events)
	}
	switch {
	case good > 0 && len(a.rows) == 1:
		return []string{"N" + nothing + over + "."}
	case good > 0:
		return []string{fmt.Sprintf("In %d of %d %s n%s%s%s.", good, len(a.rows), a.combinations(), nothing, over,
			leading("; ", join(rest)))}
	case len(rest) > 0:
		return []string{"Not proven: that n" + nothing + "; " + join(rest) + "."}
	}
	return nil
}

// combinations names what a row combines.
func (a answer) combinations() string { return "combinations of " + a.who() + " and load" }

// limits names the bottleneck of most cells of each correct row.
func (a answer) limits() []string {
	limited := map[string][]string{}
	n := 0
	for _, r := range a.rows {
		if !r.correct() || r.isFloor() {
			continue
		}
		stages := map[string]int{}
		for _, c := range r.valid {
			stages[c.Bottleneck.Stage]++
		}
		order := slices.SortedFunc(maps.Keys(stages), func(a, b string) int {
			return cmp.Or(cmp.Compare(stages[b], stages[a]), cmp.Compare(a, b))
		})
		limited[order[0]] = append(limited[order[0]], a.inWords(r))
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
	{result.KeptUp, "the load itself, which the watcher kept up with"},
	{"unknown", "not known"},
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
		s = append(s, map[string]string{
			result.EndDecided: fmt.Sprintf("The run ended when %d repetitions had decided that.", d.Blocks),
			result.EndTime:    fmt.Sprintf("Its time was up after %s, before all was decided.", plural(d.Blocks, "repetition")),
			result.EndInvalid: "The run ended, because its first two blocks have no valid cell.",
			result.EndBlocks: fmt.Sprintf("Not all was decided by %s, the most that the scenario allows.",
				plural(d.Blocks, "repetition")),
		}[d.End])
	}
	if (method{a.table}).disturbed() {
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
