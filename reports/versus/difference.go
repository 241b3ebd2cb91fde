package versus

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// Difference is something that runs do not share.
type Difference struct {
	Kind   Kind     `json:"kind"`
	What   string   `json:"what"`   // path below results.json, such as scenario.load.threads
	Values []string `json:"values"` // by run
}

// Kind says what a difference means for a comparison; it is a word of a sentence.
type Kind string

// Kinds, the gravest first.
const (
	kindScenario Kind = "scenario"
	kindCluster  Kind = "control plane"
	kindMachine  Kind = "machine"
	kindSeed     Kind = "seed"
	kindWatcher  Kind = "watcher"
	kindBuild    Kind = "build" // of watchbench
	kindOther    Kind = ""      // changes nothing, such as a description or the load average
)

var kinds = []Kind{kindScenario, kindCluster, kindMachine, kindSeed, kindWatcher, kindBuild}

// kindOf has the kind of what a path begins with; the first that fits counts.
var kindOf = []struct {
	path string
	kind Kind
}{
	{"scenario.seed", kindSeed}, {"scenario.metadata", kindOther}, {"scenario.watcher", kindWatcher},
	{"scenario.cluster", kindCluster}, {"scenario", kindScenario}, {"watcher", kindWatcher},
	{"environment.provider", kindCluster}, {"environment.kubernetes", kindCluster}, {"environment.etcd", kindCluster},
	{"environment.flags", kindCluster}, {"environment.cpu", kindMachine}, {"environment.memory", kindMachine},
	{"environment.cgroup", kindMachine}, {"environment.kernel", kindMachine},
	{"environment.profiled", kindMachine}, // which costs CPU time
	{"environment.programs.k8s-watch", kindWatcher}, {"environment.programs.watcher", kindWatcher},
	{"environment.programs", kindBuild}, {"environment.commit", kindBuild}, {"environment.dirty", kindBuild},
	{"environment.go", kindBuild},
}

// nothing is shown where a run has no value.
const nothing = "–"

// Differences compares the scenarios, environments, seeds and watchers of runs with those of the first.
func Differences(runs ...*result.Results) (all []Difference, err error) {
	texts, paths := make([]map[string]string, len(runs)), map[string]bool{}
	for i, r := range runs {
		if texts[i], err = facts(r); err != nil {
			return nil, err
		}
		for path := range texts[i] {
			paths[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		d, same := Difference{What: path}, true
		for _, t := range texts {
			d.Values, same = append(d.Values, cmp.Or(cut(t[path], 120), nothing)), same && t[path] == texts[0][path]
		}
		if !same {
			d.Kind = kind(path)
			all = append(all, d)
		}
	}
	return all, nil
}

func kind(path string) Kind {
	for _, k := range kindOf {
		if strings.HasPrefix(path, k.path) {
			return k.kind
		}
	}
	return kindOther
}

// facts flattens scenario, environment, seed and watchers of a run, by path.
func facts(r *result.Results) (map[string]string, error) {
	e, names, versions := r.Environment, map[string]bool{}, map[string]bool{}
	e.Flags, e.EtcdFlags = result.FixedFlags(e.Flags), result.FixedFlags(e.EtcdFlags)
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

// flatten adds the leaves of a JSON tree by path; a list of plain values is one leaf.
func flatten(path string, v any, into map[string]string) {
	below := func(k string) string { return strings.TrimPrefix(path+"."+k, ".") }
	switch x := v.(type) {
	case nil:
		return
	case string:
		into[path] = x
		return
	case map[string]any:
		for k, v := range x {
			flatten(below(k), v, into)
		}
		return
	case []any:
		if len(x) == 0 {
			break
		}
		if _, objects := x[0].(map[string]any); objects {
			for i, v := range x {
				flatten(below(fmt.Sprint(i)), v, into)
			}
			return
		}
	}
	data, _ := json.Marshal(v) // it comes from JSON
	into[path] = string(data)
}

// place is the path without what the kind says.
func (d Difference) place() string {
	_, place, _ := strings.Cut(d.What, ".")
	return strings.TrimPrefix(strings.TrimPrefix(place, string(d.Kind)), ".")
}

func (d Difference) change(run int) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s → %s", d.place(), cut(d.Values[0], 24), cut(d.Values[run], 24)))
}

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// sameSession is how far apart two runs may start on one machine and still count as one session.
const sameSession = time.Hour

// shownDifferences bounds those of one kind in a sentence; all are in the table.
const shownDifferences = 2

// origin says how far a run compares with the first.
func (c *Comparison) origin(run int) string {
	name, base := Name(run), Name(0)
	var other []string
	machine := false
	for _, k := range kinds {
		var what []string
		for _, d := range c.Differences {
			if d.Kind == k && d.Values[run] != d.Values[0] {
				what = append(what, d.change(run))
				machine = machine || k == kindMachine
			}
		}
		if n := len(what); n > shownDifferences {
			what = append(what[:shownDifferences], fmt.Sprintf("%d more", n-shownDifferences))
		}
		if len(what) > 0 {
			other = append(other, fmt.Sprintf("%s (%s)", k, strings.Join(what, ", ")))
		}
	}
	apart, oneSession := c.between(run)
	caveat := ""
	switch {
	case machine:
		caveat = ", so only counts compare, not times and CPU"
	case !oneSession:
		caveat = ", so changes of the machine in between are part of every difference"
	}
	if len(other) == 0 {
		return fmt.Sprintf("%s and %s have the same scenario, machine, seed and programs; %s%s.", base, name, apart, caveat)
	}
	return fmt.Sprintf("%s differs from %s in %s; %s%s.", name, base, units.List(other), apart, caveat)
}

// between says how long before or after the first a run started.
func (c *Comparison) between(run int) (text string, oneSession bool) {
	first, started := c.Runs[0].Started, c.Runs[run].Started
	gap, when := started.Sub(first), "after"
	if gap < 0 {
		gap, when = -gap, "before"
	}
	switch n := int(math.Round(gap.Hours())); {
	case first.IsZero() || started.IsZero():
		return "start times unknown", false
	case gap < sameSession:
		return "run within an hour of each other", true
	case n >= 48:
		return fmt.Sprintf("%s ran %s %s %s", Name(run), units.Count((n+12)/24, "day"), when, Name(0)), false
	default:
		return fmt.Sprintf("%s ran %s %s %s", Name(run), units.Count(n, "hour"), when, Name(0)), false
	}
}
