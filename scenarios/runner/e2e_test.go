package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

const small = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: e2e}
storage: {latency: 5ms}
load: {model: closed, threads: 8, operations: 240, recreate: 0.5, bystander: {kind: ConfigMap, rate: 20}}
watcher: {podQueueNum: 6}
matrix:
  watcher.strategy: [partitioned, keyed]
limits: {minPower: 0}
drainTimeout: 30s
`

// programDir is removed after all tests.
var programDir string

// programs builds the programs of a run, once for all tests.
var programs = sync.OnceValues(func() (party.Binaries, error) {
	dir, err := os.MkdirTemp("", "watchbench-test-bin-")
	if err != nil {
		return party.Binaries{}, err
	}
	programDir = dir
	cmd := exec.Command("go", "build", "-o", dir+"/", "../../cmd/k8s-watch", "../../cmd/storagemock", "../../cmd/watchbench")
	if out, err := cmd.CombinedOutput(); err != nil {
		return party.Binaries{}, errors.New(string(out))
	}
	return party.BinariesIn(dir)
})

// stage prepares a run of a scenario on the tests' control plane.
func stage(t *testing.T, scenario string, sets ...string) (Options, *bytes.Buffer) {
	t.Helper()
	bins, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	f, err := faults.Format.Parse("e2e.yaml", []byte(scenario), sets...)
	if err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	return Options{
		Scenario: f, Binaries: bins, Provider: "embedded", OutDir: t.TempDir(), Progress: NewProgress(terminal.New(said, false, nil)),
	}, said
}

// finish runs what stage has set up, to its end.
func finish(t *testing.T, opts Options, said *bytes.Buffer) Outcome {
	t.Helper()
	out, err := Run(t.Context(), opts, clustertest.Start(t).Cluster)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	nothingLeft(t)
	return out
}

// onlyLate reports whether a cell is valid but for what is about time: other packages' tests may run beside this one.
func onlyLate(c result.Cell) bool { return slices.Equal(c.InvalidReasons, c.LateReasons) }

// passes fails for each of these guarantees that did not pass.
func passes(t *testing.T, c result.Cell, guarantees ...string) {
	t.Helper()
	for _, g := range guarantees {
		if v := c.Checks[g]; v.Verdict != result.Pass {
			t.Errorf("%s: %s is %s: %s %s", c.ID, g, v.Verdict, v.Counterexample, v.Note)
		}
	}
}

// holds fails for each of these columns that did not pass.
func holds(t *testing.T, c result.Cell, columns ...string) {
	t.Helper()
	if !onlyLate(c) || c.Robustness == nil {
		t.Fatalf("invalid %v, row %+v", c.InvalidReasons, c.Robustness)
	}
	for _, col := range columns {
		if x := c.Robustness.Columns[col]; x.Verdict != result.Pass {
			t.Errorf("%s: %+v", col, x)
		}
	}
}

// judgedAlike fails if the folder of a run gives another results.json than the run wrote.
func judgedAlike(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, result.FileName)
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	again, err := assess.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Save(path, again); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("the record gives another %s (-run +record):\n%s", result.FileName, d)
	}
}

// marks are what was done in a cell, in the order of time.
func marks(h *check.History) string {
	var all []string
	for _, m := range h.Marks {
		all = append(all, m.What)
	}
	return strings.Join(all, " ")
}

// nothingLeft fails if a program of ours still runs or an object of ours is there.
func nothingLeft(t *testing.T) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		head, rest, _ := strings.Cut(string(data), ") ")
		_, name, _ := strings.Cut(head, "(")
		f := strings.Fields(rest)
		if len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) && (name == "k8s-watch" || name == "storagemock" || name == "watchbench") {
			t.Errorf("%s still runs", head)
		}
	}
	api, err := party.NewAPIServer(clustertest.Start(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	names, err := api.Namespaces(t.Context(), party.RunLabel)
	if err != nil || len(names) > 0 {
		t.Errorf("namespaces left: %v, %v", names, err)
	}
	for _, path := range []string{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", definitionsPath} {
		if left := namesAt(t, api, path); len(left) > 0 {
			t.Errorf("left in %s: %v", path, left)
		}
	}
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// namesAt names the objects of a collection that a run made.
func namesAt(t *testing.T, api *party.APIServer, path string) (names []string) {
	t.Helper()
	err := api.Each(t.Context(), path, party.RunLabel, func(raw json.RawMessage) error {
		var o struct{ Metadata struct{ Name string } }
		err := json.Unmarshal(raw, &o)
		names = append(names, o.Metadata.Name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRunEndToEnd(t *testing.T) {
	opts, said := stage(t, small)
	out := finish(t, opts, said)
	res, err := result.LoadFile(out.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Cells) != 2 || res.Run.Interrupted || res.Environment.Kubernetes == "" {
		t.Fatalf("%d cells, interrupted %v, Kubernetes %q", len(res.Cells), res.Run.Interrupted, res.Environment.Kubernetes)
	}
	for _, c := range res.Cells {
		if !onlyLate(c) || c.Cut {
			t.Errorf("%s: invalid %v, cut %v", c.ID, c.InvalidReasons, c.Cut)
		}
		passes(t, c, "G1", "G2", "G3", "G4", "G5", "G6", "G14")
		if c.Load.Done != 240 || c.Freshness == nil || c.Freshness.Count != 240 || c.Bystander.Freshness == nil {
			t.Errorf("%s: %d writes, freshness %+v, bystander %+v", c.ID, c.Load.Done, c.Freshness, c.Bystander.Freshness)
		}
		if e := c.Events; e == nil || e.Sent == 0 || e.Received != e.Sent+e.Filtered || *e.Lost != 0 {
			t.Errorf("%s: events %+v", c.ID, e)
		}
		for _, p := range []string{"generator", "apiserver", "etcd", "watcher", "storagemock", "runner"} {
			if c.Parties[p].RSSPeakMiB <= 1 {
				t.Errorf("%s: the party %s is not known: %+v", c.ID, p, c.Parties[p])
			}
		}
		if c.Params["watcher.strategy"] == "partitioned" && (len(c.Queues) != 6 || c.Handler.Imbalance == nil) {
			t.Errorf("%s: queues %v, imbalance %v", c.ID, c.Queues, c.Handler.Imbalance)
		}
		if w := c.Watcher; w.Asked == nil || *w.Asked != 0 || w.CPUMicrosPerReq == nil {
			t.Errorf("%s: the watcher was asked %v times while it was measured", c.ID, w.Asked)
		}
		if code := c.Watcher.ExitCode; code == nil || *code != 0 {
			t.Errorf("%s: the watcher's exit code is %v", c.ID, code)
		}
	}
	judgedAlike(t, out.Dir)
	for _, want := range []string{": load", ": drain", "pass G1–G6"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the progress %q lacks %q", said, want)
		}
	}
}

func TestTamperedEvidenceFailsOffline(t *testing.T) {
	opts, said := stage(t, small, "watcher.strategy=keyed")
	out, err := Run(t.Context(), opts, clustertest.Start(t).Cluster)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	// Half of the final states goes away: convergence can no longer be shown.
	dir := filepath.Join(out.Dir, "cells", "keyed")
	var states []history.StateRecord
	h, err := check.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range h.State {
		if err != nil {
			t.Fatal(err)
		}
		if s.Side == history.SideApiserver || s.Kind != "Pod" {
			states = append(states, s)
		}
	}
	if err := history.SaveState(dir, history.FileState, slices.Values(states)); err != nil {
		t.Fatal(err)
	}
	again, err := assess.Run(t.Context(), out.Dir)
	if err != nil || len(again.Cells) != 1 || again.Cells[0].Checks["G1"].Verdict != result.Fail || out.Results.Cells[0].Checks["G1"].Verdict != result.Pass {
		t.Errorf("%+v, %v", again, err)
	}
	if err := os.Remove(filepath.Join(dir, history.FileLedger)); err != nil {
		t.Fatal(err)
	}
	if _, err := assess.Run(t.Context(), out.Dir); err == nil || !IsInput(err) {
		t.Errorf("without a ledger: %v", err)
	}
}

func TestInterruptedRunLeavesNothing(t *testing.T) {
	for _, phase := range []string{PhasePrepare, PhaseLoad, PhaseDrain} {
		t.Run(phase, func(t *testing.T) {
			// One request at a time at 50 ms: the drain takes ten seconds.
			opts, _ := stage(t, small, "watcher.strategy=single", "storage.latency=50ms")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			why := errors.New("Ctrl-C")
			opts.Progress = NewProgress(terminal.New(writerFunc(func(b []byte) (int, error) {
				if strings.Contains(string(b), ": "+phase) {
					cancel(why)
				}
				return len(b), nil
			}), true, nil))
			out, err := Run(ctx, opts, clustertest.Start(t).Cluster)
			if !errors.Is(err, why) || !out.Results.Run.Interrupted || len(out.Results.Cells) != 0 {
				t.Errorf("%v, interrupted %v, %d cells", err, out.Results.Run.Interrupted, len(out.Results.Cells))
			}
			nothingLeft(t)
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestFailingWatcherIsReported(t *testing.T) {
	for _, tc := range []struct{ name, command, want string }{
		{"ends", "sh -c 'echo cannot reach storage >&2; exit 3' {config}", "cell only: prepare: sh ended: exit status 3: cannot reach storage (log: "},
		{"is not there", "/nowhere/watcher {config}", `cell only: prepare: the watcher's command "/nowhere/watcher {config}"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts, _ := stage(t, small, "watcher.strategy=keyed", `watcher.command="`+tc.command+`"`)
			out, err := Run(t.Context(), opts, clustertest.Start(t).Cluster)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s…", err, tc.want)
			}
			nothingLeft(t)
			// A crash is on record, so that no second try excuses it; a wrong command is not.
			saved, err := history.LoadRun(out.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if crashed := saved.Run.Crashed; (tc.name == "ends") != (len(crashed) == 1) || len(crashed) == 1 && !strings.HasPrefix("cell "+crashed[0].ID+": "+crashed[0].Why, tc.want) {
				t.Errorf("crashed: %+v", crashed)
			}
		})
	}
}

func TestCutCellIsNotPassedOff(t *testing.T) {
	opts, said := stage(t, small, "watcher.strategy=single", "storage.latency=50ms", "drainTimeout=2s")
	out := finish(t, opts, said)
	c := out.Results.Cells[0]
	if !c.Cut || !c.Handler.DrainProjected || c.CutFraction <= 0 || c.CutFraction >= 1 || *c.Handler.DrainSeconds < 8 {
		t.Errorf("cut %v, projected %v, %.2f done, drain %v", c.Cut, c.Handler.DrainProjected, c.CutFraction, *c.Handler.DrainSeconds)
	}
	if v := c.Checks["G1"].Verdict; v != result.NotJudged {
		t.Errorf("G1 of a cut cell is %s", v)
	}
	passes(t, c, "G2", "G3", "G6")
}

func TestDroppedEventsAreCounted(t *testing.T) {
	opts, said := stage(t, small, "watcher.strategy=keyed", "storage.latency=50ms", "watcher.podQueueNum=2", "watcher.writerQueueLen=4",
		"watcher.handlerQueueLen=4", "watcher.queueFull=drop", "watcher.queueFullTimeout=10ms", "watcher.synchronizer.disabled=true", "expect={G1: fail-expected, G5: fail-allowed}")
	out, err := Run(t.Context(), opts, clustertest.Start(t).Cluster)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	c := out.Results.Cells[0]
	if c.Events.Dropped == 0 || *c.Events.Lost == 0 || c.Events.Received != c.Events.Sent+c.Events.Filtered+c.Events.Dropped {
		t.Errorf("events %+v, lost %v", c.Events, c.Events.Lost)
	}
	if c.Checks["G1"].Verdict != result.Allowed || c.Checks["G6"].Verdict != result.Pass {
		t.Errorf("G1 %+v\nG6 %+v", c.Checks["G1"], c.Checks["G6"])
	}
}

func TestFaultsFireDuringTheLoadOnly(t *testing.T) {
	opts, said := stage(t, small, "matrix.watcher.strategy=keyed", "load.operations=600", "storage.faults=['503:10%', 'reset(max=3):5%']")
	out := finish(t, opts, said)
	c := out.Results.Cells[0]
	if !onlyLate(c) || c.Faults["503"] == 0 || c.Faults["reset"] == 0 {
		t.Errorf("invalid %v, faults %v", c.InvalidReasons, c.Faults)
	}
	passes(t, c, "G1", "G2", "G3", "G4", "G5", "G6")
	// A fault that cannot fire makes the cell invalid: it would prove nothing.
	opts, said = stage(t, small, "matrix.watcher.strategy=keyed", "storage.faults=['503(kind=Gizmo)']")
	out = finish(t, opts, said)
	if c := out.Results.Cells[0]; c.Valid || !strings.Contains(c.InvalidReasons[0], "never fired") {
		t.Errorf("valid %v %v", c.Valid, c.InvalidReasons)
	}
}
