package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// tally is how one guarantee fared in one side's cells of a point.
type tally struct {
	cells, judged, violated, allowed int
	first                            string // counterexample, with its cell
	notes                            []string
}

func (g group) tally(name string) (t tally) {
	for _, c := range g.cells {
		check := c.Checks[name]
		t.cells++
		switch {
		case !c.Counts(name): // an invalid cell proves nothing but a violation
			if c.Valid {
				t.notes = append(t.notes, "no verdict")
			}
		case check.Verdict == result.Fail:
			t.judged++
			t.violated++
			t.first = cmp.Or(t.first, strings.TrimSpace(c.ID+": "+check.Counterexample))
		case check.Verdict == result.Allowed:
			t.judged++
			t.allowed++
		case check.Verdict == result.Pass && check.Judged > 0:
			t.judged++
		default:
			t.notes = append(t.notes, cmp.Or(check.Note, strings.ReplaceAll(check.Verdict, "-", " ")))
		}
	}
	return t
}

// why is the reason that was given for the first cell without a verdict.
func (t tally) why() string {
	if len(t.notes) == 0 {
		return "the cells are invalid"
	}
	return t.notes[0]
}

// invariants judges what no cell may violate at a point.
func (p *point) invariants(rules *Rules) (all []Finding) {
	for _, name := range rules.Invariants {
		f := Finding{Point: p.name, Name: name, Outcome: Pass}
		switch name {
		case invErrors:
			f.Outcome, f.Why = p.errors(float64(rules.Errors))
		case invLag:
			f.Outcome, f.Why = p.lag()
		default:
			f.Outcome, f.Why = guarantee(name, p.base.tally(name), p.new.tally(name))
		}
		all = append(all, f)
	}
	return append(all, p.whole(rules)...)
}

func guarantee(name string, base, changed tally) (Outcome, string) {
	of := func(t tally) string { return fmt.Sprintf("%d of %d cells", t.violated, t.cells) }
	switch {
	case changed.violated > 0 && base.violated > 0:
		return Fail, fmt.Sprintf("violated in %s of NEW, and in %s of BASE as well: %s", of(changed), of(base), changed.first)
	case changed.violated > 0:
		return Fail, fmt.Sprintf("violated in %s of NEW, in none of BASE: %s", of(changed), changed.first)
	case changed.judged == 0 && base.judged > 0:
		return Invalid, fmt.Sprintf("judged in no cell of NEW (%s), in %d of BASE", changed.why(), base.judged)
	case changed.judged == 0 && name == "G1":
		return Invalid, "loss was judged in no cell of either side: " + changed.why()
	case changed.judged == 0:
		return NotJudged, "on either side: " + changed.why()
	case base.judged == 0 && name == "G1":
		return Invalid, "loss was judged in no cell of BASE: " + base.why()
	case base.violated > 0:
		return Warn, fmt.Sprintf("violated in %s of BASE, in none of NEW: what holds costs time, so the figures compare unlike work", of(base))
	case changed.allowed > base.allowed:
		return Warn, fmt.Sprintf("violated in %d of %d cells of NEW and %d of BASE, as the scenario expects that it may", changed.allowed, changed.cells, base.allowed)
	case len(changed.notes) > 0:
		return Warn, fmt.Sprintf("not judged in %d of %d cells of NEW: %s", len(changed.notes), changed.cells, changed.why())
	case len(base.notes) > 0:
		return Warn, fmt.Sprintf("not judged in %d of %d cells of BASE: %s", len(base.notes), base.cells, base.why())
	}
	return Pass, ""
}

// errors judges the share of the load's writes that failed, over all cells that count.
func (p *point) errors(allow float64) (Outcome, string) {
	share := func(g group) (v float64, known bool) {
		var failed, planned int64
		known = true
		for _, c := range g.cells {
			if g.counts(c) {
				failed, planned, known = failed+c.Load.Errors, planned+c.Load.Planned, known && c.Load.Planned > 0
			}
		}
		return float64(failed) / float64(max(planned, 1)), known && planned > 0
	}
	base, knownBase := share(p.base)
	changed, knownNew := share(p.new)
	none := func(g group) bool { return !slices.ContainsFunc(g.cells, g.counts) }
	switch {
	case none(p.base) || none(p.new):
		return NotJudged, "no cell of " + map[bool]string{true: "BASE", false: "NEW"}[none(p.base)] + " counts"
	case !knownBase || !knownNew:
		return Invalid, "no writes were planned in a cell of " + map[bool]string{true: "NEW", false: "BASE"}[knownBase]
	case changed > allow:
		return Fail, fmt.Sprintf("%.2g %% of the load's writes failed with NEW, %.2g %% with BASE; %.2g %% may", 100*changed, 100*base, 100*allow)
	}
	return Pass, ""
}

// lag says which cells were behind their plan; they do not count. What that means for the
// gate, whole judges.
func (p *point) lag() (Outcome, string) {
	behind := func(g group) int {
		n := 0
		for _, c := range g.cells {
			if g.lags(c) || len(c.LateReasons) > 0 {
				n++
			}
		}
		return n
	}
	if len(p.new.cells) == 0 {
		return NotJudged, "NEW has no cell"
	}
	if a, b := behind(p.base), behind(p.new); a+b > 0 {
		return NotJudged, fmt.Sprintf("behind the plan, and left out: %d cells of BASE, %d of NEW", a, b)
	}
	return Pass, ""
}

// whole judges that the cells are there, valid, and were waited for. Of cells that were run
// side by side, those of NEW are not invalid more often unless NEW is what disturbs: a
// watcher that takes the machine from the generator does not hide behind being INVALID.
func (p *point) whole(rules *Rules) (all []Finding) {
	add := func(name string, o Outcome, format string, args ...any) {
		all = append(all, Finding{Point: p.name, Name: name, Outcome: o, Why: fmt.Sprintf(format, args...)})
	}
	before, _ := p.base.invalid()
	for _, s := range []struct {
		name string
		g    group
	}{{"BASE", p.base}, {"NEW", p.new}} {
		bad, why := s.g.invalid()
		n, m := len(s.g.cells), len(p.base.cells)
		switch {
		case p.paired && s.name == "NEW" && m > 0 && fisher(bad, n, before, m) <= chance:
			add("cells", Fail, "%d of %d cells of NEW are invalid, %d of %d of BASE, though they ran side by side: %s", bad, n, before, m, why)
		case n == 0:
			add("cells", Invalid, "%s has none at this point", s.name)
		case float64(bad) > float64(rules.InvalidCells)*float64(n):
			add("cells", Invalid, "%d of %d cells of %s are invalid, %s may be: %s", bad, n, s.name, rules.InvalidCells, why)
		}
	}
	a, b := p.base.cut(), p.new.cut()
	switch {
	case b > a && float64(b) > float64(rules.InvalidCells)*float64(len(p.new.cells)):
		add("drained", Fail, "%d of %d cells of NEW were not drained within the scenario's limit, %d of BASE", b, len(p.new.cells), a)
	case a+b > 0:
		add("drained", Warn, "not drained within the scenario's limit: %d cells of BASE, %d of NEW", a, b)
	}
	return all
}

// invalid counts the cells that may not be judged, and has the reason of the first.
func (g group) invalid() (n int, why string) {
	for _, c := range g.cells {
		if !g.counts(c) {
			n++
			why = cmp.Or(why, strings.Join(c.InvalidReasons, "; "), "behind the plan, or nobody knows by how much")
		}
	}
	return n, why
}

func (g group) cut() (n int) {
	for _, c := range g.cells {
		if g.counts(c) && c.Cut {
			n++
		}
	}
	return n
}

// crashes are the watchers that ended by themselves. belongs says whether a cell's id is of
// NEW.
func crashes(res *result.Results, belongs func(id string) bool) (all []Finding) {
	for _, c := range res.Run.Crashed {
		if belongs(c.ID) {
			all = append(all, Finding{Name: "crash", Outcome: Fail, Why: fmt.Sprintf("the watcher of NEW ended by itself in %s: %s", c.ID, c.Why)})
			continue
		}
		all = append(all, Finding{Name: "crash", Outcome: Invalid, Why: fmt.Sprintf("the watcher of BASE ended by itself in %s: %s", c.ID, c.Why)})
	}
	return slices.Clip(all)
}
