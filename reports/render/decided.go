package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// decided are the answers for each load, in the order of the table; beside the published tables,
// the comparison with them.
func (a answer) decided() (s []string) {
	if beside := besidePublished(a.res); beside.Comparison != nil {
		return []string{beside.headline()}
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
	return s + ", " + a.claim(c, 0, 1) + leading("; ", strings.Join(a.leads(c, 1), "; ")) + "."
}

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

// leads are those among the places from i on, each over the next.
func (a answer) leads(c *result.Contest, i int) (claims []string) {
	for ; i+1 < len(c.Ranked); i++ {
		if c.Ranked[i].Leads {
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
	which := "the freshest that keeps up: "
	if numbers, _ := a.res.Sizes(); len(numbers) > 0 {
		which = "the smallest that keeps up: "
	}
	text := "At " + question(chosen) + ", "
	switch {
	case len(s.Every) > 0:
		text += which + a.settings(s.Every)
		if len(s.Latest) > 0 {
			text += "; if the latest state of an object is enough, " + a.settings(s.Latest)
		}
	case len(s.Latest) > 0:
		text += which + a.settings(s.Latest) + "; none does that sends every event"
	case s.KeepsUp:
		text += fmt.Sprintf("none will do: %s keeps up, but %s", a.setting(chosen), chosen.unfit())
	default:
		known := "none keeps up"
		if len(s.Unknown) > 0 {
			known = "whether one keeps up is not known"
		}
		text += fmt.Sprintf("%s; the backlog of %s, which is least behind, grows by %s writes every second",
			known, a.setting(chosen), shortOf(chosen.BacklogGrowth()))
	}
	if len(s.Unknown) > 0 {
		text += "; not known: " + join(others(s.Unknown, 6))
	}
	return text + "."
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
