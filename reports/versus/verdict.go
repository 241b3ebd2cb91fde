package versus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/stats"
)

// verdict says in a sentence what came out of a run against the first one: first what went
// wrong, then what changed most.
func (c *Comparison) verdict(run int) string {
	name, base := Name(run), Name(0)
	if len(c.Figures) == 0 {
		return fmt.Sprintf("Nothing of %s compares with %s: they have no point in common.", name, base)
	}
	var parts []string
	for _, p := range c.Points {
		now, before := p.failing(run), p.failing(0)
		if failing := minus(now, before); len(failing) > 0 {
			parts = append(parts, fmt.Sprintf("%s fails %s at %s, which %s does not", name, strings.Join(failing, " "), p.Name, base))
		}
		if mended := p.passing(run, minus(before, now)); len(mended) > 0 {
			parts = append(parts, fmt.Sprintf("%s no longer fails %s at %s", name, strings.Join(mended, " "), p.Name))
		}
	}
	for _, f := range c.Figures {
		if s := f.Sides[run]; ofCorrectness[f.Metric] && s.Verdict == WorseThan {
			what := map[string]string{"events.lost": "objects", "events.reordered": "writes"}[f.Metric]
			parts = append(parts, fmt.Sprintf("%s %s %s %s at %s (%s: %s)", name, strings.TrimPrefix(f.Metric, "events."), number(*s.Value), what, f.Point, base, number(*f.Sides[0].Value)))
		}
	}
	if n := len(parts); n > shownFaults {
		parts = append(parts[:shownFaults], fmt.Sprintf("and %d more such faults", n-shownFaults))
	}
	count := map[Verdict]int{}
	most := map[Verdict]*Figure{}
	for i := range c.Figures {
		f := &c.Figures[i]
		v := f.Sides[run].Verdict
		if count[v]++; most[v] == nil && f.Sides[run].Ratio != nil {
			most[v] = f
		}
	}
	total := len(c.Figures)
	figures := func(v Verdict, word string) string {
		s := fmt.Sprintf("%d %s", count[v], word)
		if f := most[v]; f != nil {
			of := f.Metric
			if len(c.Points) > 1 {
				of += " of " + f.Point
			}
			s += fmt.Sprintf(" (most: %s, %s)", of, f.Sides[run].times())
		}
		return s
	}
	var found []string
	words := map[Verdict]string{WorseThan: "worse", BetterThan: "better", Differs: "different"}
	for _, v := range []Verdict{WorseThan, BetterThan, Differs} {
		if count[v] > 0 {
			found = append(found, figures(v, words[v]))
		}
	}
	comparable := total - count[NotComparable]
	switch {
	case comparable == 0:
		parts = append(parts, fmt.Sprintf("nothing of %s compares with %s (%s)", name, base, units.Count(total, "figure")))
	case len(found) == 0:
		parts = append(parts, fmt.Sprintf("no difference between %s and %s is shown in %s", name, base, units.Count(comparable, "figure")))
	default:
		s := fmt.Sprintf("of %s of %s that compare with %s, %s", units.Count(comparable, "figure"), name, base, units.List(found))
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

// shownFaults bounds what went wrong in a sentence.
const shownFaults = 4

// times is a ratio in a sentence.
func (s Side) times() string {
	if s.RatioLow == nil || *s.RatioLow == *s.RatioHigh {
		return number(*s.Ratio) + " ×"
	}
	return fmt.Sprintf("%s × (%s to %s)", number(*s.Ratio), number(*s.RatioLow), number(*s.RatioHigh))
}

// sureness says how sure the verdicts are.
func (c *Comparison) sureness() (notes []string) {
	least, judged := 0, 0
	for _, f := range c.Figures {
		for _, s := range f.Sides[1:] {
			if s.Verdict == NotComparable {
				continue
			}
			judged++
			if n := min(s.N, f.Sides[0].N); least == 0 || n < least {
				least = n
			}
		}
	}
	if judged == 0 {
		return nil
	}
	notes = append(notes, fmt.Sprintf("A figure is the median of its repetitions (percentiles: of all operations together; lost and reordered: the total), a ratio is the run's figure divided by %s's, its interval holds the true one with %g %% confidence. Noise is pooled over the points; better or worse means that the interval leaves out 1.", Name(0), 100*(1-stats.Alpha)))
	if least < stats.Least {
		notes = append(notes, fmt.Sprintf("Some figures have fewer than %d repetitions on a side, so no interval: nothing is called a difference there. Repeat both runs (--repeat %d) to learn more.", stats.Least, 5))
	}
	if judged > 1 {
		notes = append(notes, fmt.Sprintf("Over %d verdicts, about %.2g would differ by chance alone (%d × %.2g %%): one small difference among many proves little.", judged, float64(judged)*stats.Alpha, judged, 100*stats.Alpha))
	}
	return notes
}

// minus are the words of a that b lacks.
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
