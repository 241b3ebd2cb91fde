package gate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/aclements/go-moremath/stats"

	"github.com/watchbench/watchbench/reports/result"
)

func (p *point) invariants(rules *Rules) (all []Finding) {
	for _, name := range rules.Invariants {
		f := Finding{Point: p.label, Name: name, Outcome: Pass}
		switch name {
		case invErrors:
			f.Outcome, f.Why = p.errors(float64(rules.Errors))
		case invLag:
			f.Outcome, f.Why = p.lag()
		default:
			f.Outcome, f.Why = guarantee(name, tallyOf(name, p.all[0]), tallyOf(name, p.all[1]))
		}
		all = append(all, f)
	}
	return append(all, p.whole(rules)...)
}

type tally struct {
	cells, judged, violated, allowed int
	first                            string // counterexample, with its cell
	notes                            []string
}

func tallyOf(name string, cells []*result.Cell) (t tally) {
	for _, c := range cells {
		check := c.Checks[name]
		t.cells++
		switch {
		case !c.Counts(name): // an invalid cell proves nothing but a violation
			if c.Valid {
				t.notes = append(t.notes, "no verdict")
			}
		case check.Verdict == result.Fail:
			t.judged, t.violated = t.judged+1, t.violated+1
			t.first = cmp.Or(t.first, strings.TrimSpace(c.ID+": "+check.Counterexample))
		case check.Verdict == result.Allowed:
			t.judged, t.allowed = t.judged+1, t.allowed+1
		case check.Verdict == result.Pass && check.Judged > 0:
			t.judged++
		default:
			t.notes = append(t.notes, cmp.Or(check.Note, strings.ReplaceAll(check.Verdict, "-", " ")))
		}
	}
	return t
}

// why is the reason that was given for the first cell without a verdict.
func (t tally) why() string { return append(t.notes, "the cells are invalid")[0] }

func guarantee(name string, base, changed tally) (Outcome, string) {
	switch {
	case changed.violated > 0:
		return Fail, fmt.Sprintf("violated in %d of %d cells of NEW, %d of %d of BASE: %s",
			changed.violated, changed.cells, base.violated, base.cells, changed.first)
	case changed.judged == 0 && (base.judged > 0 || name == "G1"):
		return Invalid, fmt.Sprintf("judged in no cell of NEW (%s), in %d of BASE", changed.why(), base.judged)
	case changed.judged == 0:
		return NotJudged, "on either side: " + changed.why()
	case base.judged == 0 && name == "G1":
		return Invalid, "judged in no cell of BASE: " + base.why()
	case base.violated > 0:
		return Warn, fmt.Sprintf("violated in %d of %d cells of BASE, in none of NEW, so the figures compare unlike work",
			base.violated, base.cells)
	case changed.allowed > base.allowed:
		return Warn, fmt.Sprintf("violated in %d of %d cells of NEW and %d of BASE, as the scenario allows",
			changed.allowed, changed.cells, base.allowed)
	}
	for i, t := range []tally{base, changed} {
		if n := len(t.notes); n > 0 {
			return Warn, fmt.Sprintf("not judged in %d of %d cells of %s: %s", n, t.cells, sides[i], t.why())
		}
	}
	return Pass, ""
}

func (p *point) errors(allow float64) (Outcome, string) {
	var share [2]float64
	for side, name := range sides {
		var failed, planned int64
		valid, none := 0, false
		for _, c := range p.all[side] {
			if c.Valid {
				failed, planned = failed+c.Load.Errors, planned+c.Load.Planned
				valid, none = valid+1, none || c.Load.Planned == 0
			}
		}
		switch {
		case valid == 0:
			return NotJudged, "no cell of " + name + " counts"
		case none:
			return Invalid, "no writes were planned in a cell of " + name
		}
		share[side] = float64(failed) / float64(planned)
	}
	if share[1] > allow {
		return Fail, fmt.Sprintf("%.2g %% of the load's writes failed with NEW, %.2g %% with BASE; %.2g %% may",
			100*share[1], 100*share[0], 100*allow)
	}
	return Pass, ""
}

// lag says which cells were behind their plan; they do not count. What that means for the gate, whole judges.
func (p *point) lag() (Outcome, string) {
	var behind [2]int
	for side := range sides {
		for _, c := range p.all[side] {
			if len(c.LateReasons) > 0 {
				behind[side]++
			}
		}
	}
	switch {
	case len(p.all[1]) == 0:
		return NotJudged, "NEW has no cell"
	case behind[0]+behind[1] > 0:
		return NotJudged, fmt.Sprintf("behind the plan, and left out: %d cells of BASE, %d of NEW", behind[0], behind[1])
	}
	return Pass, ""
}

// chance is the highest p-value at which more invalid cells of NEW are put down to NEW. It is low because cells are
// late in clusters, and two of one side are neighbours in each block.
const chance = 0.001

// fisher is the one-sided p-value of Fisher's exact test: how likely, of as many bad ones as there are, at least a
// are among the first n, and at most b among the other m.
func fisher(a, n, b, m int) float64 {
	return 1 - stats.HypergeometicDist{N: n + m, K: a + b, Draws: n}.CDF(float64(a-1))
}

// whole judges that the cells are there, valid, and were waited for. Of cells that were run side by side, those of
// NEW are invalid more often only if NEW disturbs: a watcher that takes the machine from the generator does not hide
// behind being INVALID.
func (p *point) whole(rules *Rules) (all []Finding) {
	add := func(name string, o Outcome, format string, args ...any) {
		all = append(all, Finding{Point: p.label, Name: name, Outcome: o, Why: fmt.Sprintf(format, args...)})
	}
	var bad, cut [2]int
	for side, name := range sides {
		cells, why := p.all[side], ""
		for _, c := range cells {
			switch {
			case !c.Valid:
				bad[side]++
				why = cmp.Or(why, strings.Join(c.InvalidReasons, "; "))
			case c.Cut:
				cut[side]++
			}
		}
		n, m := len(cells), len(p.all[0])
		switch {
		case p.paired && side == 1 && m > 0 && fisher(bad[1], n, bad[0], m) <= chance:
			add("cells", Fail, "%d of %d cells of NEW are invalid, %d of %d of BASE, though they ran side by side: %s",
				bad[1], n, bad[0], m, why)
		case n == 0:
			add("cells", Invalid, "%s has none at this point", name)
		case float64(bad[side]) > float64(rules.InvalidCells)*float64(n):
			add("cells", Invalid, "%d of %d cells of %s are invalid, %s may be: %s", bad[side], n, name, rules.InvalidCells, why)
		}
	}
	n := len(p.all[1])
	switch {
	case cut[1] > cut[0] && float64(cut[1]) > float64(rules.InvalidCells)*float64(n):
		add("drained", Fail, "%d of %d cells of NEW were not drained within the scenario's limit, %d of BASE",
			cut[1], n, cut[0])
	case cut[0]+cut[1] > 0:
		add("drained", Warn, "not drained within the scenario's limit: %d cells of BASE, %d of NEW", cut[0], cut[1])
	}
	return all
}
