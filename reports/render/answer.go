package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// ended says why a run that decides for itself has so many repetitions.
func (t *table) ended() []string {
	d := t.res.Run.Decision
	why := map[string]string{result.EndDecided: "everything was decided",
		result.EndTime:   "its budget ran out before everything was decided",
		result.EndBlocks: "the scenario allows no more, and not everything was decided"}
	if d == nil || d.Figure == "" || why[d.End] == "" {
		return nil
	}
	n := len(t.res.Run.Again)
	again := map[bool]string{true: "; run again: " + plural(n, "invalid cell")}[n > 0]
	return []string{fmt.Sprintf("The run ended after %s: %s%s.", plural(d.Blocks, "repetition"), why[d.End], again)}
}

// wrong names the points that failed a check; no speed makes up for that.
func (t *table) wrong() (s []string) {
	lost := figureOf("events.lost")
	for _, r := range t.rows {
		failed := r.with(result.Fail)
		if len(failed) == 0 {
			continue
		}
		what := "fails " + join(failed)
		if n := lost.Over(r.Cells).Value; n != nil && *n > 0 {
			what = "lost " + plural(int(*n), "object") + " and " + what
		}
		s = append(s, inShort(r.label(), 8)+" is not correct: it "+what+".")
	}
	if n := len(s) - 2; n > 0 {
		s = append(s[:2], plural(n, "more point")+" failed a check.")
	}
	return s
}

// doubts say that there is nothing to answer with, or not all of it.
func (t *table) doubts() (s []string) {
	if len(t.rows) > 0 && !t.res.AnyValid() {
		reasons := t.res.Cells[0].InvalidReasons
		s = append(s, "Nothing can be said about speed: no measurement is valid"+
			leading("; of the first: ", inShort(strings.Join(reasons[:min(1, len(reasons))], ""), 20))+".")
	}
	if gap := t.res.Gap(); gap != "" {
		s = append(s, "The run is "+gap+".")
	} else if t.res.Run.Interrupted {
		s = append(s, "The run was interrupted.")
	}
	return s
}

func (t *table) limits() []string {
	limited, order := map[string][]string{}, []string(nil)
	for _, r := range t.rows {
		if !r.correct() || r.isFloor() {
			continue
		}
		times, stage := map[string]int{}, ""
		for _, c := range r.valid {
			times[c.Bottleneck.Stage]++
		}
		for _, c := range r.valid { // in most repetitions
			if s := c.Bottleneck.Stage; times[s] > times[stage] {
				stage = s
			}
		}
		stage = orUnknown(stage)
		if limited[stage] == nil {
			order = append(order, stage)
		}
		limited[stage] = append(limited[stage], inShort(r.title, 8))
	}
	var words []string
	for _, stage := range order {
		words = append(words, fmt.Sprintf("%s (%s)", clean(stage), strings.Join(others(limited[stage], 2), ", ")))
	}
	if len(words) == 0 {
		return nil
	}
	return []string{"Limited by: " + strings.Join(words, "; ") + "."}
}

// decided are the answers for each load, in the order of the table; beside the published tables,
// the comparison with them.
func (t *table) decided() (s []string) {
	if headline := besideHeadline(t.res); headline != "" {
		return []string{headline}
	}
	if !t.res.AnyValid() {
		return nil
	}
	order := func(c result.Contest) int {
		return slices.IndexFunc(t.rows, func(r *row) bool { return slices.Contains(c.Points, r.Name) })
	}
	for _, c := range slices.SortedStableFunc(slices.Values(t.contests),
		func(x, y result.Contest) int { return cmp.Compare(order(x), order(y)) }) {
		if c.Sizing != nil {
			s = append(s, t.sizing(c.Sizing))
		} else {
			s = append(s, t.race(&c))
		}
	}
	return s
}

func (t *table) race(c *result.Contest) string {
	best, better, took := "fastest", "faster", "all Pods were stored after %s s"
	if c.Figure == result.FigureFreshness {
		best, better, took = "freshest", "fresher", "99 %% of the changes were in storage within %s s"
	}
	under := ""
	if len(t.loads()) > 1 {
		under = "Under load " + inShort(c.Name, 8) + ", "
	}
	name := func(point string) string { return inShort(t.row(point).label(), 8) }
	m, _ := result.MetricByName(c.Figure)
	value := func(point string) string { // as the table has it
		return fixed(m.Over(t.row(point).Cells).Value, m.Decimals)
	}
	switch {
	case len(c.Takes) == 0:
		return sentence(under + "no speed can be compared.")
	case len(c.Takes) == 1:
		return under + name(c.Takes[0]) + ": " + fmt.Sprintf(took, cellOf(m, t.row(c.Takes[0]).Cells).Text) + "."
	case len(c.Ranked) == 0:
		return sentence(under + fmt.Sprintf("nothing is ranked: that takes %d valid repetitions.", stats.Least))
	}
	n := c.Tied()
	leads := strings.Join(t.leads(c, m, better), "") + "."
	if n == 1 {
		first := c.Ranked[0].Point
		return under + fmt.Sprintf("%s was %s: "+took, name(first), best, value(first)) + leads
	}
	var tied, values []string
	limited := true
	for _, p := range c.Ranked[:n] {
		tied, values = append(tied, name(p.Point)), append(values, value(p.Point))
		limited = limited && p.Bounded
	}
	verb := fmt.Sprintf("cannot be told apart after %d repetitions", c.Blocks)
	switch {
	case limited:
		verb = "kept up with the load, which was their limit"
	case c.Alike:
		verb = "are the same within 10 %"
	}
	return under + join(tied) + " " + verb + ": " + fmt.Sprintf(took, join(values)) + leads
}

// sentence begins with a capital letter; a name at the beginning keeps its own.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// leads are the places that lead over the next one, by how much, each with what separates it from the text before.
func (t *table) leads(c *result.Contest, m result.Metric, better string) (claims []string) {
	n := c.Tied()
	for i, p := range c.Ranked[:len(c.Ranked)-1] {
		who, atLeast := "; "+inShort(t.row(p.Point).label(), 8)+" is ", ""
		switch {
		case !p.Leads && (i != n-1 || !c.Ahead):
			continue
		case i == 0:
			who = ", "
		case i == n-1:
			who, atLeast = "; each is ", "at least "
		}
		if p.Bounded {
			atLeast = "at least "
		}
		next := c.Ranked[i+1]
		ratio := next.Value / p.Value // of medians; the table's percentiles are of all operations
		slow, fast := m.Over(t.row(next.Point).Cells).Value, m.Over(t.row(p.Point).Cells).Value
		for _, equal := range c.Ranked[:i] { // the slowest of those tied for the first place
			if f := m.Over(t.row(equal.Point).Cells).Value; i == n-1 && f != nil && fast != nil {
				fast = new(max(*fast, *f))
			}
		}
		if slow != nil && fast != nil {
			ratio = *slow / *fast
		}
		times := short(ratio)
		if atLeast != "" { // not more than was measured, in the digits of short
			unit := math.Pow10(2 - int(math.Log10(max(ratio, 1))))
			times = short(math.Floor(stats.Round(ratio*unit)) / unit)
		}
		claims = append(claims, fmt.Sprintf("%s%s%s× %s than %s", who, atLeast, times, better,
			inShort(t.row(next.Point).label(), 8)))
	}
	return claims
}

func (t *table) sizing(s *result.Sizing) string {
	chosen := t.row(append(append(slices.Clone(s.Every), s.Latest...), s.Closest)[0])
	text := "At " + question(chosen) + ", "
	switch {
	case len(s.Every)+len(s.Latest) > 0:
		which := "the freshest that keeps up"
		if numbers, _ := t.res.Sizes(); len(numbers) > 0 {
			which = "the smallest that keeps up"
		}
		text += which + ": " + t.settings(slices.Concat(s.Every, s.Latest))
		if len(s.Every) == 0 {
			text += "; none does that sends every event"
		}
	case s.KeepsUp && !chosen.Correct():
		text += t.setting(chosen) + " keeps up, but is not correct"
	case s.KeepsUp:
		text += t.setting(chosen) + " keeps up, but a larger one falls behind or is not correct, so none is recommended"
	case len(s.Unknown) > 0:
		text += "whether any keeps up is unknown"
	default:
		text += fmt.Sprintf("none keeps up; the backlog of %s, which is least behind, grows by %s writes every second",
			t.setting(chosen), shortOf(chosen.BacklogGrowth()))
	}
	return text + leading("; not known: ", join(others(s.Unknown, 6))) + "."
}

func (t *table) settings(points []string) string {
	var all []string
	for _, p := range points {
		r := t.row(p)
		all = append(all, fmt.Sprintf("%s (%s, freshness p99 %s s)", t.setting(r), sends(r),
			cellOf(figureOf(result.FigureFreshness), r.Cells).Text))
	}
	return join(others(all, 3))
}

// setting is "keyed with podQueueNum 20".
func (t *table) setting(r *row) string {
	if r.strategy == "adaptive" {
		return "adaptive, which finds the number itself"
	}
	var words []string
	for i, name := range t.extra {
		if result.OfWatcher(name) {
			words = append(words, axis(name)+" "+clean(r.extra[i]))
		}
	}
	return inShort(clean(r.strategy)+leading(" with ", join(words)), 12)
}

// question describes the load: "200 writes/s at storage latency p50 60 ms, p99 400 ms".
func question(r *row) string {
	s := "the load"
	c := r.Cells[0]
	if v := c.Load.OfferedQPS; v != nil {
		s = Brief(*v) + " writes/s"
	}
	if p50, p99 := c.Storage.LatencyP50Ms, c.Storage.LatencyP99Ms; p50 > 0 && p99 > 0 {
		return s + fmt.Sprintf(" at storage latency p50 %s ms, p99 %s ms", Brief(p50), Brief(p99))
	}
	return s + leading(" at storage latency ", clean(c.Storage.LatencySpec))
}

func (t *table) best() map[*row]string {
	all := map[*row]string{}
	for i := range t.contests {
		if c := &t.contests[i]; c.Tied() == 1 {
			all[t.row(c.Ranked[0].Point)] = c.Figure
		}
	}
	return all
}

func others(names []string, most int) []string {
	if n := len(names) - most; n > 0 {
		return append(names[:most:most], plural(n, "other"))
	}
	return names
}

// leading puts a text between two others unless it is empty.
func leading(before, s string, after ...string) string {
	if s == "" {
		return ""
	}
	return before + s + strings.Join(after, "")
}

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
