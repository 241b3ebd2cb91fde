package render

import (
	"fmt"
	"maps"
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
	r, e := &t.res.Run, &t.res.Environment
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
		if here, there := machine(e), machine(&s.Environment); here != there {
			facts = append(facts, [2]string{"Resumed elsewhere", there})
		}
	}
	for _, s := range r.Skipped {
		facts = append(facts, [2]string{"Skipped", s.ID + ": " + s.Why})
	}
	commit, steal, profiles := e.Commit, "", ""
	if commit != "" && e.Dirty {
		commit += " (with uncommitted changes)"
	}
	if len(e.LoadBefore) > 0 || e.StealPct > 0 { // without a load average, steal is unknown too
		steal = percent(e.StealPct/100) + " of CPU time"
	}
	if e.Profiled {
		profiles = "were taken; the CPU figures contain what that cost"
	}
	facts = append(facts, [][2]string{
		{"Crashed", t.res.Crashes()}, {"Complete", t.res.Gap()}, {"Commit", commit}, {"Cluster", e.Provider},
		{"Machine", machine(e)}, {"Limits (cgroup)", pairs(e.Cgroup)},
		{"Load average before", loadAverage(e.LoadBefore)}, {"Load average after", loadAverage(e.LoadAfter)},
		{"Steal", steal}, {"Storage latency",
			join(t.distinct(func(c *result.Cell) string { return c.Storage.LatencySpec }))},
		{"Watcher", join(t.distinct(func(c *result.Cell) string { return c.Watcher.Name + " " + c.Watcher.Version }))},
		{"Programs", pairs(digests(e.Programs))}, {"Profiles", profiles},
		{"kube-apiserver flags", strings.Join(e.Flags, " ")}, {"etcd flags", strings.Join(e.EtcdFlags, " ")},
		{"Modules", pairs(e.Modules)},
	}...)
	s := Section{ID: "environment", Title: "Run and environment", Place: Aside,
		Table: Table{Keys: 1, Heads: Heads("", "")}}
	for _, f := range facts {
		if strings.TrimSpace(f[1]) != "" {
			s.Table.Rows = append(s.Table.Rows, Cells(f[0], f[1]))
		}
	}
	return s
}

// digests shortens SHA-256 sums; the prefix identifies a program.
func digests(programs map[string]string) map[string]string {
	all := map[string]string{}
	for name, sum := range programs {
		all[name] = sum[:min(len(sum), len("sha256:")+12)]
	}
	return all
}

// machine summarizes program and machine.
func machine(e *result.Environment) string {
	var known []string
	for _, f := range [][2]string{{"", e.CPUModel}, {"Kubernetes ", e.Kubernetes}, {"etcd ", e.Etcd}, {"", e.GoVersion},
		{"kernel ", e.Kernel}} {
		if f[1] != "" {
			known = append(known, f[0]+f[1])
		}
	}
	if e.CPUs > 0 {
		known = append(known, plural(e.CPUs, "CPU"))
	}
	if e.MemoryMiB > 0 {
		known = append(known, strconv.FormatInt(e.MemoryMiB, 10)+" MiB")
	}
	return strings.Join(known, ", ")
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
		parts = append(parts, fixed(&f, 2))
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
