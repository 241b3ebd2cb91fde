package render

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

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
		{"Steal", steal(e)},
	}
	facts = append(facts, fact{"Storage latency", t.latency()}, fact{"Watcher", join(t.distinct(watcherVersion))}, fact{"Not recorded", notRecorded})
	if len(e.Programs) > 0 {
		facts = append(facts, fact{"Programs", pairs(digests(e.Programs))})
	}
	if e.Profiled {
		facts = append(facts, fact{"Profiles", "were taken; the CPU figures contain what that cost"})
	}
	for _, party := range slices.Sorted(maps.Keys(e.Pinned)) {
		facts = append(facts, fact{"CPUs of " + party, e.Pinned[party]})
	}
	if len(e.Flags) > 0 {
		facts = append(facts, fact{"kube-apiserver flags", strings.Join(e.Flags, " ")})
	}
	if len(e.EtcdFlags) > 0 {
		facts = append(facts, fact{"etcd flags", strings.Join(e.EtcdFlags, " ")})
	}
	if len(e.Modules) > 0 {
		facts = append(facts, fact{"Modules", pairs(e.Modules)})
	}
	return cleaned(facts)
}

// notRecorded is what a reader who distrusts the figures would ask for in vain.
const notRecorded = "frequency governor, thermal or cgroup throttling, clock source, kind of disk, and what else ran on the machine beyond its load average"

// latency is what storage was asked for, and what it served at least and at most.
func (t *table) latency() string {
	asked := t.distinct(func(c *result.Cell) string { return c.Storage.LatencySpec })
	least, most := math.Inf(1), 0.0
	for i := range t.res.Cells {
		if c := &t.res.Cells[i]; c.Valid && c.Storage.SeenMeanMs != nil {
			least, most = min(least, *c.Storage.SeenMeanMs), max(most, *c.Storage.SeenMeanMs)
		}
	}
	served := "not known"
	if most > 0 {
		served = fmt.Sprintf("%s to %s ms", Brief(least), Brief(most))
	}
	if len(asked) == 0 && most == 0 {
		return ""
	}
	return "asked " + orUnknown(join(asked)) + "; served, means of the valid cells: " + served
}

// watcherVersion is what the process under test was called and called itself.
func watcherVersion(c *result.Cell) string {
	return strings.TrimSpace(c.Watcher.Name + " " + c.Watcher.Version)
}

// digests are the first figures of SHA-256 sums, enough to tell programs apart.
func digests(programs map[string]string) map[string]string {
	all := map[string]string{}
	for name, sum := range programs {
		all[name] = sum[:min(len(sum), len("sha256:")+12)]
	}
	return all
}

// steal is not known where the machine does not even tell its load.
func steal(e *result.Environment) string {
	if len(e.LoadBefore) == 0 && e.StealPct == 0 {
		return ""
	}
	return percent(e.StealPct/100) + " of CPU time"
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
		facts = append(facts, fact{"Command", shellescape.QuoteCommand(r.Command)})
	}
	for _, s := range r.Resumed {
		var ids []string
		for _, c := range s.Cells {
			id := c.ID
			if c.Why != "" {
				id += " (" + c.Why + ")"
			}
			ids = append(ids, id)
		}
		facts = append(facts, fact{"Resumed", fmt.Sprintf("%s, for %s: %s", when(s.Started), plural(len(ids), "cell"), strings.Join(ids, ", "))})
		if here, there := machine(&t.res.Environment), machine(&s.Environment); here != there {
			facts = append(facts, fact{"Resumed elsewhere", there})
		}
	}
	for _, s := range r.Skipped {
		facts = append(facts, fact{"Skipped", s.ID + ": " + s.Why})
	}
	if why := t.res.Crashes(); why != "" {
		facts = append(facts, fact{"Crashed", why})
	}
	if gap := t.res.Gap(); gap != "" {
		facts = append(facts, fact{"Complete", gap})
	}
	return cleaned(facts)
}

// machine is what an environment says of program and machine, for telling two apart.
func machine(e *result.Environment) string {
	return strings.Join([]string{e.Commit, e.GoVersion, e.CPUModel, plural(e.CPUs, "CPU"), strconv.FormatInt(e.MemoryMiB, 10) + " MiB", e.Kernel, e.Kubernetes, e.Etcd}, ", ")
}

// cleaned makes the values safe to show; an empty one is not known.
func cleaned(facts []fact) []fact {
	for i := range facts {
		facts[i].Value = clean(orUnknown(facts[i].Value))
	}
	return facts
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
	return "Of " + plural(len(t.rows), "point") + ": " + strings.Join(parts, "; ") + "."
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
