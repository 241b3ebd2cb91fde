package versus

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// failing are the core checks that a run fails at the point, allowed or not.
func (p *Point) failing(run int) (names []string) {
	for _, g := range result.Core {
		if slices.ContainsFunc(p.all[run], func(c *result.Cell) bool { return c.Violates(g) }) {
			names = append(names, g)
		}
	}
	return names
}

// passing are those of the checks that a run's cells that count pass, all of them: one that
// was not judged says nothing.
func (p *Point) passing(run int, checks []string) (names []string) {
	for _, g := range checks {
		if len(p.Cells[run]) > 0 && !slices.ContainsFunc(p.Cells[run], func(c *result.Cell) bool { return c.Checks[g].Verdict != result.Pass }) {
			names = append(names, g)
		}
	}
	return names
}

// open reports whether the load is an open loop.
func (p *Point) open() bool {
	return slices.ContainsFunc(p.all[0], func(c *result.Cell) bool { return c.Load.Model == result.ModelOpen })
}

// sameWork is how much two amounts may differ and still be the same work.
const sameWork = 0.10

// requests and writes are amounts of work.
func requests(c *result.Cell) float64 { return float64(c.Storage.Requests) }
func writes(c *result.Cell) float64   { return float64(c.Load.Done) }

// share is a run's amount as a part of the first run's; ok is false where it is not known.
func (p *Point) share(run int, of func(*result.Cell) float64) (part float64, ok bool) {
	var medians [2]float64
	for i, r := range []int{0, run} {
		var values []float64
		for _, c := range p.Cells[r] {
			values = append(values, of(c))
		}
		if medians[i], ok = stats.Median(values); !ok || medians[i] == 0 {
			return 0, false
		}
	}
	return medians[1] / medians[0], true
}

// otherWork reports whether a run sent another number of requests than the first.
func (p *Point) otherWork(run int) bool {
	part, ok := p.share(run, requests)
	return ok && math.Abs(part-1) > sameWork
}

// otherLoad reports whether a run wrote another amount than the first.
func (p *Point) otherLoad(run int) bool {
	part, ok := p.share(run, writes)
	return ok && math.Abs(part-1) > sameWork
}

// remarks say where a run did not do the same work as the first.
func (p *Point) remarks(run int) (all []string) {
	for _, w := range []struct {
		did, what string
		of        func(*result.Cell) float64
	}{{"wrote", "writes", writes}, {"sent", "requests", requests}} {
		if part, ok := p.share(run, w.of); ok && math.Abs(part-1) > sameWork {
			all = append(all, fmt.Sprintf("%s: %s %s %.3g %% of %s's %s", p.Name, Name(run), w.did, 100*part, Name(0), w.what))
		}
	}
	return all
}

// leftOut lists what was left out of the comparison, and why.
func (c *Comparison) leftOut(runs []*result.Results, unmatched []string) (all []string) {
	for i, r := range runs {
		if gap := r.Gap(); gap != "" {
			all = append(all, fmt.Sprintf("%s is %s", Name(i), gap))
		}
	}
	for _, p := range c.Points {
		var why reasons
		for i := range runs {
			for _, cell := range p.all[i] {
				switch {
				case !cell.Valid:
					why.add(i, "invalid: "+strings.Join(cell.InvalidReasons, "; "))
				case cell.Cut:
					why.add(i, "cut at the drain limit, so only the load is compared here")
				}
			}
		}
		for _, w := range why {
			all = append(all, fmt.Sprintf("%s: %s %s", p.Name, w.who(p.all), w.text))
		}
		var failing reasons
		for i := range runs {
			if f := p.failing(i); len(f) > 0 {
				failing.add(i, strings.Join(f, " "))
			}
		}
		for _, w := range failing {
			all = append(all, fmt.Sprintf("%s: fails %s in %s, so no speed is compared here", p.Name, w.text, w.names()))
		}
		for i := 1; i < len(runs); i++ {
			all = append(all, p.remarks(i)...)
		}
	}
	return slices.Concat(all, unmatched, c.absent())
}

// shownAbsent bounds the figures that are named as missing.
const shownAbsent = 4

// absent names the figures that one side lacks, by the reason.
func (c *Comparison) absent() (all []string) {
	lacking := map[string][]string{}
	for _, f := range c.Figures {
		for _, s := range f.Sides {
			if s.absent {
				lacking[s.Why] = append(lacking[s.Why], f.Metric+" of "+f.Point)
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(lacking)) {
		names := lacking[why]
		if n := len(names); n > shownAbsent {
			names = append(names[:shownAbsent:shownAbsent], fmt.Sprintf("%d more", n-shownAbsent))
		}
		all = append(all, why+": "+units.List(names))
	}
	return all
}

// reason is one that several cells have, and how many of each run.
type reason struct {
	text  string
	cells map[int]int
}

type reasons []reason

func (r *reasons) add(run int, text string) {
	i := slices.IndexFunc(*r, func(w reason) bool { return w.text == text })
	if i < 0 {
		i, *r = len(*r), append(*r, reason{text, map[int]int{}})
	}
	(*r)[i].cells[run]++
}

// who is how many cells of which runs.
func (r reason) who(all [][]*result.Cell) string {
	var parts []string
	for _, run := range slices.Sorted(maps.Keys(r.cells)) {
		parts = append(parts, fmt.Sprintf("%d of %s of %s", r.cells[run], units.Count(len(all[run]), "cell"), Name(run)))
	}
	return units.List(parts)
}

// names are the runs.
func (r reason) names() string {
	var parts []string
	for _, run := range slices.Sorted(maps.Keys(r.cells)) {
		parts = append(parts, Name(run))
	}
	return units.List(parts)
}
