package render

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/watchbench/watchbench/reports/result"
)

// about lists what was run, when, on which machine, and how to repeat it.
func (t *table) about() Section {
	s := Section{ID: "environment", Title: "Run and environment", Place: Aside}
	for _, f := range slices.Concat(t.provenance(), t.environment()) {
		if strings.TrimSpace(f[1]) != "" {
			s.Table.Rows = append(s.Table.Rows, Cells(f[0], f[1]))
		}
	}
	s.Table.Keys, s.Table.Heads = 1, Heads("", "")
	return s
}

// environment lists what a reader needs to judge absolute figures.
func (t *table) environment() [][2]string {
	e := &t.res.Environment
	commit, cpu := e.Commit, e.CPUModel
	if commit != "" && e.Dirty {
		commit += " (with uncommitted changes)"
	}
	if e.CPUs > 0 {
		cpu = strings.TrimSuffix(plural(e.CPUs, "CPU")+" ("+cpu+")", " ()")
	}
	memory, steal, profiles := "", "", ""
	if e.MemoryMiB > 0 {
		memory = strconv.FormatInt(e.MemoryMiB, 10) + " MiB"
	}
	if len(e.LoadBefore) > 0 || e.StealPct > 0 { // without a load average, steal is unknown too
		steal = percent(e.StealPct/100) + " of CPU time"
	}
	if e.Profiled {
		profiles = "were taken; the CPU figures contain what that cost"
	}
	return [][2]string{
		{"Commit", commit}, {"Cluster", e.Provider}, {"Kubernetes", e.Kubernetes}, {"etcd", e.Etcd}, {"Go", e.GoVersion},
		{"Processor", cpu}, {"Memory", memory}, {"Limits (cgroup)", pairs(e.Cgroup)}, {"Kernel", e.Kernel},
		{"Load average before", loadAverage(e.LoadBefore)}, {"Load average after", loadAverage(e.LoadAfter)}, {"Steal",
			steal},
		{"Storage latency", t.latency()}, {"Watcher", join(t.distinct(watcherVersion))},
		{"Not recorded", "frequency governor, throttling, kind of disk, and what else ran on the machine"},
		{"Programs", pairs(digests(e.Programs))}, {"Profiles", profiles}, {"CPUs of each party", pairs(e.Pinned)},
		{"kube-apiserver flags", strings.Join(e.Flags, " ")}, {"etcd flags", strings.Join(e.EtcdFlags, " ")},
		{"Modules", pairs(e.Modules)},
	}
}

// latency returns the configured storage latency and the range that was served.
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

// watcherVersion returns the watcher's name and reported version.
func watcherVersion(c *result.Cell) string {
	return strings.TrimSpace(c.Watcher.Name + " " + c.Watcher.Version)
}

// digests shortens SHA-256 sums; the prefix identifies a program.
func digests(programs map[string]string) map[string]string {
	all := map[string]string{}
	for name, sum := range programs {
		all[name] = sum[:min(len(sum), len("sha256:")+12)]
	}
	return all
}

// provenance lists what was run, when and how to repeat it.
func (t *table) provenance() [][2]string {
	r := &t.res.Run
	facts := [][2]string{
		{"Description", r.Description}, {"Seed", strconv.FormatUint(r.Seed, 10)},
		{"Command", shellescape.QuoteCommand(r.Command)}, {"Order of cells", strings.Join(r.Order, ", ")},
	}
	for _, s := range r.Resumed {
		var ids []string
		for _, c := range s.Cells {
			ids = append(ids, c.ID+leading(" (", c.Why, ")"))
		}
		facts = append(facts, [2]string{"Resumed", fmt.Sprintf("%s, for %s: %s", when(s.Started), plural(len(ids), "cell"),
			strings.Join(ids, ", "))})
		if here, there := machine(&t.res.Environment), machine(&s.Environment); here != there {
			facts = append(facts, [2]string{"Resumed elsewhere", there})
		}
	}
	for _, s := range r.Skipped {
		facts = append(facts, [2]string{"Skipped", s.ID + ": " + s.Why})
	}
	return append(facts, [2]string{"Crashed", t.res.Crashes()}, [2]string{"Complete", t.res.Gap()})
}

// machine summarizes program and machine, for comparing two environments.
func machine(e *result.Environment) string {
	return strings.Join([]string{e.Commit, e.GoVersion, e.CPUModel, plural(e.CPUs, "CPU"),
		strconv.FormatInt(e.MemoryMiB, 10) + " MiB", e.Kernel, e.Kubernetes, e.Etcd}, ", ")
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

// local is the address of a file below the page's folder.
func local(path string) string { return (&url.URL{Path: "./" + path}).EscapedPath() }
