package matrix

import (
	"fmt"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/loadgen/watchfault"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

// MinKeys is how many objects a fault must have hit to prove anything.
const MinKeys = 3

// minLost is how many objects a fault must have lost events of.
const minLost = 10

// tooFew returns which faults and events hit less than they must. A fault or an event that is meant for fewer than
// MinKeys needs to hit as many as that.
func tooFew(c *Case) (why []string) {
	need := func(what, unit string, n, most int64) {
		if least := min(MinKeys, most); n < least {
			why = append(why, fmt.Sprintf("the %s hit %d %s; at least %d are needed", what, n, unit, least))
		}
	}
	counted := func(name string, all []history.Firing) {
		if !slices.ContainsFunc(all, func(x history.Firing) bool { return x.Name == name }) {
			why = append(why, fmt.Sprintf("the fault %s was never counted", name))
		}
	}
	for _, s := range c.Cell.Scenario.Storage.FaultSpecs() {
		counted(s.Name, c.Cell.Fired)
		for _, x := range c.Cell.Fired {
			if x.Name == s.Name && s.Effect != behavior.Refuse && x.Fired > 0 {
				need("fault "+x.Name, "objects", x.Keys, meant(s.Max))
			}
		}
	}
	for _, s := range c.Cell.Scenario.Watch.FaultSpecs() {
		counted(s.Name, c.Cell.WatchFired)
		for _, x := range c.Cell.WatchFired {
			// A watch fault fires on an open watch or on a request, but for one that refuses connections: waited looks at those.
			if x.Name == s.Name && s.Effect != watchfault.Refuse && x.Fired > 0 {
				need("fault "+x.Name, "watches or requests", x.Fired, meant(s.Max))
			}
			if x.Name == s.Name && s.Effect == watchfault.Lost && x.Fired > 0 && x.Keys < minLost {
				why = append(why, fmt.Sprintf("the fault %s hit %d objects; at least %d are needed", x.Name, x.Keys, minLost))
			}
		}
	}
	asked, hit := map[string]int64{}, map[string]int64{}
	for _, d := range c.Deeds {
		hit[d.What] += d.Keys
	}
	for _, e := range c.Cell.Scenario.Events {
		if e.Count > 0 {
			asked[e.What] += int64(e.Count)
		}
	}
	for _, e := range c.Cell.Scenario.Events { // in the order of the scenario
		if n := asked[e.What]; n > 0 {
			need("event "+e.What, "objects", hit[e.What], n)
			delete(asked, e.What)
		}
	}
	return why
}

func meant(most int) int64 {
	if most == 0 {
		return MinKeys
	}
	return int64(most)
}

// waitedRule: while storage or the apiserver refuses connections, changes must have waited for it, or nobody noticed.
func waitedRule(c *Case) Rule {
	type window struct {
		name     string
		from, to int64
	}
	var windows []window
	add := func(name string, w faultlist.Window, lasts time.Duration) {
		if lasts > 0 {
			from := c.Cell.FaultsSet + int64(w.From)
			windows = append(windows, window{name, from, from + int64(lasts)})
		}
	}
	for _, s := range c.Cell.Scenario.Storage.FaultSpecs() {
		if s.Effect == behavior.Refuse {
			add(s.Name, s.Window, s.For)
		}
	}
	for _, s := range c.Cell.Scenario.Watch.FaultSpecs() {
		if s.Effect == watchfault.Refuse {
			add(s.Name, s.Window, s.For)
		}
	}
	if len(windows) == 0 {
		return Rule{}
	}
	return Rule{Vacuous: func(seen Seen) (why []string) {
		waited := make([]int, len(windows))
		for ch := range seen.Changes {
			for i, w := range windows {
				if waits(ch, w.from, w.to) {
					waited[i]++
				}
			}
		}
		for i, w := range windows {
			if waited[i] < MinKeys {
				why = append(why, fmt.Sprintf("%d changes waited for the end of the fault %s; at least %d are needed", waited[i],
					w.name, MinKeys))
			}
		}
		return why
	}}
}

// waits reports whether a change was made between two times and did not arrive before the later one.
func waits(c history.Change, from, to int64) bool {
	return c.Finished >= from && c.Finished < to && (c.Arrived == 0 && !c.Gone || c.Arrived >= to)
}
