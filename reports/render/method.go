package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// method says how far the numbers may be believed; docs/measures.md has the rest. Every sentence is derived from the
// record and true of this run.
type method struct{ *table }

func (m method) section() Section {
	s := Section{ID: "method", Title: "Method", Place: Aside}
	if fault, _ := m.res.Scenario["fault"].(map[string]any); fault["refused"] == true {
		s.Notes = []string{"No load: the watcher had to refuse a wrong storage before it sent anything."}
		return s
	}
	s.Notes = []string{m.precision(), "One machine carries all parts: compare points of one run, and read ratios before " +
		"figures. A point that fails one of G1–G6 is left out of comparisons.", m.durability()}
	if open := m.any(func(c *result.Cell) bool { return c.Load.Model == result.ModelOpen }); open {
		s.Notes = append(s.Notes, "Open loop: latency and freshness count from the intended time of a write, so a generator "+
			"that falls behind cannot hide waiting.")
	}
	if m.any(func(c *result.Cell) bool { return c.Load.Model == result.ModelClosed }) {
		s.Notes = append(s.Notes, "Closed loop: a slow apiserver lowers the load, and latency and freshness count from when "+
			"the thread was free.")
	}
	return s
}

// precision says what n and ± are in this table.
func (m method) precision() string {
	if !slices.ContainsFunc(m.rows, func(r *row) bool { return len(r.valid) > 1 }) {
		return "One repetition: figures have no interval, and nothing is ranked. Repeat the run (--repeat 3) to learn more."
	}
	return fmt.Sprintf("n: valid repetitions. A figure is their median, ± its %g %% interval; percentiles are of all "+
		"operations together, lost and reordered are totals. What is called faster or fresher is so all but certainly "+
		"(p ≤ %g %%); that takes %d repetitions.", 100*stats.Level, 100*stats.Alpha, stats.Least)
}

// disturbed reports whether something was done to the parties during the load.
func (m method) disturbed() bool {
	events, _ := m.res.Scenario["events"].([]any)
	watch, _ := m.res.Scenario["watch"].(map[string]any)
	return len(events) > 0 || len(watch) > 0 || m.any(func(c *result.Cell) bool { return len(c.Faults) > 0 })
}

// durability says whether the control plane waited for its disk.
func (m method) durability() string {
	flags := m.res.Environment.EtcdFlags
	switch {
	case slices.Contains(flags, "--unsafe-no-fsync=true") || slices.Contains(flags, "--unsafe-no-fsync"):
		return "etcd ran without fsync: API server writes are faster than with a disk's durability."
	case len(flags) > 0:
		return "etcd ran with fsync: API server writes wait for the disk."
	}
	return "Whether etcd waited for its disk is not known."
}

// distinct sorts the different texts that cells have; an empty one is none.
func (t *table) distinct(text func(*result.Cell) string) []string {
	seen := map[string]bool{}
	for i := range t.res.Cells {
		seen[strings.TrimSpace(text(&t.res.Cells[i]))] = true
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}
