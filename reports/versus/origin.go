package versus

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// Difference is something that the runs do not share.
type Difference struct {
	Kind   Kind     `json:"kind"`
	What   string   `json:"what"`   // such as load.threads
	Values []string `json:"values"` // by run
}

// Kind is what a difference is one of, as it is called in a sentence.
type Kind string

// Kinds, the gravest first.
const (
	kindScenario Kind = "scenario"
	kindCluster  Kind = "control plane"
	kindMachine  Kind = "machine"
	kindSeed     Kind = "seed"
	kindWatcher  Kind = "watcher"
	kindBuild    Kind = "build" // of watchbench
)

var kinds = []Kind{kindScenario, kindCluster, kindMachine, kindSeed, kindWatcher, kindBuild}

// nothing stands for what a run does not say.
const nothing = "–"

// differences lists what the runs do not share, by kind.
func differences(runs []*result.Results) (all []Difference, err error) {
	all, err = ofScenario(runs)
	add := func(kind Kind, what string, of func(*result.Results) string) {
		d := Difference{Kind: kind, What: what}
		for _, r := range runs {
			d.Values = append(d.Values, cmp.Or(of(r), nothing))
		}
		if len(slices.Compact(slices.Clone(d.Values))) > 1 {
			all = append(all, d)
		}
	}
	for _, p := range placeFields {
		add(p.kind, p.what, p.of)
	}
	add(kindSeed, "seed", func(r *result.Results) string { return fmt.Sprint(r.Run.Seed) })
	add(kindWatcher, "name", watchers(func(w *result.Watcher) string { return w.Name }))
	add(kindWatcher, "version", watchers(func(w *result.Watcher) string { return w.Version }))
	add(kindBuild, "commit", env(func(e *result.Environment) string {
		if e.Dirty {
			return e.Commit + " with changes"
		}
		return e.Commit
	}))
	add(kindBuild, "Go", env(func(e *result.Environment) string { return e.GoVersion }))
	for _, name := range programs(runs) {
		kind := kindBuild
		if name == "k8s-watch" || name == "watcher" {
			kind = kindWatcher
		}
		add(kind, "SHA-256 of "+name, env(func(e *result.Environment) string { return abbreviated(e.Programs[name]) }))
	}
	slices.SortStableFunc(all, func(a, b Difference) int {
		return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind))
	})
	return all, err
}

// env is a text of a run's environment.
func env(of func(*result.Environment) string) func(*result.Results) string {
	return func(r *result.Results) string { return of(&r.Environment) }
}

// placeFields are what runs of one question on one machine share, beside the scenario's fields.
var placeFields = []struct {
	kind Kind
	what string
	of   func(*result.Results) string
}{
	{kindScenario, "name", func(r *result.Results) string { return r.Run.Scenario }},
	{kindCluster, "provider", env(func(e *result.Environment) string { return e.Provider })},
	{kindCluster, "Kubernetes", env(func(e *result.Environment) string { return e.Kubernetes })},
	{kindCluster, "etcd", env(func(e *result.Environment) string { return e.Etcd })},
	{kindCluster, "kube-apiserver flags", env(func(e *result.Environment) string { return strings.Join(result.FixedFlags(e.Flags), " ") })},
	{kindCluster, "etcd flags", env(func(e *result.Environment) string { return strings.Join(result.FixedFlags(e.EtcdFlags), " ") })},
	{kindMachine, "processor", env(func(e *result.Environment) string { return e.CPUModel })},
	{kindMachine, "CPUs", env(func(e *result.Environment) string { return fmt.Sprint(e.CPUs) })},
	{kindMachine, "memory GiB", env(func(e *result.Environment) string {
		return fmt.Sprint((e.MemoryMiB + 512) / 1024) // a kernel's own part of it varies
	})},
	{kindMachine, "limits (cgroup)", env(func(e *result.Environment) string { return pairs(e.Cgroup) })},
	{kindMachine, "pinned", env(func(e *result.Environment) string { return pairs(e.Pinned) })},
	{kindMachine, "profiles", env(func(e *result.Environment) string {
		if e.Profiled {
			return "taken" // which costs the watcher CPU time
		}
		return "no"
	})},
	{kindMachine, "kernel", env(func(e *result.Environment) string { return e.Kernel })},
}

// ofScenario lists the fields of the resolved scenarios that differ. The watcher's are of
// the watcher; seed, name and description are not among them.
func ofScenario(runs []*result.Results) (all []Difference, err error) {
	values := map[string]map[int]string{}
	for i, r := range runs[1:] {
		found, err := result.Differences(runs[0].Scenario, r.Scenario)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if values[d.Place] == nil {
				values[d.Place] = map[int]string{0: result.DifferenceText(d.Old)}
			}
			values[d.Place][i+1] = result.DifferenceText(d.New)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(values)) {
		top, _, _ := strings.Cut(place, ".")
		d := Difference{Kind: kindScenario, What: place}
		switch top {
		case "seed", "metadata":
			continue
		case "watcher":
			d.Kind = kindWatcher
		case "cluster":
			d.Kind = kindCluster
		}
		for i := range runs {
			d.Values = append(d.Values, cmp.Or(values[place][i], values[place][0]))
		}
		all = append(all, d)
	}
	return all, nil
}

// watchers are the different texts that a run's watchers have.
func watchers(of func(*result.Watcher) string) func(*result.Results) string {
	return func(r *result.Results) string {
		seen := map[string]bool{}
		for i := range r.Cells {
			seen[of(&r.Cells[i].Watcher)] = true
		}
		delete(seen, "")
		return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
	}
}

// programs are the names of those that any run started.
func programs(runs []*result.Results) []string {
	seen := map[string]bool{}
	for _, r := range runs {
		for name := range r.Environment.Programs {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func abbreviated(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(12, len(digest))]
}

func pairs(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+" "+m[k])
	}
	return strings.Join(parts, ", ")
}

// sameSession is how far apart two runs may start on one machine and still be called of one
// session.
const sameSession = time.Hour

// origin says in a sentence how far a run compares with the first one.
func (c *Comparison) origin(run int) string {
	name, base := Name(run), Name(0)
	var other []string
	for _, k := range kinds {
		var what []string
		for _, d := range c.Differences {
			if d.Kind == k && d.Values[run] != d.Values[0] {
				place := strings.TrimPrefix(strings.TrimPrefix(d.What, string(k)), ".")
				what = append(what, strings.TrimSpace(fmt.Sprintf("%s %s → %s", place, brief(d.Values[0]), brief(d.Values[run]))))
			}
		}
		if n := len(what); n > shownDifferences {
			what = append(what[:shownDifferences], fmt.Sprintf("%d more", n-shownDifferences))
		}
		if len(what) > 0 {
			other = append(other, fmt.Sprintf("%s (%s)", k, strings.Join(what, ", ")))
		}
	}
	gap := c.Runs[run].Started.Sub(c.Runs[0].Started)
	unknown := c.Runs[run].Started.IsZero() || c.Runs[0].Started.IsZero()
	apart := "run within an hour of each other"
	switch {
	case unknown:
		apart = "how long apart they ran is not known"
	case gap >= sameSession:
		apart = fmt.Sprintf("%s ran %s after %s", name, long(gap), base)
	case gap <= -sameSession:
		apart = fmt.Sprintf("%s ran %s before %s", name, long(-gap), base)
	}
	machine := slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.Kind == kindMachine && d.Values[run] != d.Values[0] })
	caveat := ""
	switch {
	case machine:
		caveat = ", so times and CPU differ by the machine alone; only counts compare"
	case unknown || gap.Abs() >= sameSession:
		caveat = ", so what changed on the machine meanwhile is part of every difference"
	}
	if len(other) == 0 {
		return fmt.Sprintf("%s and %s have the same scenario, machine, seed and programs; %s%s.", base, name, apart, caveat)
	}
	return fmt.Sprintf("%s differs from %s in %s; %s%s.", name, base, units.List(other), apart, caveat)
}

// shownDifferences bounds those of one kind in a sentence; all are in the table.
const shownDifferences = 2

// brief is a value in a sentence.
func brief(s string) string {
	if r := []rune(s); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return s
}

// long is a time between two runs in words.
func long(d time.Duration) string {
	n, unit := int(math.Round(d.Hours())), "hour"
	if d >= 48*time.Hour {
		n, unit = int(math.Round(d.Hours()/24)), "day"
	}
	return units.Count(n, unit)
}
