package versus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// shownFaults bounds what went wrong in a sentence.
const shownFaults = 4

// verdict says what came out of a run against the first one: first what went wrong, then what changed most.
func (c *Comparison) verdict(run int) string {
	name, base := Name(run), Name(0)
	if len(c.Figures) == 0 {
		return fmt.Sprintf("%s and %s have no point in common.", name, base)
	}
	parts := c.faults(run)
	if n := len(parts); n > shownFaults {
		parts = append(parts[:shownFaults], fmt.Sprintf("and %d more such faults", n-shownFaults))
	}
	count, most := map[Verdict]int{}, map[Verdict]string{}
	for i := range c.Figures {
		f := &c.Figures[i]
		s := f.Sides[run]
		count[s.Verdict]++
		if most[s.Verdict] == "" && s.Ratio != nil {
			of := f.Metric
			if len(c.Points) > 1 {
				of += " of " + f.Point
			}
			most[s.Verdict] = fmt.Sprintf(" (most: %s, %s)", of, s.times())
		}
	}
	var found []string
	for _, v := range []Verdict{WorseThan, BetterThan, Differs} {
		if count[v] > 0 {
			word := strings.Replace(string(v), string(Differs), "different", 1)
			found = append(found, fmt.Sprintf("%d %s%s", count[v], word, most[v]))
		}
	}
	comparable := len(c.Figures) - count[NotComparable]
	switch {
	case comparable == 0:
		parts = append(parts, fmt.Sprintf("nothing of %s compares with %s", name, base))
	case len(found) == 0:
		figures := units.Count(comparable, "figure")
		parts = append(parts, fmt.Sprintf("%s of %s show no difference from %s", figures, name, base))
	default:
		s := fmt.Sprintf("of %s of %s that compare with %s, %s",
			units.Count(comparable, "figure"), name, base, units.List(found))
		if n := count[NoDifference]; n > 0 {
			s += fmt.Sprintf(", and %d show no difference", n)
		}
		parts = append(parts, s)
	}
	if n := count[NotComparable]; n > 0 && comparable > 0 {
		parts = append(parts, fmt.Sprintf("%d cannot be compared", n))
	}
	s := strings.Join(parts, "; ") + "."
	return strings.ToUpper(s[:1]) + s[1:]
}

// faults are checks that a run fails and the first does not, or the other way round, and what was lost or reordered.
func (c *Comparison) faults(run int) (parts []string) {
	name, base := Name(run), Name(0)
	for _, p := range c.Points {
		now, before := p.failing(run), p.failing(0)
		if failing := minus(now, before); len(failing) > 0 {
			parts = append(parts, fmt.Sprintf("%s fails %s at %s, %s does not", name, strings.Join(failing, " "), p.Name, base))
		}
		fixed := slices.DeleteFunc(minus(before, now), func(g string) bool {
			return len(p.Cells[run]) == 0 || // a check that was not judged is not fixed
				slices.ContainsFunc(p.Cells[run], func(c *result.Cell) bool { return c.Checks[g].Verdict != result.Pass })
		})
		if len(fixed) > 0 {
			parts = append(parts, fmt.Sprintf("%s no longer fails %s at %s", name, strings.Join(fixed, " "), p.Name))
		}
	}
	for _, f := range c.Figures {
		if s := f.Sides[run]; traits[f.Metric].fault && s.Verdict == WorseThan {
			fault := strings.TrimPrefix(f.Metric, "events.")
			what := map[string]string{"lost": "objects", "reordered": "writes"}[fault]
			parts = append(parts, fmt.Sprintf("%s %s %s %s at %s (%s: %s)",
				name, fault, number(*s.Value), what, f.Point, base, number(*f.Sides[0].Value)))
		}
	}
	return parts
}

// times is a ratio in a sentence.
func (s Side) times() string {
	if s.RatioLow == nil || *s.RatioLow == *s.RatioHigh {
		return number(*s.Ratio) + " ×"
	}
	return fmt.Sprintf("%s × (%s to %s)", number(*s.Ratio), number(*s.RatioLow), number(*s.RatioHigh))
}

// sureness says how sure the verdicts are.
func (c *Comparison) sureness() (notes []string) {
	least, judged := stats.Least, 0
	for _, f := range c.Figures {
		for _, s := range f.Sides[1:] {
			if s.Verdict != NotComparable {
				judged, least = judged+1, min(least, s.N, f.Sides[0].N)
			}
		}
	}
	if judged == 0 {
		return nil
	}
	notes = append(notes, fmt.Sprintf("Figures are medians of repetitions (percentiles: of all operations together; lost "+
		"and reordered: totals); a ratio's interval has %g %% confidence, and better or worse means that it leaves out 1. "+
		"Of %s, about %.2g would differ by chance.",
		100*(1-stats.Alpha), units.Count(judged, "verdict"), float64(judged)*stats.Alpha))
	if least < stats.Least {
		notes = append(notes, fmt.Sprintf("Figures of fewer than %d repetitions on a side have no interval, "+
			"so no difference is shown: repeat both runs (--repeat 5).", stats.Least))
	}
	return notes
}

// leftOut lists what was left out of the comparison, and why.
func (c *Comparison) leftOut(runs []*result.Results) (all []string) {
	for i, r := range runs {
		if gap := r.Gap(); gap != "" {
			all = append(all, fmt.Sprintf("%s is %s", Name(i), gap))
		}
	}
	for _, p := range c.Points {
		for i := range runs {
			invalid, why, of := 0, "", units.Count(len(p.all[i]), "cell")+" of "+Name(i)
			for _, cell := range p.all[i] {
				if !cell.Valid {
					invalid, why = invalid+1, strings.Join(cell.InvalidReasons, "; ")
				}
			}
			if invalid > 0 {
				all = append(all, fmt.Sprintf("%s: %d of %s invalid: %s", p.Name, invalid, of, why))
			}
			if n := p.cut(i); n > 0 {
				all = append(all, fmt.Sprintf("%s: %d of %s cut at the drain limit", p.Name, n, of))
			}
			for _, w := range []struct {
				did, what string
				of        func(*result.Cell) float64
			}{{"wrote", "writes", writes}, {"sent", "requests", requests}} {
				if p.otherWork(i, w.of) {
					all = append(all, fmt.Sprintf("%s: %s %s %.3g %% of %s's %s",
						p.Name, Name(i), w.did, 100*p.share(i, w.of), Name(0), w.what))
				}
			}
		}
	}
	lacking, order := map[string][]string{}, []string(nil) // figures by point and reason
	for _, f := range c.Figures {
		for _, side := range f.Sides {
			why := f.Point + ": " + side.Why
			if side.Why == "" {
				continue
			}
			if lacking[why] == nil {
				order = append(order, why)
			}
			lacking[why] = append(lacking[why], f.Metric)
		}
	}
	for _, why := range order {
		what := units.List(lacking[why])
		if n := len(lacking[why]); n > shownFaults {
			what = units.Count(n, "figure")
		}
		all = append(all, fmt.Sprintf("%s (%s)", why, what))
	}
	return all
}

// runsOf returns the runs that have cells of a point.
func runsOf(p *Point) (runs []int) {
	for i := range p.all {
		if p.Has(i) {
			runs = append(runs, i)
		}
	}
	return runs
}

func names(runs []int) string {
	var all []string
	for _, i := range runs {
		all = append(all, Name(i))
	}
	return units.List(all)
}

// minus returns the words of a that b lacks.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// number has three significant digits, and all those before the point.
func number(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
