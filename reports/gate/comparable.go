package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// always may differ between two saved runs: what the gate is about, words that nobody
// measures, and how busy the machine was, which the control is to find.
var always = []string{
	"scenario.watcher.command", "scenario.watcher.name", "scenario.metadata.description",
	"environment.loadBefore", "environment.loadAfter", "environment.stealPercent",
	"environment.programs", // those of the tool are compared by name
}

// tools are the programs that are not the watcher: with others, another thing is measured.
var tools = []string{"watchbench", "storagemock", "k6"}

// mostDifferences bounds how many a message lists.
const mostDifferences = 5

// differences are why two runs cannot be held against each other.
func differences(base, other *result.Results, mayDiffer []string) (reasons []string) {
	in := func(list []string, path string) bool {
		return slices.ContainsFunc(list, func(p string) bool {
			below, is := strings.CutPrefix(path, p)
			return is && (below == "" || below[0] == '.' || below[0] == '[')
		})
	}
	for _, part := range []struct {
		what string
		a, b any
	}{{"scenario", base.Scenario, other.Scenario}, {"environment", fixed(base.Environment), fixed(other.Environment)}} {
		found, err := result.Differences(part.a, part.b)
		if err != nil {
			reasons = append(reasons, part.what+": "+err.Error())
		}
		var paths []string
		for _, d := range found {
			if path := strings.TrimSuffix(part.what+"."+d.Place, "."); !in(always, path) && !in(mayDiffer, path) {
				paths = append(paths, fmt.Sprintf("%s is %s and %s", path, result.DifferenceText(d.Old), result.DifferenceText(d.New)))
			}
		}
		if n := len(paths); n > mostDifferences {
			paths = append(paths[:mostDifferences], fmt.Sprintf("%d more", n-mostDifferences))
		}
		if len(paths) > 0 {
			reasons = append(reasons, fmt.Sprintf("another %s: %s", part.what, strings.Join(paths, "; ")))
		}
	}
	if base.Run.Scenario != other.Run.Scenario {
		reasons = append(reasons, fmt.Sprintf("another scenario: %q and %q", base.Run.Scenario, other.Run.Scenario))
	}
	if base.Run.Seed != other.Run.Seed && !in(mayDiffer, "scenario.seed") {
		reasons = append(reasons, fmt.Sprintf("another seed: %d and %d; the plans differ (mayDiffer: [scenario.seed])", base.Run.Seed, other.Run.Seed))
	}
	for _, name := range tools {
		a, b := base.Environment.Programs[name], other.Environment.Programs[name]
		if a != b && !in(mayDiffer, "environment.programs."+name) {
			reasons = append(reasons, fmt.Sprintf("another build of %s; measure both with the same (mayDiffer: [environment.programs])", name))
		}
	}
	return reasons
}

// fixed is an environment without what a control plane draws anew each time it starts.
func fixed(e result.Environment) result.Environment {
	e.Flags, e.EtcdFlags = result.FixedFlags(e.Flags), result.FixedFlags(e.EtcdFlags)
	return e
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
		why += fmt.Sprintf(". The machine is too slow or too busy for this load: try --set load.rate=%.0f", *rate/6) // 3,000/s to 500/s
	}
	return why
}

// alone are reasons why a run cannot be judged, whatever it is held against.
func alone(what string, res *result.Results, mayDiffer []string) (reasons []string) {
	if res == nil {
		return []string{what + " was not read"}
	}
	if res.Schema != result.Schema {
		return []string{fmt.Sprintf("%s has the schema %q, not %s", what, res.Schema, result.Schema)}
	}
	if len(res.Cells) == 0 {
		if c := res.Run.Crashed; len(c) > 0 {
			return []string{fmt.Sprintf("%s has no cells: its watcher ended by itself in %s: %s", what, c[0].ID, c[0].Why)}
		}
		return []string{what + " has no cells"}
	}
	if len(res.Scenario) == 0 {
		reasons = append(reasons, what+" does not say what scenario it ran")
	}
	if e := res.Environment; e.Provider == "" || e.CPUs == 0 || e.GoVersion == "" {
		reasons = append(reasons, what+" does not say where it ran: provider, cpus or goVersion is missing")
	}
	if len(res.Run.Order) == 0 {
		reasons = append(reasons, what+" does not say which cells it was to have (run.order)")
	}
	if why := hopeless(res); why != "" {
		reasons = append(reasons, what+why)
	} else if len(res.Run.Crashed) == 0 { // otherwise the watcher is to blame, which the invariants say
		if gap := res.Gap(); gap != "" {
			reasons = append(reasons, what+" is "+gap)
		}
	}
	planned := map[string]bool{}
	for _, id := range res.Run.Order {
		planned[id] = true
	}
	seen := map[string]bool{}
	for i := range res.Cells {
		id := res.Cells[i].ID
		if !planned[id] && len(planned) > 0 {
			reasons = append(reasons, fmt.Sprintf("%s has a cell that it was not to have: %s", what, id))
			break
		}
		if seen[id] {
			reasons = append(reasons, fmt.Sprintf("%s has %s twice", what, id))
			break
		}
		seen[id] = true
	}
	for i := range res.Run.Resumed {
		resumed := *res
		resumed.Environment = res.Run.Resumed[i].Environment
		for _, r := range differences(res, &resumed, mayDiffer) {
			reasons = append(reasons, what+" was resumed in "+r)
		}
	}
	return reasons
}
