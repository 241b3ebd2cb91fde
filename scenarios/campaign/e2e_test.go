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

// living are real programs on the tests' control plane.
type living struct {
	dir     string
	cluster *cluster.Cluster
	bins    party.Binaries
}

// live builds them; runs go below a folder.
func live(t *testing.T, dir string) *living {
	t.Helper()
	env := clustertest.Start(t)
	programs := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", programs+"/", "../../cmd/k8s-watch", "../../cmd/storagemock", "../../cmd/watchbench")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bins, err := party.BinariesIn(programs)
	if err != nil {
		t.Fatal(err)
	}
	return &living{dir: dir, cluster: env.Cluster, bins: bins}
}

// run runs a scenario.
func (l *living) run(ctx context.Context, s Scenario, baseline *result.Cell) (string, *result.Results, error) {
	o := runner.Options{Scenario: s.File, Binaries: l.bins, Provider: cluster.Embedded, OutDir: l.dir, Baseline: baseline}
	out, err := runner.Run(ctx, o, l.cluster)
	return out.Dir, out.Results, err
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
	l := live(t, dir)
	m, err := Run(t.Context(), Options{
		Profile: "default", Dir: dir, Run: l.run, Fatal: func(error) bool { return false }, Crashed: party.WatcherEnded, Report: func(line string) { t.Log(line) }, Rows: []string{"F0", "F4"},
		Scenarios: []Scenario{
			shipped(t, "f00-none", smallScenario("f00-none", "storage: {latency: 5ms}\nfault: {row: F0, title: none, assert: [C, O], measure: [T]}")),
			// One of its faults never fires: it is invalid, and gets a second try.
			shipped(t, "f04-errors", openScenario("f04-errors")),
		},
	})
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
	if all, err := filepath.Glob(filepath.Join(dir, "f*")); err != nil || len(all) != 2+len(m.Retries) || !slices.ContainsFunc(all, func(p string) bool { return filepath.Base(p) == m.Entries[1].Dir }) {
		t.Errorf("runs %v, %v", all, err)
	}
}
