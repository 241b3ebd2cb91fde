package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// fact is one line of a description: a name and its value, as plain text.
type fact struct{ Name, Value string }

// environment lists what a reader needs to judge absolute figures.
func environment(res *result.Results) []fact {
	e := &res.Environment
	var facts []fact
	add := func(name, value string) {
		facts = append(facts, fact{name, clean(orUnknown(value))})
	}
	commit := e.Commit
	if commit != "" && e.Dirty {
		commit += " (with uncommitted changes)"
	}
	add("Commit", commit)
	add("Cluster", strings.TrimSpace(e.Provider))
	add("Kubernetes", e.Kubernetes)
	add("etcd", e.Etcd)
	add("Go", e.GoVersion)
	cpu := e.CPUModel
	if e.CPUs > 0 {
		cpu = strings.TrimSuffix(plural(e.CPUs, "CPU")+" ("+cpu+")", " ()")
	}
	add("Processor", cpu)
	memory := ""
	if e.MemoryMiB > 0 {
		memory = strconv.FormatInt(e.MemoryMiB, 10) + " MiB"
	}
	add("Memory", memory)
	add("Limits (cgroup)", pairs(e.Cgroup))
	add("Kernel", e.Kernel)
	add("Load average before", loadAverage(e.LoadBefore))
	add("Load average after", loadAverage(e.LoadAfter))
	add("Steal", fmt.Sprintf("%s of CPU time", percent(e.StealPct/100)))
	if len(e.Flags) > 0 {
		add("kube-apiserver flags", strings.Join(e.Flags, " "))
	}
	if len(e.Modules) > 0 {
		add("Modules", pairs(e.Modules))
	}
	return facts
}

// provenance lists what was run, when and how to repeat it.
func provenance(res *result.Results) []fact {
	r := &res.Run
	facts := []fact{
		{"Scenario", clean(orUnknown(r.Scenario))},
		{"Run", clean(r.ID)},
		{"Started", when(r.Started)},
		{"Took", took(r.Started, r.Finished)},
		{"Seed", strconv.FormatUint(r.Seed, 10)},
		{"Order of cells", clean(orUnknown(strings.Join(r.Order, ", ")))},
	}
	if len(r.Command) > 0 {
		facts = append(facts, fact{"Command", clean(strings.Join(r.Command, " "))})
	}
	if r.Interrupted {
		facts = append(facts, fact{"Interrupted", "yes: the run was stopped early; these are the cells it finished"})
	}
	return facts
}

// method says how the numbers came about and how far they may be believed.
func method(t *table) []string {
	res := t.res
	notes := []string{
		"One clock: all processes ran on one host and were timed by its wall clock in nanoseconds; Kubernetes' own one-second timestamps are not used.",
		"One plan: every strategy got the same operations at the same intended times, derived from the seed. Latency and freshness count from the intended time, so a generator that falls behind cannot hide waiting.",
		"One machine: apiserver, etcd, generator, watcher and storage mock shared " + machine(res) + ". Absolute figures move with it; compare cells of one run, and read ratios before figures.",
		"Phases: prepare, warm-up (not counted), load, drain, check. Objects of a cell live in namespaces of their own; cells ran in a shuffled order, from the seed.",
		"Correctness before speed: a cell that fails a check is marked and left out of comparisons. A check that looked at nothing is not a pass. “" + unknown + "” means not known, never zero.",
	}
	if models := loadModels(res); len(models) > 0 {
		notes = append(notes, "Load model: "+join(models)+".")
	}
	if n := repetitions(t); n > 1 {
		notes = append(notes, fmt.Sprintf("Up to %d repetitions: figures are medians over the valid ones; percentiles come from their merged histograms, never from averages; lost and reordered are totals; of each check the worst verdict counts.", n))
	} else {
		notes = append(notes, "One repetition: a figure is one measurement, without a spread. Repeat the run before calling a small difference real.")
	}
	if latency := specs(res); len(latency) > 0 {
		notes = append(notes, "Storage is a mock with latency "+join(latency)+"; its own record of every applied write is what the checks judge.")
	}
	return notes
}

func machine(res *result.Results) string {
	if res.Environment.CPUs > 0 {
		return plural(res.Environment.CPUs, "CPU")
	}
	return "its CPUs"
}

func loadModels(res *result.Results) []string {
	texts := map[string]string{
		result.ModelClosed: "closed loop (each thread waits for its answer before the next write; a slow apiserver lowers the load)",
		result.ModelOpen:   "open loop (writes come at a fixed rate, whatever the answers do)",
	}
	return distinct(res, func(c *result.Cell) string { return texts[c.Load.Model] })
}

func specs(res *result.Results) []string {
	return distinct(res, func(c *result.Cell) string { return clean(c.Storage.LatencySpec) })
}

// distinct sorts the different texts that cells have; an empty one is none.
func distinct(res *result.Results, text func(*result.Cell) string) []string {
	seen := map[string]bool{}
	for i := range res.Cells {
		seen[text(&res.Cells[i])] = true
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

func repetitions(t *table) int {
	n := 0
	for _, r := range t.rows {
		n = max(n, len(r.cells))
	}
	return n
}

// summary is the run's outcome in one sentence.
func summary(t *table) string {
	if len(t.rows) == 0 {
		return "The record holds no cells."
	}
	count := map[state]int{}
	for _, r := range t.rows {
		count[r.state()]++
	}
	var parts []string
	say := func(n int, text string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	say(count[statePassed], "passed every check")
	say(count[stateOpen], "passed what could be judged")
	say(count[stateCut], "cut at the drain limit, passed what could be judged")
	say(count[stateAllowed], "failed as the scenario allows")
	say(count[stateFailed], "failed")
	say(count[stateInvalid], "invalid")
	return "Of " + plural(len(t.rows), "cell") + ": " + strings.Join(parts, "; ") + "."
}

// headline is the fastest correct strategy under one load, as text.
type headline struct {
	best     *row // nil when none may be compared
	Load     string
	Best     string
	Drain    string // of the best, seconds
	Baseline string // the serial strategy, to compare with
	Ratio    string // its drain divided by the best's; empty without one
	Estimate bool   // the baseline's drain is projected
}

// Found reports whether there is one.
func (h headline) Found() bool { return h.best != nil }

// headlines compares drain times, among correct cells whose drain was waited for.
func headlines(t *table) []headline {
	var lines []headline
	for _, load := range t.loads() {
		h := headline{Load: clean(load)}
		var baseline *row
		fastest := 0.0
		for _, r := range t.under(load) {
			v := drain.value(r)
			if v.number == nil || !r.correct() {
				continue
			}
			if r.strategy == "single" && baseline == nil {
				baseline = r
			}
			if !v.projected && (h.best == nil || *v.number < fastest) {
				h.best, fastest = r, *v.number
			}
		}
		if h.best != nil {
			h.Best, h.Drain = h.best.label(), short(fastest)
		}
		if h.best != nil && baseline != nil && h.best != baseline && fastest > 0 {
			v := drain.value(baseline)
			h.Baseline, h.Ratio, h.Estimate = baseline.label(), short(*v.number/fastest), v.projected
		}
		lines = append(lines, h)
	}
	return lines
}

// text is the headline as a sentence.
func (h headline) text() string {
	if h.best == nil {
		return h.Load + ": no cell that may be compared."
	}
	s := fmt.Sprintf("%s: %s drained fastest of the correct cells, in %s s", h.Load, h.Best, h.Drain)
	if h.Ratio != "" {
		about := ""
		if h.Estimate {
			about = "about "
		}
		s += fmt.Sprintf(" (%s%s × faster than %s)", about, h.Ratio, h.Baseline)
	}
	return s + "."
}

func orUnknown(s string) string {
	if strings.TrimSpace(s) == "" {
		return unknown
	}
	return s
}

func loadAverage(v []float64) string {
	var parts []string
	for _, f := range v {
		parts = append(parts, strconv.FormatFloat(f, 'f', 2, 64))
	}
	return strings.Join(parts, " ")
}

func pairs(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+" "+m[k])
	}
	return strings.Join(parts, ", ")
}

func took(from, to time.Time) string {
	if from.IsZero() || to.Before(from) {
		return unknown
	}
	return to.Sub(from).Round(time.Second).String()
}
