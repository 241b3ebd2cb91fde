package render

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// row is one point of the matrix: all repetitions of one cell, summarised.
type row struct {
	*result.Group
	strategy string // or name, of another watcher
	method   string // the strategy alone
	load     string
	extra    []string // values of the report's extra parameters
	title    string   // how tables call it: with the load, if there are several
	valid    []*result.Cell
	checks   map[string]result.Check
}

type table struct {
	res    *result.Results
	extra  []string // parameters besides strategy and load that differ between cells
	rows   []*row   // by load, then strategy in the scenario's order
	checks []string // guarantees that were judged, and the core ones, G2 before G10
	// contests leaves out those whose points are missing.
	contests []result.Contest
}

// arrange makes the points rows, and sorts them.
func arrange(res *result.Results) *table {
	t := &table{res: res}
	values, checks := map[string]map[string]bool{}, map[string]bool{}
	for i := range res.Cells {
		for k, v := range res.Cells[i].Params {
			if values[k] == nil {
				values[k] = map[string]bool{}
			}
			values[k][v] = true
		}
		for g, c := range res.Cells[i].Checks {
			if c.Verdict != result.NotJudged && c.Verdict != result.NotApply || core(g) {
				checks[g] = true
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if k != result.ParamStrategy && k != result.ParamLoad && len(values[k]) > 1 {
			t.extra = append(t.extra, k)
		}
	}
	t.checks = slices.SortedFunc(maps.Keys(checks), result.ByNumber)
	for _, p := range res.Groups() {
		t.rows = append(t.rows, newRow(p, t.extra))
	}
	t.sort()
	several := len(t.loads()) > 1
	for _, r := range t.rows {
		if r.title = r.label(); several {
			r.title += " / " + clean(r.load)
		}
	}
	for _, c := range res.Contests {
		if !slices.ContainsFunc(c.Names(), func(point string) bool { return t.row(point) == nil }) {
			t.contests = append(t.contests, c)
		}
	}
	return t
}

func newRow(p *result.Group, extra []string) *row {
	c := p.Cells[0]
	method := cmp.Or(c.Params[result.ParamStrategy], c.Handler.Strategy, unknown)
	if c.Handler.Strategy == result.External { // whose strategies, if any, are those that were asked for
		method = c.Params[result.ParamStrategy]
	}
	r := &row{
		Group: p, method: method, valid: p.Valid(), checks: map[string]result.Check{},
		strategy: cmp.Or(strings.TrimSpace(c.Watcher.Name+" "+method), result.External),
		load:     cmp.Or(c.Params[result.ParamLoad], c.Load.Model, unknown),
	}
	for _, k := range extra {
		r.extra = append(r.extra, cmp.Or(c.Params[k], unknown))
	}
	for _, c := range p.Cells {
		for g, check := range c.Checks {
			if !c.Counts(g) { // of an invalid cell, only violations do
				continue
			}
			if have, ok := r.checks[g]; ok {
				check = together(have, check)
			}
			r.checks[g] = check
		}
	}
	return r
}

// together merges two repetitions of a check: the worse verdict. Repetitions put one plan after the other to the test,
// so their pairs of states add up, and where neither found anything, the sum decides whether that is a pass.
func together(a, b result.Check) result.Check {
	worse := a
	if severity(b.Verdict) > severity(a.Verdict) {
		worse = b
	}
	worse.Judged, worse.Violations = a.Judged+b.Judged, a.Violations+b.Violations
	if a.Power == nil || b.Power == nil {
		return worse
	}
	power := int64(0)
	for _, c := range []result.Check{a, b} {
		if c.Judged > 0 {
			power += *c.Power
		}
	}
	worse.Power = &power
	failed := worse.Violations > 0 || worse.Verdict == result.Fail || worse.Verdict == result.Allowed
	switch {
	case failed, worse.Judged == 0:
	case power < worse.MinPower:
		worse.Verdict = result.NoPower
	default:
		worse.Verdict = result.Pass
	}
	return worse
}

// severity orders verdicts: what is worse hides what is better. A check that one
// repetition could not judge was not passed by all.
func severity(verdict string) int {
	return slices.Index([]string{
		result.NotApply, result.Pass, result.NoPower, result.NotJudged, result.Allowed, result.Fail}, verdict)
}

func (r *row) void() bool { return len(r.valid) == 0 }

func (t *table) sort() {
	order := func(axis string) []string { return scenarioOrder(t.res.Scenario, axis) }
	strategies := append(order(result.ParamStrategy), "single", "unordered", "dedup", "partitioned", "keyed", "adaptive")
	loads := order(result.ParamLoad)
	// A matrix written as a map has lost its order; a load weighs what it plans.
	weight := map[string]int64{}
	for _, r := range t.rows {
		for _, c := range r.Cells {
			weight[r.load] = max(weight[r.load], c.Load.Planned)
		}
	}
	slices.SortStableFunc(t.rows, func(a, b *row) int {
		c := cmp.Or(
			cmp.Compare(rank(loads, a.load), rank(loads, b.load)),
			cmp.Compare(weight[a.load], weight[b.load]),
			result.ByNumber(a.load, b.load),
			cmp.Compare(rank(strategies, a.method), rank(strategies, b.method)),
			result.ByNumber(a.strategy, b.strategy),
		)
		for i, axis := range t.extra {
			values := order(axis)
			c = cmp.Or(c, cmp.Compare(rank(values, a.extra[i]), rank(values, b.extra[i])), result.ByNumber(a.extra[i],
				b.extra[i]))
		}
		return c
	})
}

// scenarioOrder reads the order of one axis of the scenario's matrix, if it is written as a list.
func scenarioOrder(scenario map[string]any, axis string) (order []string) {
	matrix, _ := scenario["matrix"].(map[string]any)
	list, _ := matrix[axis].([]any)
	for _, v := range list {
		switch v := v.(type) {
		case string:
			order = append(order, v)
		case float64:
			order = append(order, exact(v))
		case map[string]any: // a named point
			if name, ok := v["name"].(string); ok {
				order = append(order, name)
			}
		}
	}
	return order
}

func rank(order []string, value string) int {
	if i := slices.Index(order, value); i >= 0 {
		return i
	}
	return len(order)
}

func splitNumber(s string) (prefix string, n float64, ok bool) {
	prefix = strings.TrimRight(s, "0123456789")
	n, err := strconv.ParseFloat(s[len(prefix):], 64)
	return prefix, n, err == nil
}

func (t *table) loads() (names []string) {
	for _, r := range t.rows {
		if !slices.Contains(names, r.load) {
			names = append(names, r.load)
		}
	}
	return names
}

// row finds a point's; nil if the run does not have it.
func (t *table) row(point string) *row {
	i := slices.IndexFunc(t.rows, func(r *row) bool { return r.Name == point })
	if i < 0 {
		return nil
	}
	return t.rows[i]
}

// external reports whether the row is of another watcher, which is called by its name.
func (r *row) external() bool { return r.Cells[0].Handler.Strategy == result.External }

// isOpen reports whether the plan, and not the answers, says when the row's load writes.
func (r *row) isOpen() bool { return r.Cells[0].Load.Model == result.ModelOpen }

func (r *row) isFloor() bool { return slices.ContainsFunc(r.Cells, (*result.Cell).IsFloor) }

func (t *table) who() string {
	if slices.ContainsFunc(t.rows, (*row).external) {
		return "watcher"
	}
	return "strategy"
}

func (r *row) label() string {
	return clean(strings.Join(append([]string{r.strategy}, r.extra...), " "))
}

// axis is the name of a parameter without the section that all settings share.
func axis(name string) string { return clean(strings.TrimPrefix(name, "watcher.")) }

func (t *table) keys() Table {
	words := []string{t.who()}
	for _, k := range t.extra {
		words = append(words, axis(k))
	}
	if len(t.loads()) > 1 {
		words = append(words, "/ load")
	}
	return Table{Heads: Heads(strings.Join(words, " "))}
}

// cells begin a row of such a table; it stands apart where the load is another than that of the row before.
func (t *table) cells(r *row) []Cell {
	i := slices.Index(t.rows, r)
	return []Cell{{Text: r.title, Gap: i > 0 && t.rows[i-1].load != r.load}}
}
