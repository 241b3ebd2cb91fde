package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Method says how the numbers came about and how far they may be believed. Every
// sentence is derived from the record and true of this run; what the record does not
// tell is not said.
func (t *table) Method() []string {
	if t.refused() {
		return []string{"No load: storage was wrong on purpose, and the watcher had to refuse it before it sent anything. There are no figures to compare."}
	}
	var notes []string
	for _, sentence := range []func() string{
		t.clock, t.plan, t.machine, t.observing, t.durability, t.phases, t.correctness, t.loadModel, t.storage, t.floor,
	} {
		if s := sentence(); s != "" {
			notes = append(notes, s)
		}
	}
	return notes
}

// refused reports whether the scenario has no load.
func (t *table) refused() bool {
	fault, _ := t.res.Scenario["fault"].(map[string]any)
	return fault["refused"] == true
}

// local reports whether the control plane is on this machine too.
func (t *table) local() bool {
	p := t.res.Environment.Provider
	return p == "embedded" || p == "kind"
}

// any reports whether a cell has some property.
func (t *table) any(has func(*result.Cell) bool) bool {
	return slices.ContainsFunc(t.res.Cells, func(c result.Cell) bool { return has(&c) })
}

func (t *table) clock() string {
	who := "generator, watcher and storage mock"
	if t.local() {
		who = "all processes"
	}
	return "One clock: " + who + " ran on one host and were timed by its wall clock in nanoseconds; Kubernetes' own one-second timestamps are not used."
}

// samePlan reports whether two cells of one repetition differ in something else than
// the load, and so share their plan.
func (t *table) samePlan() bool {
	seen := map[string]bool{}
	for i := range t.res.Cells {
		c := &t.res.Cells[i]
		key := fmt.Sprint(c.Repetition)
		for _, name := range slices.Sorted(maps.Keys(c.Params)) {
			if name == result.ParamLoad || strings.HasPrefix(name, result.ParamLoad+".") {
				key += "\x00" + name + "=" + c.Params[name]
			}
		}
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// plan says what cells have in common, which is less in a closed loop.
func (t *table) plan() string {
	if len(t.res.Cells) == 0 {
		return ""
	}
	open := t.any(func(c *result.Cell) bool { return c.Load.Model == result.ModelOpen })
	closed := t.any(func(c *result.Cell) bool { return c.Load.Model == result.ModelClosed })
	s := "One plan: the operations are derived from the seed"
	if t.samePlan() {
		s += ", the same for cells with the same load settings"
		switch {
		case t.decidesBy() != "":
			s += " and for all repetitions, so that only the machine differs between them"
		case t.mostRepetitions() > 1:
			s += " (each repetition has its own)"
		}
	}
	s += "."
	if open {
		s += inModel(closed, "In the open loop the", "The") + " plan sets the times, too; latency and freshness count from the intended time, so a generator that falls behind cannot hide waiting."
	}
	if closed {
		s += inModel(open, "In the closed loop a", "A") + " thread writes when its former write was answered"
		if t.any(func(c *result.Cell) bool { return c.Load.Model == result.ModelClosed && c.Load.HotBurst > 0 }) {
			s += ", or all of a burst to one Pod"
		}
		if t.any(func(c *result.Cell) bool { return c.Load.Timed }) {
			s += ", so when, and how much is written within the duration, follow the answers"
		} else {
			s += ", so the times follow the answers"
		}
		s += "; latency and freshness count from the moment the thread was free to write, and a slow apiserver lowers the load instead of adding to them."
	}
	return s
}

// inModel begins a sentence on one load model, which is named where there are two.
func inModel(both bool, named, alone string) string {
	if both {
		return " " + named
	}
	return " " + alone
}

func (t *table) machine() string {
	cpus := "its CPUs"
	if n := t.res.Environment.CPUs; n > 0 {
		cpus = plural(n, "CPU")
	}
	s := "One machine: "
	switch pinned := t.res.Environment.Pinned; {
	case len(pinned) > 0:
		s += "each party kept to CPUs of its group (" + clean(groups(pinned)) + ") out of " + cpus + "; memory bandwidth and caches are still shared."
	case t.local():
		s += "apiserver, etcd, generator, watcher and storage mock shared " + cpus + "."
	default:
		s += "generator, watcher and storage mock shared " + cpus + "; the control plane was not started by this run."
	}
	return s + " Absolute figures move with it; compare points of one run, and read ratios before figures."
}

// groups writes who shares which CPUs: "watcher: 3; churn, storagemock: 2".
func groups(pinned map[string]string) string {
	by := map[string][]string{}
	for _, party := range slices.Sorted(maps.Keys(pinned)) {
		by[pinned[party]] = append(by[pinned[party]], party)
	}
	var parts []string
	for _, cpus := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, strings.Join(by[cpus], ", ")+": "+cpus)
	}
	return strings.Join(parts, "; ")
}

// observing is what the figures cost the watcher itself.
func (t *table) observing() string {
	most, asked, unknown, disturbed := 0.0, int64(0), 0, 0
	for i := range t.res.Cells {
		w := &t.res.Cells[i].Watcher
		switch {
		case w.Asked == nil:
			unknown++
			continue
		case w.AskedCPU != nil && w.CPUSeconds != nil && *w.CPUSeconds > 0:
			most = max(most, *w.AskedCPU / *w.CPUSeconds)
		}
		asked += *w.Asked
		if w.Disturbed {
			disturbed++
		}
	}
	switch {
	case unknown == len(t.res.Cells):
		return ""
	case asked == 0:
		return "Observing: from before the first write to after the last acknowledgement nobody asked the watcher for anything; its CPU time comes from /proc, its counters from one scrape before and one after."
	case disturbed == 0:
		return fmt.Sprintf("Observing: what was asked of the watcher while it was measured took at most %s of its CPU time in a cell.", percent(most))
	}
	return fmt.Sprintf("Observing: in %s the watcher was asked for its metrics so often that it shows in its CPU time (up to %s of it in a cell), so CPU and allocations of those cells are left out.",
		plural(disturbed, "cell"), percent(most))
}

// durability is what the control plane left out to be fast.
func (t *table) durability() string {
	e := &t.res.Environment
	var s []string
	switch {
	case flagOf(e.EtcdFlags, "unsafe-no-fsync") == "true":
		s = append(s, "etcd ran without fsync: API server writes are faster than with a disk's durability.")
	case len(e.EtcdFlags) > 0:
		s = append(s, "etcd ran with fsync: API server writes wait for the disk.")
	default:
		s = append(s, "Whether etcd waited for its disk is not known.")
	}
	if flagOf(e.Flags, "enable-priority-and-fairness") == "false" {
		s = append(s, "kube-apiserver ran without priority and fairness.")
	}
	return strings.Join(s, " ")
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

func (t *table) phases() string {
	phases := []string{"prepare"}
	if t.any(func(c *result.Cell) bool { return c.Load.Warmup > 0 }) {
		phases = append(phases, "warm-up (not counted)")
	}
	load := "load"
	if t.disturbed() {
		load = "load with faults"
	}
	s := "Phases: " + strings.Join(append(phases, load, "drain", "check"), ", ") + ". Objects of a cell live in namespaces of their own"
	if len(t.Run.Order) > 1 {
		s += "; cells ran in a shuffled order, from the seed"
		if t.mostRepetitions() > 1 {
			s += ", every second repetition in the reverse of the one before"
		}
	}
	return s + "."
}

// disturbed reports whether something was done to the parties during the load.
func (t *table) disturbed() bool {
	events, _ := t.res.Scenario["events"].([]any)
	watch, _ := t.res.Scenario["watch"].(map[string]any)
	return len(events) > 0 || len(watch) > 0 || t.any(func(c *result.Cell) bool { return len(c.Faults) > 0 })
}

func (t *table) correctness() string {
	return "Correctness before speed: a point that fails one of G1–G6 is marked and left out of comparisons. A check that looked at nothing is not a pass. “" + unknown + "” means not known, never zero."
}

// arrivals are the spacings of an open loop's writes.
var arrivals = map[string]string{
	"constant": "at a fixed rate", "poisson": "at random times around a mean rate (Poisson)",
	"ramp": "at a rate that changes steadily", "burst": "in bursts",
}

func (t *table) loadModel() string {
	models := t.distinct(func(c *result.Cell) string {
		switch l := &c.Load; l.Model {
		case result.ModelClosed:
			pause := ""
			if l.ThinkS > 0 {
				pause = " and pauses for " + short(l.ThinkS) + " s"
			}
			return "closed loop (each thread waits for its answer" + pause + " before the next write" + hot(l.HotBurst, "; %d at a time go to a hot Pod at once, and all of them are waited for") + "; a slow apiserver lowers the load)"
		case result.ModelOpen:
			due := arrivals[l.Arrival]
			if due == "" {
				due = "when the plan says"
			}
			return "open loop (writes are due " + due + ", whatever the answers do; those of one pod go one after the other" + hot(l.HotBurst, ", except that %d at a time go to a hot Pod at once") + ")"
		}
		return ""
	})
	if len(models) == 0 {
		return ""
	}
	return "Load model: " + join(models) + "."
}

// hot is the text for a load with bursts of so many writes to one Pod, nothing for others.
func hot(burst int, text string) string {
	if burst == 0 {
		return ""
	}
	return fmt.Sprintf(text, burst)
}

// mostRepetitions is how many repetitions a row has at most.
func (t *table) mostRepetitions() (n int) {
	for _, r := range t.rows {
		n = max(n, len(r.cells))
	}
	return n
}

func (t *table) storage() string {
	latency := t.distinct(func(c *result.Cell) string {
		s := &c.Storage
		if s.LatencySpec == "" || s.LatencyP99Ms == 0 {
			return clean(s.LatencySpec)
		}
		return fmt.Sprintf("%s (p50 %s ms, mean %s ms, p99 %s ms)", clean(s.LatencySpec), Brief(s.LatencyP50Ms), Brief(s.LatencyMeanMs), Brief(s.LatencyP99Ms))
	})
	if len(latency) == 0 {
		return ""
	}
	return "Storage is a mock with a configured latency of " + join(latency) + "; the column shows what it served by its own clock, late timers included. Its record of every write is what order and loss are judged by."
}
