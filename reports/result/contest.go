package result

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/stats"
)

// Contest compares points that differ in their watcher alone. Points that violate a core guarantee, did not converge or
// have no valid cell are left out.
type Contest struct {
	Name string `json:"name"` // of the load, and of what else the points have in common
	// Figure ranks the points; empty where the plan of an open load decides how long it takes, so that the question is
	// which settings keep up.
	Figure string   `json:"figure,omitempty"`
	Points []string `json:"points"`           // all of them
	Takes  []string `json:"takes,omitempty"`  // those that take part, the best first
	Blocks int      `json:"blocks,omitempty"` // repetitions that rank them; 0 where they are too few
	Ranked []Place  `json:"ranked,omitempty"` // the best first
	Alike  bool     `json:"alike,omitempty"`  // the points of rank 1 are the same within 10 %, or all limited by the load
	Ahead  bool     `json:"ahead,omitempty"`  // each of rank 1 is better than the next
	Sizing *Sizing  `json:"sizing,omitempty"` // where Figure is empty
}

// Place is a point in the order of the figure.
type Place struct {
	Point   string  `json:"point"`
	Value   float64 `json:"value"`
	Rank    int     `json:"rank"`              // 1 for the best and all that are indistinguishable from it
	Bounded bool    `json:"bounded,omitempty"` // the load was its limit
	Leads   bool    `json:"leads,omitempty"`   // it is all but certainly better than the next
}

// Sizing is which settings keep up with an open load.
type Sizing struct {
	// Every and Latest are the smallest settings that keep up and beyond which none falls behind: of those that send
	// every event, and of those that send the latest state of an object only. Several are indistinguishable.
	Every  []string `json:"every,omitempty"`
	Latest []string `json:"latest,omitempty"`
	// Closest is set where there are none: it keeps up but does not qualify, or is least behind.
	Closest string `json:"closest,omitempty"`
	KeepsUp bool   `json:"closestKeepsUp,omitempty"`
	// Unknown are points that might be the answer instead: invalid, missing, or with an unknown backlog.
	Unknown []string `json:"unknown,omitempty"`
}

// Valid are the cells that may be believed.
func (p *Group) Valid() []*Cell {
	return slices.DeleteFunc(slices.Clone(p.Cells), func(c *Cell) bool { return !c.Valid })
}

// Median of a figure over the valid cells that know it; nil for none.
func (p *Group) Median(of func(*Cell) *float64) *float64 {
	var values []float64
	for _, c := range p.Valid() {
		if v := of(c); v != nil {
			values = append(values, *v)
		}
	}
	return stats.Median(values)
}

// Correct reports whether a point's speed may be compared: it has a valid cell, was judged, and violates nothing.
func (p *Group) Correct() bool {
	valid := p.Valid()
	judged := slices.ContainsFunc(valid, func(c *Cell) bool { return len(c.Checks) > 0 })
	return judged && !slices.ContainsFunc(p.Cells, (*Cell).violates)
}

// IsFloor reports whether the cell's watcher is the relay that moves the bytes and does nothing else.
func (c *Cell) IsFloor() bool {
	return len(c.Watcher.Command) > 0 && path.Base(c.Watcher.Command[0]) == "watchfloor"
}

func (p *Group) floor() bool { return slices.ContainsFunc(p.Cells, (*Cell).IsFloor) }

// Pace counts the valid cells in which storage kept up, of those that know.
func (p *Group) Pace() (kept, of int) {
	for _, c := range p.Valid() {
		if c.Pace != nil {
			of++
			if c.Pace.KeepsUp {
				kept++
			}
		}
	}
	return kept, of
}

// KeepsUp reports whether most cells do.
func (p *Group) KeepsUp() bool {
	kept, of := p.Pace()
	return 2*kept > of
}

// everyEvent is the least of requests per event that means that each was sent.
const everyEvent = 0.99

// SendsEvery reports whether every event was sent, and how many requests an event took; nil where that is not known.
func (p *Group) SendsEvery() (every bool, perEvent *float64) {
	perEvent = p.pace(func(x *Pace) *float64 { return x.SentPerEvent })
	return perEvent != nil && *perEvent >= everyEvent, perEvent
}

// BacklogGrowth is by how many writes a second those grew that storage was owed.
func (p *Group) BacklogGrowth() *float64 {
	return p.pace(func(x *Pace) *float64 { return &x.GrowthQPS })
}

func (p *Group) pace(of func(*Pace) *float64) *float64 {
	return p.Median(func(c *Cell) *float64 {
		if c.Pace == nil {
			return nil
		}
		return of(c.Pace)
	})
}

// Figures that rank points.
const (
	FigureDrain     = "handler.drainSeconds"
	FigureFreshness = "freshness.p99"
)

// rankedBy reads a figure of a cell that was waited for.
func rankedBy(figure string) func(*Cell) *float64 {
	return func(c *Cell) *float64 {
		switch {
		case figure == FigureFreshness && c.Freshness != nil && !c.Cut:
			return &c.Freshness.P99
		case figure == FigureDrain && !c.Handler.DrainProjected:
			return c.Handler.DrainSeconds
		}
		return nil
	}
}

// axes are the parameters that have several values.
func (r *Results) axes() []string {
	last, several := map[string]string{}, map[string]bool{}
	for i := range r.Cells {
		for k, v := range r.Cells[i].Params {
			if was, seen := last[k]; seen && was != v {
				several[k] = true
			}
			last[k] = v
		}
	}
	return slices.Sorted(maps.Keys(several))
}

// contests are the points by what their watchers were put to. A load is called by its name, or by its model.
func (r *Results) contests() (names []string, by map[string][]*Group) {
	by = map[string][]*Group{}
	axes := r.axes()
	for _, p := range r.Groups() {
		name := cmp.Or(p.Params[ParamLoad], p.Cells[0].Load.Model)
		for _, axis := range axes {
			if axis != ParamLoad && !OfWatcher(axis) {
				name += " " + p.Params[axis]
			}
		}
		if by[name] == nil {
			names = append(names, name)
		}
		by[name] = append(by[name], p)
	}
	return names, by
}

// Decide sets Contests from the cells.
func (r *Results) Decide() {
	r.Contests = nil
	decides, _ := r.Scenario["decide"].(map[string]any)
	figure, _ := decides["figure"].(string)
	names, by := r.contests()
	for _, name := range names {
		c := Contest{Name: name, Figure: cmp.Or(figure, FigureDrain), Points: ids(by[name])}
		if figure == "" && by[name][0].Cells[0].Load.Model == ModelOpen {
			c.Figure = ""
			if c.Sizing = r.size(by[name]); c.Sizing == nil {
				continue
			}
		} else {
			c.rank(by[name])
		}
		r.Contests = append(r.Contests, c)
	}
}

func (c *Contest) rank(points []*Group) {
	of := rankedBy(c.Figure)
	var takes []*Group
	for _, p := range points {
		converged := !slices.ContainsFunc(p.Valid(), func(c *Cell) bool { return c.Checks["G1"].Verdict != Pass })
		projected := c.Figure == FigureDrain && slices.ContainsFunc(p.Valid(), func(c *Cell) bool {
			return c.Handler.DrainProjected
		})
		if p.Correct() && converged && !p.floor() && !projected && p.Median(of) != nil {
			takes = append(takes, p)
		}
	}
	slices.SortStableFunc(takes, func(a, b *Group) int { return cmp.Compare(*a.Median(of), *b.Median(of)) })
	c.Takes = ids(takes)
	var rows [][]*Cell
	for _, p := range takes {
		rows = append(rows, p.Valid())
	}
	ranking, ok := Rank(rows, of)
	if !ok {
		return
	}
	c.Blocks = ranking.N
	rank, first := 1, 0
	for i, row := range ranking.Rows {
		if i > 0 && ranking.Differ(first, i) {
			rank, first = rank+1, i
		}
		c.Ranked = append(c.Ranked, Place{
			Point: takes[row].Name, Value: *takes[row].Median(of), Rank: rank, Bounded: ranking.Bounded[i],
			Leads: i+1 < len(ranking.Rows) && ranking.Differ(i, i+1),
		})
	}
	n := c.Tied()
	c.Alike, c.Ahead = true, n < len(c.Ranked)
	for i := range n {
		c.Alike = c.Alike && (i == 0 || ranking.Alike(0, i))
		c.Ahead = c.Ahead && ranking.Differ(i, n)
	}
}

// Names are the points that a contest compares; of unknown ones there may be no cell.
func (c *Contest) Names() []string {
	names := slices.Concat(c.Points, c.Takes)
	for _, p := range c.Ranked {
		names = append(names, p.Point)
	}
	if s := c.Sizing; s != nil {
		names = slices.Concat(names, s.Every, s.Latest)
		if s.Closest != "" || len(s.Every)+len(s.Latest) == 0 {
			names = append(names, s.Closest)
		}
	}
	return names
}

// Tied is how many points share the first rank.
func (c *Contest) Tied() (n int) {
	for n < len(c.Ranked) && c.Ranked[n].Rank == 1 {
		n++
	}
	return n
}

const adaptive = "adaptive"

type sizes struct {
	kinds, numbers []string // axes: names by which kinds differ, numbers by which settings of a kind are ordered
}

// Sizes are the axes of the watcher that have a number at every point, by which settings are ordered, and the others.
func (r *Results) Sizes() (numbers, names []string) {
	for _, axis := range r.axes() {
		switch {
		case !OfWatcher(axis) || axis == ParamStrategy:
		case slices.ContainsFunc(r.Cells, func(c Cell) bool {
			_, err := strconv.ParseFloat(c.Params[axis], 64)
			return err != nil
		}):
			names = append(names, axis)
		default:
			numbers = append(numbers, axis)
		}
	}
	return numbers, names
}

// number is that along an axis; what has none to be set is beyond all others.
func (p *Group) number(axis string) float64 {
	n, err := strconv.ParseFloat(p.Params[axis], 64)
	if err != nil || p.Params[ParamStrategy] == adaptive {
		return math.Inf(1)
	}
	return n
}

func (s *sizes) compare(a, b *Group) (c int) {
	for _, axis := range s.numbers {
		c = cmp.Or(c, cmp.Compare(a.number(axis), b.number(axis)))
	}
	return c
}

// kind identifies settings that differ in numbers alone.
func (s *sizes) kind(p *Group) string {
	words := []string{p.Cells[0].Watcher.Name, p.Params[ParamStrategy]}
	for _, axis := range s.kinds {
		words = append(words, p.Params[axis])
	}
	return strings.Join(words, "\x00")
}

// size finds the smallest settings that keep up; nil where no cell shows whether it does.
func (r *Results) size(points []*Group) *Sizing {
	var s sizes
	s.numbers, s.kinds = r.Sizes()
	told := slices.DeleteFunc(slices.Clone(points), func(p *Group) bool { _, of := p.Pace(); return of == 0 || p.floor() })
	if len(told) == 0 {
		return nil
	}
	out := &Sizing{}
	found := s.smallest(told)
	fresh := rankedBy(FigureFreshness)
	order := func(p *Group) float64 {
		if v := p.Median(fresh); v != nil {
			return *v
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(found, func(a, b *Group) int { return cmp.Or(s.compare(a, b), cmp.Compare(order(a), order(b))) })
	every, latest := s.best(found, true), s.best(found, false)
	out.Every, out.Latest = ids(every), ids(latest)
	if len(every)+len(latest) == 0 {
		kept := slices.DeleteFunc(slices.Clone(told), func(p *Group) bool { return !p.KeepsUp() })
		if out.KeepsUp = len(kept) > 0; out.KeepsUp {
			out.Closest = slices.MinFunc(kept, s.compare).Name
		} else {
			out.Closest = slices.MinFunc(told, func(a, b *Group) int {
				return cmp.Compare(*a.BacklogGrowth(), *b.BacklogGrowth())
			}).Name
		}
	}
	out.Unknown = r.unknown(&s, points, slices.Concat(every, latest))
	return out
}

func ids(points []*Group) (all []string) {
	for _, p := range points {
		all = append(all, p.Name)
	}
	return all
}

// smallest finds, of each kind, the first by size that keeps up and beyond which, in all of its numbers, none of its
// kind falls behind or is wrong.
func (s *sizes) smallest(points []*Group) (found []*Group) {
	beyond := func(a, b *Group) bool {
		return !slices.ContainsFunc(s.numbers, func(axis string) bool { return b.number(axis) < a.number(axis) })
	}
	for _, p := range slices.SortedStableFunc(slices.Values(points), s.compare) {
		kind := func(o *Group) bool { return s.kind(o) == s.kind(p) }
		fails := slices.ContainsFunc(points, func(o *Group) bool {
			return kind(o) && beyond(p, o) && (!o.Correct() || !o.KeepsUp())
		})
		if !fails && !slices.ContainsFunc(found, kind) {
			found = append(found, p)
		}
	}
	return found
}

// best finds, of settings that are in order, the first that sends every event or does not, and those of its size with
// indistinguishable freshness.
func (s *sizes) best(found []*Group, every bool) (all []*Group) {
	fresher := func(a, b *Group) bool {
		p, ok := Rank([][]*Cell{a.Valid(), b.Valid()}, rankedBy(FigureFreshness))
		return ok && p.Rows[0] == 0 && p.Ratio(0, 1).Differs()
	}
	for _, p := range found {
		if sends, _ := p.SendsEvery(); sends == every && (len(all) == 0 || s.compare(all[0], p) == 0 && !fresher(all[0], p)) {
			all = append(all, p)
		}
	}
	return all
}

// unknown names the points that may be the answer in place of the chosen ones: they are not larger, and invalid,
// without a verdict or not there.
func (r *Results) unknown(s *sizes, points, chosen []*Group) (all []string) {
	for _, p := range points {
		larger := len(chosen) > 0 && !slices.ContainsFunc(chosen, func(o *Group) bool { return s.compare(p, o) <= 0 })
		if _, of := p.Pace(); of == 0 && !p.floor() && !larger {
			all = append(all, p.Name)
		}
	}
	for _, id := range r.Missing() {
		id = PointOf(id)
		there := slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Point() == id })
		if !there && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}
