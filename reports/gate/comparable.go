package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// always may differ between two saved runs: what the gate is about, descriptions, and how busy the machine was,
// which the control is to find.
var always = []string{
	"scenario.watcher.command", "scenario.watcher.name", "scenario.metadata.description", "watcher",
	"environment.loadBefore", "environment.loadAfter", "environment.stealPercent",
}

// tools are the programs that are not the watcher: with others, another thing is measured.
var tools = []string{"watchbench", "storagemock", "k6"}

const mostDifferences = 5

// unlike is the reason why a run cannot be compared with BASE; empty if it can.
func unlike(what string, base, other *result.Results, mayDiffer []string) []string {
	found, err := Differences(base, other)
	if err != nil {
		return []string{what + ": " + err.Error()}
	}
	var all []string
	for _, d := range found {
		below := func(p string) bool {
			rest, is := strings.CutPrefix(d.What, p)
			return is && (rest == "" || rest[0] == '.')
		}
		program, isProgram := strings.CutPrefix(d.What, "environment.programs.")
		may := slices.ContainsFunc(always, below) || slices.ContainsFunc(mayDiffer, below)
		if !may && (!isProgram || slices.Contains(tools, program)) {
			all = append(all, fmt.Sprintf("%s is %s and %s", d.What, d.Values[0], d.Values[1]))
		}
	}
	if n := len(all); n > mostDifferences {
		all = append(all[:mostDifferences], fmt.Sprintf("%d more", n-mostDifferences))
	}
	if len(all) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s differs from BASE in what mayDiffer does not name: %s", what, strings.Join(all, "; "))}
}

// hopeless says that a run has no valid cell, and what would help; empty if it has one.
func hopeless(res *result.Results) (why string) {
	if res.AnyValid() {
		return ""
	}
	late := max(0, slices.IndexFunc(res.Cells, func(c result.Cell) bool { return len(c.LateReasons) > 0 }))
	c := &res.Cells[late]
	why = fmt.Sprintf(": none of its %d cells is valid: %s", len(res.Cells), strings.Join(c.InvalidReasons, "; "))
	if rate := c.Load.OfferedQPS; len(c.LateReasons) > 0 && c.Load.Model == result.ModelOpen && rate != nil && *rate >= 6 {
		const text = ". The machine is too slow or too busy for this load: try --set load.rate=%.0f"
		why += fmt.Sprintf(text, *rate/6) // 3,000/s to 500/s
	}
	return why
}

// alone are reasons why a run cannot be judged, whatever it is compared with.
func alone(what string, res *result.Results, mayDiffer []string) (reasons []string) {
	add := func(format string, args ...any) { reasons = append(reasons, what+fmt.Sprintf(format, args...)) }
	if res == nil {
		return []string{what + " was not read"}
	}
	if err := res.Validate(); err != nil {
		return []string{what + ": " + err.Error()}
	}
	if len(res.Cells) == 0 {
		return []string{strings.TrimSuffix(what+" has no cells: "+res.Crashes(), ": ")}
	}
	if len(res.Scenario) == 0 {
		add(" does not say what scenario it ran")
	}
	if e := res.Environment; e.Provider == "" || e.CPUs == 0 || e.GoVersion == "" {
		add(" does not say where it ran: provider, cpus or goVersion is missing")
	}
	if len(res.Run.Order) == 0 {
		add(" does not say which cells it was to have (run.order)")
	}
	if why := hopeless(res); why != "" {
		add("%s", why)
	} else if gap := res.Gap(); gap != "" && len(res.Run.Crashed) == 0 { // a crash is an invariant's finding
		add(" is %s", gap)
	}
	unplanned := func(c result.Cell) bool { return len(res.Run.Order) > 0 && !slices.Contains(res.Run.Order, c.ID) }
	if i := slices.IndexFunc(res.Cells, unplanned); i >= 0 {
		add(" has a cell that it was not to have: %s", res.Cells[i].ID)
	}
	for i := range res.Run.Resumed {
		resumed := *res
		resumed.Environment = res.Run.Resumed[i].Environment
		reasons = append(reasons, unlike(what+", as resumed,", res, &resumed, mayDiffer)...)
	}
	return reasons
}

// believed is a run in which cells of an open loop are invalid that were behind their plan by more than the rules
// allow, or nobody knows by how much.
func (r *Rules) believed(res *result.Results) *result.Results {
	one := *res
	one.Cells = slices.Clone(res.Cells)
	for i := range one.Cells {
		c := &one.Cells[i]
		lag := c.Load.LagMs
		if !slices.Contains(r.Invariants, invLag) || c.Load.Model != result.ModelOpen ||
			lag != nil && lag.P99 <= float64(r.Lag.Std().Milliseconds()) {
			continue
		}
		if c.Valid {
			c.InvalidReasons = []string{"behind the plan, or nobody knows by how much"}
		}
		c.Valid, c.LateReasons = false, append(slices.Clone(c.LateReasons), "behind the plan")
	}
	return &one
}
