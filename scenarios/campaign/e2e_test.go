package campaign

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Shared(m).Run()) }

// live runs scenarios below a folder, with real programs on the tests' control plane.
func live(t *testing.T, dir string) func(context.Context, Scenario, *result.Cell) (string, *result.Results, error) {
	t.Helper()
	env := clustertest.Start(t)
	programs := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", programs+"/", "../../cmd/k8s-watch", "../../cmd/storagemock", "../../cmd/churn", "../../cmd/watchproxy")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bins, err := party.BinariesIn(programs)
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, s Scenario, baseline *result.Cell) (string, *result.Results, error) {
		out, err := runner.Run(ctx, runner.Options{
			Scenario: s.File, Binaries: bins, Provider: cluster.Embedded, OutDir: dir, Baseline: baseline,
		}, env.Cluster)
		return out.Dir, out.Results, err
	}
}

func shipped(t *testing.T, name, text string) Scenario {
	t.Helper()
	f, err := spec.Format{}.Parse(name+".yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Scenario{"faults/" + name, f}
}

func smallScenario(name, fault string) string {
	return fmt.Sprintf(`apiVersion: watchbench/v1
kind: Scenario
metadata: {name: %s}
load: {model: closed, threads: 8, operations: 240, bystander: {kind: ConfigMap, rate: 20}}
watcher: {podQueueNum: 6}
limits: {minPower: 0}
drainTimeout: 30s
%s
`, name, fault)
}

// removed reads a file and removes it.
func removed(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFolderGivesTheSameBytes: what a run and a campaign wrote about themselves can be
// computed again from their folders alone, to the byte.
func TestFolderGivesTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	run := live(t, dir)
	m, err := Run(t.Context(), Options{
		Profile: "default", Dir: dir, Run: run, Fatal: func(error) bool { return false }, Report: func(line string) { t.Log(line) }, Rows: []string{"F0", "F4"},
		Scenarios: []Scenario{
			shipped(t, "f00-none", smallScenario("f00-none", "storage: {latency: 5ms}\nfault: {row: F0, title: none, assert: [C, O], measure: [T]}")),
			// Nothing is stored within a millisecond: T fails, and gets a second try.
			shipped(t, "f04-errors", smallScenario("f04-errors", "storage: {latency: 5ms, faults: ['503:10%']}\nfault: {row: F4, title: errors, assert: [C, O, I, T], measure: [L, B, A], recovery: 1ms}")),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Entries) != 2 || m.Entries[1].First == "" || m.Entries[1].Columns["C"].Verdict != result.Pass {
		t.Fatalf("%+v", m.Entries)
	}
	for _, name := range []string{m.Entries[0].Dir, m.Entries[1].Dir} {
		folder := filepath.Join(dir, name)
		path := filepath.Join(folder, result.FileName)
		want := removed(t, path)
		c, err := assess.Check(t.Context(), folder)
		if err != nil || !c.Missing {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		if err := result.Save(path, c.Results); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, removed(t, path)); d != "" {
			t.Errorf("%s (-run +check):\n%s", name, d)
		}
	}
	files := []string{filepath.Join(dir, result.MatrixFile), filepath.Join(dir, "matrix.md")}
	want := []string{removed(t, files[0]), removed(t, files[1])}
	c, err := assess.Check(t.Context(), dir)
	if err != nil || !c.Missing {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := render.WriteMatrix(dir, c.Matrix); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, []string{removed(t, files[0]), removed(t, files[1])}); d != "" {
		t.Errorf("the matrix (-campaign +check):\n%s", d)
	}
	if all, err := filepath.Glob(filepath.Join(dir, "f*")); err != nil || len(all) != 3 || !slices.ContainsFunc(all, func(p string) bool { return filepath.Base(p) == m.Entries[1].Dir }) {
		t.Errorf("runs %v, %v", all, err)
	}
}
