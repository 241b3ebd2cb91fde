package robustness

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/party"
)

var outDir = flag.String("controls", "", "folder for the runs of the mutants; without it they are not run")

// asIs is the watcher without a bug.
const asIs = "none"

// TestControls runs each mutant, and the watcher as it is, through the rows that must catch the mutant, with real
// processes on one control plane. No mutant gets a second try.
func TestControls(t *testing.T) {
	if *outDir == "" {
		t.Skip("make controls runs the mutants; it takes long")
	}
	dir, err := filepath.Abs(*outDir)
	if err != nil {
		t.Fatal(err)
	}
	g := newGround(t, filepath.Join(dir, asIs, "bin"))
	g.dir = dir
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			watcher := ""
			for _, r := range m.Caught {
				t.Run(filepath.Base(r.Scenario), func(t *testing.T) {
					r.Columns = columnsOf(r)
					g.sound(t, r)
					if watcher == "" {
						watcher = g.build(t, m)
					}
					g.caught(t, m, watcher, r)
				})
			}
		})
	}
	if text := g.table(); text != "" {
		t.Log("\n" + text)
		if err := os.WriteFile(filepath.Join(g.dir, "controls.txt"), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// columnsOf are the columns of all mutants that are run through the same cells, so that these are run once for the
// watcher as it is.
func columnsOf(r row) string {
	all := map[string]bool{}
	for _, m := range mutants {
		for _, other := range m.Caught {
			if other.key() == r.key() {
				for _, c := range strings.Split(other.Columns, "") {
					all[c] = true
				}
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), "")
}

func (r row) key() string { return r.Scenario + " " + strings.Join(r.Cells, " ") }

// ground is what all runs share.
type ground struct {
	dir     string
	bins    party.Binaries
	cluster *cluster.Cluster
	asIs    map[string][]result.MatrixEntry // by the row's key
	lines   []string
}

// newGround builds the programs into a folder.
func newGround(t *testing.T, programs string) *ground {
	t.Helper()
	return groundOn(t, clustertest.Start(t).Cluster, programs)
}

func groundOn(t *testing.T, c *cluster.Cluster, programs string) *ground {
	t.Helper()
	g := &ground{cluster: c, asIs: map[string][]result.MatrixEntry{}}
	var err error
	if err = build(t.Context(), "", programs+"/", "./cmd/k8s-watch", "./cmd/storagemock", "./cmd/watchbench"); err != nil {
		t.Fatal(err)
	}
	if g.bins, err = party.BinariesIn(programs); err != nil {
		t.Fatal(err)
	}
	return g
}

// build returns the path of the mutated watcher.
func (g *ground) build(t *testing.T, m mutant) string {
	t.Helper()
	list, err := m.overlay(g.dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(g.dir, m.Name, "k8s-watch")
	if err := build(t.Context(), list, path, "./cmd/k8s-watch"); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a row with one of the watchers and returns what its cells came to.
func (g *ground) run(t *testing.T, who, watcher string, r row) ([]result.MatrixEntry, error) {
	t.Helper()
	// What is not looked at is not asserted: no machine that stands still for a moment makes a difference to what is left.
	assert := "fault.assert=[" + strings.Join(strings.Split(r.Columns, ""), ", ") + "]"
	file := read(t, r.Scenario, append(slices.Clone(r.Cells), assert, "fault.legacy=[]")...)
	bins := g.bins
	bins.Watcher = watcher
	out, err := g.runner(t.Context(), file, filepath.Join(g.dir, who), bins, nil)
	if err != nil {
		return nil, fmt.Errorf("%s with the watcher %s: %w", r.Scenario, who, err)
	}
	return matrix.Entries(history.CampaignRun{Scenario: filepath.Base(r.Scenario), Dir: out.Dir, Cells: len(file.Cells())}, out.Results), nil
}

// sound runs a row with the watcher as it is and requires that it passes. As in the matrix it is run again where it
// proves nothing; a load that was late shows as much of it as of a mutant.
func (g *ground) sound(t *testing.T, r row) {
	t.Helper()
	entries, known := g.asIs[r.key()]
	if !known {
		var err error
		if entries, err = g.run(t, asIs, g.bins.Watcher, r); err != nil {
			t.Fatal(err)
		}
		if why := matrix.Again(entries); len(why) > 0 {
			again, err := g.run(t, asIs, g.bins.Watcher, r)
			if err != nil {
				t.Fatal(err)
			}
			entries = matrix.Settle(entries, again, why)
		}
		g.asIs[r.key()] = entries
	}
	for i := range entries {
		e := &entries[i]
		failed, invalid := e.Verdict()
		verdict := "passes"
		if len(failed) > 0 || e.Error != "" || len(vacuous(e)) > 0 {
			verdict = "DOES NOT PASS"
			t.Errorf("%s %s: the watcher as it is fails %v %s\n%s\n%s", e.Scenario, e.Cell, failed, invalid, details(e), e.Dir)
		}
		if !known {
			g.line(t, asIs, e, verdict, strings.TrimSpace(details(e)+" "+invalid))
		}
	}
}

// caught runs a row with a mutant and requires that each cell fails in one of the columns that were named.
func (g *ground) caught(t *testing.T, m mutant, watcher string, r row) {
	t.Helper()
	entries, err := g.run(t, m.Name, watcher, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		t.Fatalf("%s has no cells", r.Scenario)
	}
	named := r.of(m)
	for i := range entries {
		e := &entries[i]
		if catches(e, named) {
			g.line(t, m.Name, e, "caught", details(e))
			continue
		}
		_, invalid := e.Verdict()
		g.line(t, m.Name, e, "MISSED", strings.TrimSpace(details(e)+" "+invalid))
		t.Errorf("MISSED in %s %s, which is to fail in %s: %s %s\n%s", e.Scenario, e.Cell, named, details(e), invalid, e.Dir)
	}
}

// catches reports whether a cell shows a mutant's bug: it proves something, though its load may be late and the
// watcher's own metrics be wrong, and one of the named columns fails, in more than a figure that nobody could read.
func catches(e *result.MatrixEntry, named string) bool {
	failed, _ := e.Verdict()
	metrics := func(why string) bool { return strings.HasPrefix(why, measure.QueuesContradict) }
	if e.Error != "" || len(slices.DeleteFunc(vacuous(e), metrics)) > 0 {
		return false
	}
	return slices.ContainsFunc(failed, func(c string) bool {
		return strings.Contains(named, c) && !onlyMissing(e, c)
	})
}

// vacuous is why a cell proves nothing, however late its load was.
func vacuous(e *result.MatrixEntry) []string {
	return slices.DeleteFunc(slices.Clone(e.Invalid), func(why string) bool { return slices.Contains(e.Late, why) })
}

// onlyMissing reports whether a column fails in nothing but figures that are not known.
func onlyMissing(e *result.MatrixEntry, column string) bool {
	missing := false
	for _, f := range e.Facts {
		if f.Column == column && !f.OK {
			if !f.Missing {
				return false
			}
			missing = true
		}
	}
	return missing && !strings.HasPrefix(e.Columns[column].Detail, "G") // a check's counterexample comes first
}

// of are the columns in which the mutant is to fail in this row.
func (r row) of(m mutant) string {
	for _, other := range m.Caught {
		if other.key() == r.key() {
			return other.Columns
		}
	}
	return ""
}

// line notes an outcome for the table: the mutant, the row, each column's verdict.
func (g *ground) line(t *testing.T, who string, e *result.MatrixEntry, verdict, by string) {
	var columns []string
	for _, c := range result.MatrixColumns {
		if x, ok := e.Columns[c.ID]; ok && x.Verdict != result.Measured {
			columns = append(columns, c.ID+" "+x.Verdict)
		}
	}
	scenario := e.Scenario
	if e.Cell != "only" {
		scenario += " " + e.Cell
	}
	words := []string{who, e.Row, scenario, strings.Join(columns, ", "), verdict, by}
	t.Log(strings.Join(words, " | "))
	g.lines = append(g.lines, strings.Join(words, "\t"))
}

// details are why the columns failed, shortened.
func details(e *result.MatrixEntry) string {
	var all []string
	for _, c := range result.MatrixColumns {
		if x, ok := e.Columns[c.ID]; ok && x.Verdict == result.Fail {
			text := c.ID + ": " + x.Detail
			all = append(all, text[:min(len(text), 160)])
		}
	}
	return strings.Join(all, "; ")
}

// table is what all runs came to.
func (g *ground) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "mutant\trow\tscenario\tcolumns\t\tby")
	for _, l := range g.lines {
		fmt.Fprintln(w, l)
	}
	if w.Flush() != nil || len(g.lines) == 0 {
		return ""
	}
	return b.String()
}

// TestCatches: a cell that proves nothing, or that lacks a figure, catches no mutant.
func TestCatches(t *testing.T) {
	entry := func(facts []result.Fact, checks map[string]result.Check, edit func(*result.MatrixEntry)) *result.MatrixEntry {
		e := &result.MatrixEntry{Facts: facts, Columns: map[string]result.Column{}}
		for _, c := range []string{"C", "T"} {
			e.Columns[c] = matrix.Column(c, checks, facts)
		}
		if edit != nil {
			edit(e)
		}
		return e
	}
	g1 := map[string]result.Check{"G1": {Verdict: result.Pass}}
	broken := map[string]result.Check{"G1": {Verdict: result.Fail, Counterexample: "lost"}}
	lost := matrix.None("C", "changes that never arrived", 1, "")
	unknown := matrix.Missing("C", "repairs", "", "nobody could read it")
	invalid := func(e *result.MatrixEntry) { e.Invalid = []string{"the fault never fired"} }
	behind := func(e *result.MatrixEntry) {
		e.Invalid, e.Late = []string{"the generator was late"}, []string{"the generator was late"}
	}
	lies := func(e *result.MatrixEntry) { e.Invalid = []string{measure.QueuesContradict + " the record"} }
	for _, tc := range []struct {
		name  string
		entry *result.MatrixEntry
		named string
		want  bool
	}{
		{"lost", entry([]result.Fact{lost}, g1, nil), "C", true},
		{"by a check", entry(nil, broken, nil), "C", true},
		{"by a check, and a figure is unknown", entry([]result.Fact{unknown}, broken, nil), "C", true},
		{"another column", entry([]result.Fact{lost}, g1, nil), "T", false},
		{"passes", entry(nil, g1, nil), "C", false},
		{"proves nothing", entry([]result.Fact{lost}, g1, invalid), "C", false},
		{"its load is late", entry([]result.Fact{lost}, g1, behind), "C", true},
		{"its metrics are wrong too", entry([]result.Fact{lost}, g1, lies), "C", true},
		{"a figure is unknown", entry([]result.Fact{unknown}, g1, nil), "C", false},
		{"a figure is unknown, another wrong", entry([]result.Fact{unknown, lost}, g1, nil), "C", true},
	} {
		if got := catches(tc.entry, tc.named); got != tc.want {
			t.Errorf("%s: caught %v, want %v (%s)", tc.name, got, tc.want, details(tc.entry))
		}
	}
}
