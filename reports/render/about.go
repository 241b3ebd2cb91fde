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

// Title is the scenario's name.
func (t *table) Title() string { return clean(orUnknown(t.Run.Scenario)) }

// Description is the scenario's.
func (t *table) Description() string { return clean(t.Run.Description) }

// Environment lists what a reader needs to judge absolute figures.
func (t *table) Environment() []fact {
	e := &t.res.Environment
	commit := e.Commit
	if commit != "" && e.Dirty {
		commit += " (with uncommitted changes)"
	}
	cpu := e.CPUModel
	if e.CPUs > 0 {
		cpu = strings.TrimSuffix(plural(e.CPUs, "CPU")+" ("+cpu+")", " ()")
	}
	memory := ""
	if e.MemoryMiB > 0 {
		memory = strconv.FormatInt(e.MemoryMiB, 10) + " MiB"
	}
	facts := []fact{
		{"Commit", commit},
		{"Cluster", e.Provider},
		{"Kubernetes", e.Kubernetes},
		{"etcd", e.Etcd},
		{"Go", e.GoVersion},
		{"Processor", cpu},
		{"Memory", memory},
		{"Limits (cgroup)", pairs(e.Cgroup)},
		{"Kernel", e.Kernel},
		{"Load average before", loadAverage(e.LoadBefore)},
		{"Load average after", loadAverage(e.LoadAfter)},
		{"Steal", percent(e.StealPct/100) + " of CPU time"},
	}
	if len(e.Flags) > 0 {
		facts = append(facts, fact{"kube-apiserver flags", strings.Join(e.Flags, " ")})
	}
	if len(e.Modules) > 0 {
		facts = append(facts, fact{"Modules", pairs(e.Modules)})
	}
	return cleaned(facts)
}

// Provenance lists what was run, when and how to repeat it.
func (t *table) Provenance() []fact {
	r := t.Run
	facts := []fact{
		{"Scenario", r.Scenario},
		{"Run", r.ID},
		{"Started", when(r.Started)},
		{"Took", took(r)},
		{"Seed", strconv.FormatUint(r.Seed, 10)},
		{"Order of cells", strings.Join(r.Order, ", ")},
	}
	if len(r.Command) > 0 {
		facts = append(facts, fact{"Command", strings.Join(r.Command, " ")})
	}
	if r.Interrupted {
		facts = append(facts, fact{"Interrupted", "yes: the run was stopped early; these are the cells it finished"})
	}
	return cleaned(facts)
}

// cleaned makes the values safe to show; an empty one is not known.
func cleaned(facts []fact) []fact {
	for i := range facts {
		facts[i].Value = clean(orUnknown(facts[i].Value))
	}
	return facts
}

// Method says how the numbers came about and how far they may be believed.
func (t *table) Method() []string {
	machine := "its CPUs"
	if cpus := t.res.Environment.CPUs; cpus > 0 {
		machine = plural(cpus, "CPU")
	}
	notes := []string{
		"One clock: all processes ran on one host and were timed by its wall clock in nanoseconds; Kubernetes' own one-second timestamps are not used.",
		"One plan: every strategy got the same operations at the same intended times, derived from the seed. Latency and freshness count from the intended time, so a generator that falls behind cannot hide waiting.",
		"One machine: apiserver, etcd, generator, watcher and storage mock shared " + machine + ". Absolute figures move with it; compare cells of one run, and read ratios before figures.",
		"Phases: prepare, warm-up (not counted), load, drain, check. Objects of a cell live in namespaces of their own; cells ran in a shuffled order, from the seed.",
		"Correctness before speed: a cell that fails a check is marked and left out of comparisons. A check that looked at nothing is not a pass. “" + unknown + "” means not known, never zero.",
	}
	if len(t.knees()) > 0 {
		notes[1] = "One plan per rate: a strategy gets parts of its own capacity, measured first in the same run, so the rates differ between strategies; the operations and their order come from the seed. Latency and freshness count from the intended time, so a generator that falls behind cannot hide waiting."
	}
	if models := t.distinct(func(c *result.Cell) string { return loadModels[c.Load.Model] }); len(models) > 0 {
		notes = append(notes, "Load model: "+join(models)+".")
	}
	if latency := t.distinct(func(c *result.Cell) string { return clean(c.Storage.LatencySpec) }); len(latency) > 0 {
		notes = append(notes, "Storage is a mock with latency "+join(latency)+"; its own record of every applied write is what the checks judge.")
	}
	return notes
}

var loadModels = map[string]string{
	result.ModelClosed: "closed loop (each thread waits for its answer before the next write; a slow apiserver lowers the load)",
	result.ModelOpen:   "open loop (writes come at a fixed rate, whatever the answers do)",
}

// distinct sorts the different texts that cells have; an empty one is none.
func (t *table) distinct(text func(*result.Cell) string) []string {
	seen := map[string]bool{}
	for i := range t.res.Cells {
		seen[text(&t.res.Cells[i])] = true
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

// Summary is the run's outcome in one sentence.
func (t *table) Summary() string {
	if len(t.rows) == 0 {
		return "The record holds no cells."
	}
	count := map[state]int{}
	for _, r := range t.rows {
		count[r.state()]++
	}
	var parts []string
	for _, s := range slices.Backward(states) {
		if n := count[s.state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.text))
		}
	}
	return "Of " + plural(len(t.rows), "cell") + ": " + strings.Join(parts, "; ") + "."
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

func took(r *result.Run) string {
	if r.Started.IsZero() || r.Finished.Before(r.Started) {
		return unknown
	}
	return r.Finished.Sub(r.Started).Round(time.Second).String()
}
