package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// Difference is something that two runs do not share.
type Difference struct {
	Kind   string    `json:"kind"`   // what it means for a comparison; empty where it changes nothing
	What   string    `json:"what"`   // path below results.json, such as scenario.load.threads
	Values [2]string `json:"values"` // by run
}

const kindMachine = "machine"

// kinds have the kind of what a path begins with, the gravest first; the first that fits counts.
var kinds = []struct{ kind, paths string }{
	{"", "scenario.metadata"}, {"seed", "scenario.seed"}, {"control plane", "scenario.cluster environment.provider " +
		"environment.kubernetes environment.etcd environment.flags"},
	{"watcher", "scenario.watcher watcher environment.programs.k8s-watch environment.programs.watcher"},
	{"scenario", "scenario"}, {kindMachine, "environment.cpu environment.memory environment.cgroup " +
		"environment.kernel"},
	{"build", "environment.programs environment.commit environment.dirty environment.go"},
}

// Differences compares the scenarios, environments, seeds and watchers of two runs.
func Differences(base, now *result.Results) (all []Difference, err error) {
	var texts [2]map[string]string
	paths := map[string]bool{}
	for i, r := range []*result.Results{base, now} {
		if texts[i], err = facts(r); err != nil {
			return nil, err
		}
		for path := range texts[i] {
			paths[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if texts[0][path] != texts[1][path] {
			shown := func(s string) string { return cmp.Or(cut(s, 120), "–") }
			all = append(all, Difference{kind(path), path, [2]string{shown(texts[0][path]), shown(texts[1][path])}})
		}
	}
	return all, nil
}

func kind(path string) string {
	for _, k := range kinds {
		for _, prefix := range strings.Fields(k.paths) {
			if strings.HasPrefix(path, prefix) {
				return k.kind
			}
		}
	}
	return ""
}

// facts flattens scenario, environment, seed and watchers of a run, by path.
func facts(r *result.Results) (map[string]string, error) {
	e, names, versions := r.Environment, map[string]bool{}, map[string]bool{}
	e.Flags, e.EtcdFlags = fixedFlags(e.Flags), fixedFlags(e.EtcdFlags)
	e.MemoryMiB = (e.MemoryMiB + 512) / 1024 * 1024 // a kernel's own part of it varies
	for i := range r.Cells {
		names[r.Cells[i].Watcher.Name], versions[r.Cells[i].Watcher.Version] = true, true
	}
	join := func(set map[string]bool) string {
		return strings.Trim(strings.Join(slices.Sorted(maps.Keys(set)), ", "), ", ")
	}
	data, err := json.Marshal(map[string]any{"scenario": r.Scenario, "environment": e})
	var tree any
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	if err != nil {
		return nil, fmt.Errorf("compare runs: %w", err)
	}
	all := map[string]string{}
	flatten("", tree, all)
	all["scenario.name"], all["scenario.seed"] = r.Run.Scenario, fmt.Sprint(r.Run.Seed)
	all["watcher.name"], all["watcher.version"] = join(names), join(versions)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all, nil
}

// flatten adds the leaves of a JSON tree by path; a list is one leaf.
func flatten(path string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			flatten(strings.TrimPrefix(path+"."+k, "."), e, into)
		}
	case string:
		into[path] = v
	case nil:
	default:
		data, _ := json.Marshal(v) // it comes from JSON
		into[path] = string(data)
	}
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

const shownDifferences = 2

// origin says how far the runs compare.
func (c *Comparison) origin() string {
	what := map[string][]string{}
	var order, other []string
	for _, d := range c.Differences {
		_, place, _ := strings.Cut(d.What, ".")
		place = strings.TrimPrefix(strings.TrimPrefix(place, d.Kind), ".")
		if what[d.Kind] == nil {
			order = append(order, d.Kind)
		}
		what[d.Kind] = append(what[d.Kind], strings.TrimSpace(fmt.Sprintf("%s %s → %s", place, cut(d.Values[0], 24),
			cut(d.Values[1], 24))))
	}
	for _, k := range order {
		all := what[k]
		if n := len(all); n > shownDifferences {
			all = append(all[:shownDifferences], fmt.Sprintf("%d more", n-shownDifferences))
		}
		other = append(other, fmt.Sprintf("%s (%s)", k, strings.Join(all, ", ")))
	}
	apart, caveat := "run within an hour of each other", ""
	if gap := c.Runs[1].Started.Sub(c.Runs[0].Started).Abs(); gap >= time.Hour {
		apart = fmt.Sprintf("run %.0f hours apart", gap.Hours())
		caveat = ", so changes of the machine in between are part of every difference"
	}
	if what[kindMachine] != nil {
		caveat = ", so only counts compare, not times and CPU"
	}
	if a, b := c.Runs[0], c.Runs[1]; len(other) == 0 && a.ID == b.ID && a.Started.Equal(b.Started) {
		return "A and B are the same run."
	}
	if len(other) == 0 {
		return fmt.Sprintf("A and B have the same scenario, machine, seed and programs; %s%s.", apart, caveat)
	}
	return fmt.Sprintf("B differs from A in %s; %s%s.", units.List(other), apart, caveat)
}

// drawn are parts of flags that the embedded control plane draws anew each time it starts: its folder and its ports.
var drawn = []struct {
	is  *regexp.Regexp
	say string
}{
	{regexp.MustCompile(`/[^=\s]*/watchbench-cluster-\d+/`), "FOLDER/"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`^--secure-port=\d+$`), "--secure-port=PORT"},
}

// fixedFlags are flags of a control plane, for comparison, without what differs each time it starts.
func fixedFlags(flags []string) []string {
	var fixed []string
	for _, f := range flags {
		for _, d := range drawn {
			f = d.is.ReplaceAllString(f, d.say)
		}
		fixed = append(fixed, f)
	}
	return fixed
}
