package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

func (t *table) about() Section {
	r, e := &t.res.Run, &t.res.Environment
	facts := [][2]string{
		{"Description", r.Description}, {"Seed", strconv.FormatUint(r.Seed, 10)},
		{"Command", shellescape.QuoteCommand(r.Command)}, {"Order of cells", strings.Join(r.Order, ", ")},
	}
	reruns := func(all []result.Rerun) string {
		var ids []string
		for _, c := range all {
			ids = append(ids, c.ID+leading(" (", c.Why, ")"))
		}
		return strings.Join(ids, ", ")
	}
	facts = append(facts, [2]string{"Run again", reruns(r.Again)})
	for _, s := range r.Resumed {
		facts = append(facts, [2]string{"Resumed", fmt.Sprintf("%s on %s, for %s", when(s.Started), machine(&s.Environment),
			reruns(s.Cells))})
	}
	commit, steal := e.Commit, ""
	if commit != "" && e.Dirty {
		commit += " (with uncommitted changes)"
	}
	if len(e.LoadBefore) > 0 || e.StealPct > 0 { // without a load average, steal is unknown too
		steal = percent(e.StealPct/100) + " of CPU time"
	}
	facts = append(facts, [][2]string{
		{"Complete", t.res.Gap()}, {"Commit", commit}, {"Cluster", e.Provider},
		{"Machine", machine(e)}, {"Limits (cgroup)", pairs(e.Cgroup)},
		{"Load average before", strings.Trim(fmt.Sprint(e.LoadBefore), "[]")},
		{"Load average after", strings.Trim(fmt.Sprint(e.LoadAfter), "[]")}, {"Steal", steal},
		{"Storage latency", t.distinct(func(c *result.Cell) string { return c.Storage.LatencySpec })},
		{"Watcher", t.distinct(func(c *result.Cell) string { return c.Watcher.Name + " " + c.Watcher.Version })},
		{"Programs", pairs(e.Programs)},
		{"kube-apiserver flags", strings.Join(e.Flags, " ")}, {"etcd flags", strings.Join(e.EtcdFlags, " ")},
		{"Modules", pairs(e.Modules)},
	}...)
	facts = append(facts, podFacts(e.Pods)...)
	s := Section{ID: "environment", Title: "Run and environment", Place: Aside, Table: Table{Heads: Heads("", "")}}
	for _, f := range facts {
		if strings.TrimSpace(f[1]) != "" {
			s.Table.Rows = append(s.Table.Rows, Cells(f[0], f[1]))
		}
	}
	return s
}

func podFacts(p *result.Pods) [][2]string {
	if p == nil {
		return nil
	}
	var nodes []string
	for _, n := range p.Nodes {
		nodes = append(nodes, fmt.Sprintf("%s (%s, %d MiB, kubelet %s, kernel %s)", n.Name, plural(n.CPUs, "CPU"),
			n.MemoryMiB, n.Kubelet, orUnknown(n.Kernel)))
	}
	limits := pairs(p.Limits)
	if limits == "" {
		limits = "none"
	}
	return [][2]string{{"Nodes of Pods", strings.Join(nodes, ", ")}, {"Images", pairs(p.Images)},
		{"Limits of Pods", limits}}
}

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

func (t *table) distinct(text func(*result.Cell) string) string {
	seen := map[string]bool{}
	for i := range t.res.Cells {
		seen[strings.TrimSpace(text(&t.res.Cells[i]))] = true
	}
	delete(seen, "")
	return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}

// method says how far the numbers may be believed; docs/measures.md has the rest. Every sentence is derived from the
// record and true of this run.
func (t *table) method() Section {
	s := Section{ID: "method", Title: "Method", Place: Aside}
	if fault, _ := t.res.Scenario["fault"].(map[string]any); fault["refused"] == true {
		s.Notes = []string{"No load: the watcher had to refuse a wrong storage before it sent anything."}
		return s
	}
	s.Notes = []string{fmt.Sprintf("n: valid repetitions. A figure is their median, ± its %g %% interval where there are "+
		"%d; percentiles are of all operations together, lost and reordered are totals. What is called faster or fresher is "+
		"so all but certainly (p ≤ %g %%).", 100*stats.Level, stats.Least, 100*stats.Alpha),
		carries(t.res.Environment.Pods)}
	if why := t.distinct(func(c *result.Cell) string { return c.FreshnessUnknown }); why != "" {
		s.Notes = append(s.Notes, "Freshness is unknown in some cells: "+why+".")
	}
	for _, model := range []struct{ name, says string }{
		{result.ModelOpen, "Open loop: latency and freshness count from the intended time of a write, so a generator that " +
			"falls behind cannot hide waiting."},
		{result.ModelClosed, "Closed loop: a slow apiserver lowers the load, and latency and freshness count from when the " +
			"thread was free."},
	} {
		if slices.ContainsFunc(t.res.Cells, func(c result.Cell) bool { return c.Load.Model == model.name }) {
			s.Notes = append(s.Notes, model.says)
		}
	}
	if wrote := t.distinct(generators); wrote != "" {
		s.Notes = append(s.Notes, wrote+" operations.")
	}
	flags := t.res.Environment.EtcdFlags
	if slices.Contains(flags, "--unsafe-no-fsync=true") || slices.Contains(flags, "--unsafe-no-fsync") {
		s.Notes = append(s.Notes, "etcd ran without fsync: API server writes are faster than with a disk's durability.")
	}
	return s
}

func generators(c *result.Cell) string {
	if len(c.Load.Generators) == 0 {
		return ""
	}
	each := strings.ReplaceAll(strings.Trim(fmt.Sprint(c.Load.Generators), "[]"), " ", "+")
	return fmt.Sprintf("%d generators: %s", len(c.Load.Generators), each)
}

func carries(p *result.Pods) string {
	if p == nil {
		return "One machine carries all parts: compare points of one run, and read ratios before figures."
	}
	return fmt.Sprintf("In a cluster: watcher, storage and generator were Pods on %s, the runner was outside. Compare "+
		"points of one run, and read ratios before figures.", plural(len(p.Nodes), "node"))
}

// unseen says what a run on a simulated API server does not show; "replay" is the provider's name in former versions.
func unseen(res *result.Results) []string {
	if p := res.Environment.Provider; p != "simulated" && p != "replay" {
		return nil
	}
	return []string{"Simulated API server: figures and verdicts are those of watcher and storage. Not shown: what etcd " +
		"and kube-apiserver cost, their latency, limits and bottlenecks, and fsync; the embedded cluster shows these."}
}
