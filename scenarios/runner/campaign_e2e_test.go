package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/spec"
)

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

func openScenario(name string) string {
	return fmt.Sprintf(`apiVersion: watchbench/v1
kind: Scenario
metadata: {name: %s}
storage: {latency: 5ms, faults: ['503:10%%', '422(kind=Secret)']}
load: {model: open, rate: 60, duration: 6s, hotkeys: {objects: 4, zipf: 1, burst: 8, share: 0.1}, bystander: {kind: ConfigMap, rate: 5}}
watcher: {podQueueNum: 6}
fault: {row: F4, title: errors, assert: [C, O, T, X], measure: [L, B, A], recovery: 10s}
drainTimeout: 30s
limits: {minOffered: 20%%, minPower: 0}
`, name)
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
	bins, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	on := clustertest.Start(t).Cluster
	campaign := Campaign{
		Profile: "default", Dir: dir, Report: func(line string) { t.Log(line) }, Rows: []string{"F0", "F4"},
		Scenarios: []Scenario{
			shipped(t, "f00-none", smallScenario("f00-none", "storage: {latency: 5ms}\nfault: {row: F0, title: none, assert: [C, O], measure: [T]}")),
			// One of its faults never fires: it is invalid, and gets a second try.
			shipped(t, "f04-errors", openScenario("f04-errors")),
		},
		Single: func(ctx context.Context, s Scenario, baseline *result.Cell) (Outcome, error) {
			return Run(ctx, Options{Scenario: s.File, Binaries: bins, Provider: cluster.Embedded, OutDir: dir, Baseline: baseline}, on)
		},
	}
	m, err := campaign.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Entries) != 2 || m.Entries[1].First == "" || m.Entries[1].Columns["C"].Verdict != result.Pass {
		t.Fatalf("%+v", m.Entries)
	}
	if n := len(m.Retries); n == 0 || m.Retries[n-1].Scenario != "f04-errors" || m.Retries[n-1].Why == "" {
		t.Errorf("second tries %+v", m.Retries)
	}
	for _, name := range []string{m.Entries[0].Dir, m.Entries[1].Dir} {
		judgedAlike(t, filepath.Join(dir, name))
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
	if all, err := filepath.Glob(filepath.Join(dir, "f*")); err != nil || len(all) != 2+len(m.Retries) || !slices.ContainsFunc(all, func(p string) bool { return filepath.Base(p) == m.Entries[1].Dir }) {
		t.Errorf("runs %v, %v", all, err)
	}
}
