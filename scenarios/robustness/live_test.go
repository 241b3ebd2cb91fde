package robustness

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/party"
)

var live = flag.String("live", "", "folder for runs on a cluster with real controllers; without it they are not run (about five minutes)")

// smallRollout replaces the events of scenarios/controllers/rollout.
const smallRollout = "events=[{at: 0s, what: add-nodes, count: 2}, {at: 0s, what: deploy, count: 30}, {at: 0s, what: settle}, {at: 0s, what: roll}, {at: 0s, what: settle}]"

// TestLive runs a rollout by real controllers with the watcher as it is, which passes, and with each mutant, which does
// not.
func TestLive(t *testing.T) {
	if *live == "" {
		t.Skip("make live-test runs it: it needs kube-controller-manager, kube-scheduler and kwok")
	}
	dir, err := filepath.Abs(*live)
	if err != nil {
		t.Fatal(err)
	}
	p, err := cluster.New(cluster.Embedded, cluster.Options{Embedded: cluster.EmbeddedOptions{Controllers: true}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Up(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Down(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	g := groundOn(t, c, filepath.Join(dir, asIs, "bin"))
	g.dir = dir
	run := func(t *testing.T, who string, bins party.Binaries) *result.Cell {
		name, data, err := scenarios.Read("controllers/rollout")
		if err != nil {
			t.Fatal(err)
		}
		file, err := faults.Format.Parse(name, data, smallRollout, "drainTimeout=30s")
		if err != nil {
			t.Fatal(err)
		}
		out, err := g.runner(t.Context(), file, filepath.Join(dir, who), bins, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &out.Results.Cells[0]
	}
	failed := func(cell *result.Cell) (names []string) {
		for name, c := range cell.Checks {
			if c.Verdict == result.Fail {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	sound := run(t, asIs, g.bins)
	if got := failed(sound); len(got) > 0 || sound.Checks["G1"].Verdict != result.Pass || sound.Checks["G6"].Verdict != result.Pass {
		t.Fatalf("the watcher as it is: failed %v, checks %+v", got, sound.Checks)
	}
	for _, m := range liveMutants {
		t.Run(m.Name, func(t *testing.T) {
			mutated := g.bins
			mutated.Watcher = g.build(t, m)
			cell := run(t, m.Name, mutated)
			got := failed(cell)
			t.Logf("%s: failed %v", m.Bug, got)
			if !slices.ContainsFunc(got, func(g string) bool { return slices.Contains(m.Live, g) }) {
				t.Errorf("MISSED: failed %v, want one of %v; %+v", got, m.Live, cell.Checks)
			}
		})
	}
}
