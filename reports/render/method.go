package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// method says how the numbers came about and how far they may be believed. Every
// sentence is derived from the record and true of this run; what the record does not
// tell is left out.
type method struct{ *table }

func (m method) section() Section {
	s := Section{ID: "method", Title: "Method", Place: Aside}
	if m.refused() {
		s.Notes = []string{"No load: storage was wrong on purpose, and the watcher had to refuse it before it sent " +
			"anything. " +
			"Nothing to compare."}
		return s
	}
	for _, sentence := range []string{
		m.precision(), m.machine(), m.loads(), m.durability(), m.observing(), m.floor(),
		"All cells with the same load settings get the same operations, derived from the seed; cells run in a shuffled order.",
		"Correctness before speed: a point that fails one of G1–G6 is left out of comparisons. A check that looked at nothing " +
			"is not a pass. “" + unknown + "” means not known, never zero.",
	} {
		if sentence != "" {
			s.Notes = append(s.Notes, sentence)
		}
	}
	return s
}

// refused reports whether the scenario has no load.
func (m method) refused() bool {
	fault, _ := m.res.Scenario["fault"].(map[string]any)
	return fault["refused"] == true
}

// precision says what n and ± are in this table.
func (m method) precision() string {
	most := 0
	for _, r := range m.rows {
		most = max(most, len(r.valid))
	}
	if most <= 1 {
		return "One repetition: a figure is one measurement, without an interval, and nothing is ranked. Repeat the run " +
			"(--repeat 3) to learn more."
	}
	return fmt.Sprintf("n: valid repetitions; below a figure, those that know it, if they are fewer. A figure is their "+
		"median, "+
		"± its %g %% interval; of fewer than %d repetitions there is none, and they are not ranked. Percentiles are of all "+
		"operations together, lost and reordered are totals, of a check the worst verdict counts and the power of all. What is "+
		"called faster or fresher is so all but certainly (p ≤ %g %%).", 100*stats.Level, stats.Least, 100*stats.Alpha)
}

func (m method) machine() string {
	cpus, who := "its CPUs", "generator, watcher and storage mock"
	if n := m.res.Environment.CPUs; n > 0 {
		cpus = plural(n, "CPU")
	}
	if p := m.res.Environment.Provider; p == "embedded" || p == "kind" {
		who = "apiserver, etcd, " + who
	} else {
		who += ", but not the control plane,"
	}
	s := "One machine and one clock: " + who + " shared " + cpus
	if pinned := m.res.Environment.Pinned; len(pinned) > 0 {
		s += ", each party kept to its own (" + pairs(pinned) + "); memory bandwidth and caches are still shared"
	}
	return s + ". Absolute figures move with it; compare points of one run, and read ratios before figures."
}

// arrivals are the spacings of an open loop's writes.
var arrivals = map[string]string{
	"constant": "at a fixed rate", "poisson": "at random times around a mean rate (Poisson)",
	"ramp": "at a rate that changes steadily", "burst": "in bursts", "": "when the plan says",
}

// loads says when writes are sent, and from when latency and freshness count.
func (m method) loads() string {
	models := m.distinct(func(c *result.Cell) string {
		burst := ""
		if n := c.Load.HotBurst; n > 0 {
			burst = fmt.Sprintf("; %d at a time go to a hot Pod at once", n)
		}
		switch l := &c.Load; l.Model {
		case result.ModelClosed:
			pause := leading(" and pauses for ", map[bool]string{true: short(l.ThinkS)}[l.ThinkS > 0], " s")
			return "closed loop (each thread waits for its answer" + pause + " before the next write" + burst +
				"; a slow apiserver lowers the load, and latency and freshness count from when the thread was free)"
		case result.ModelOpen:
			return "open loop (writes are due " + arrivals[l.Arrival] + ", whatever the answers do" + burst +
				"; latency and freshness count from the intended time, so a generator that falls behind cannot hide waiting)"
		}
		return ""
	})
	return leading("Load model: ", join(models), ".")
}

// disturbed reports whether something was done to the parties during the load.
func (m method) disturbed() bool {
	events, _ := m.res.Scenario["events"].([]any)
	watch, _ := m.res.Scenario["watch"].(map[string]any)
	return len(events) > 0 || len(watch) > 0 || m.any(func(c *result.Cell) bool { return len(c.Faults) > 0 })
}

// durability says whether the control plane waited for its disk.
func (m method) durability() string {
	e := &m.res.Environment
	s := "Whether etcd waited for its disk is not known."
	switch {
	case flagOf(e.EtcdFlags, "unsafe-no-fsync") == "true":
		s = "etcd ran without fsync: API server writes are faster than with a disk's durability."
	case len(e.EtcdFlags) > 0:
		s = "etcd ran with fsync: API server writes wait for the disk."
	}
	if flagOf(e.Flags, "enable-priority-and-fairness") == "false" {
		s += " kube-apiserver ran without priority and fairness."
	}
	return s
}

// flagOf finds the value of --name; "true" where it has none.
func flagOf(flags []string, name string) string {
	for _, f := range flags {
		if k, v, ok := strings.Cut(strings.TrimLeft(f, "-"), "="); k == name {
			if !ok {
				return "true"
			}
			return v
		}
	}
	return ""
}

// observing says where scraping disturbed the watcher.
func (m method) observing() string {
	disturbed := 0
	for i := range m.res.Cells {
		if m.res.Cells[i].Watcher.Disturbed {
			disturbed++
		}
	}
	if disturbed == 0 {
		return ""
	}
	return fmt.Sprintf("In %s the watcher was asked for its metrics so often that it shows in its CPU time, so CPU and "+
		"allocations "+
		"of those cells are left out.", plural(disturbed, "cell"))
}

// floor says what the relay is, where it ran.
func (m method) floor() string {
	if !m.any((*result.Cell).IsFloor) {
		return ""
	}
	return "The floor is a relay without store, order or judgement: what moving the same bytes costs on this machine. Its own " +
		"checks say nothing about a watcher, and it is left out of comparisons of speed."
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
