// Package assesstest records runs that never happened, for tests of what reads records.
package assesstest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

const (
	writes = 60
	epoch  = int64(1767348000_000_000_000)
	ms     = int64(time.Millisecond)
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Scenario is one of a row that asserts C and I, or with an empty row of none, with overrides as of --set.
func Scenario(t testing.TB, name, row string, sets ...string) *spec.File {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: watchbench/v1
kind: Scenario
metadata: {name: %s}
storage: {latency: 5ms}
load: {model: open, rate: 90, duration: 1s, bystander: {kind: ConfigMap, rate: 10}}
limits: {minPower: 0}
`, name)
	if row != "" {
		text += fmt.Sprintf("fault: {row: %s, title: of %s, assert: [C, I], measure: [T]}\n", row, row)
	}
	f, err := spec.Format{}.Parse(name+".yaml", []byte(text), sets...)
	must(t, err)
	return f
}

// Contents are the files of a folder by their paths below it, for what must not be touched.
func Contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all, root := map[string]string{}, os.DirFS(dir)
	must(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		all[path] = string(data)
		return err
	}))
	return all
}

var effects = map[string]string{oplog.TypeCreate: ledger.EffectCreated, oplog.TypePatch: ledger.EffectReplaced}

// Cell writes the record of a cell of 50 objects, of which 10 were changed, in which storage had every write after a
// delay (ms).
func Cell(t testing.TB, dir, id string, s spec.Scenario, params []spec.Param, delay int64) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	c := history.Cell{
		Schema: history.CellSchema, ID: id, Repetition: 1, Params: map[string]string{"load": "light"}, Scenario: s, Seed: 1,
		CPUs: 2,
		Watcher: history.WatcherRun{Version: "v1", Own: true, Started: epoch - 2000*ms, Ready: epoch - 1000*ms,
			Stored: epoch + (delay+100)*ms, StoredCPU: new(0.25)}, Kinds: []string{"Pod", "ConfigMap", "Namespace"},
		Planned: writes * 9 / 10, LoadStarted: epoch, LoadFinished: epoch + 10*writes*ms, FaultsSet: epoch,
		DrainEnd: epoch + 20*writes*ms + delay*ms, ScrapeStarted: epoch + 20*writes*ms + delay*ms,
		ScrapeFinished: epoch + 20*writes*ms + (delay+1)*ms,
	}
	for _, p := range params {
		c.Params[p.Name] = p.Value
	}
	defer func() {
		info, err := os.Stat(filepath.Join(dir, history.FileLedger))
		must(t, err)
		c.LedgerBytes = info.Size()
		must(t, history.SaveJSON(dir, history.FileCell, &c))
	}()
	must(t, history.SaveLines(dir, history.FileMarks, []history.Mark{{Time: c.Watcher.Started, What: history.MarkStarted},
		{Time: c.Watcher.Ready, What: history.MarkReady}}))
	must(t, history.SaveLines[history.Deed](dir, history.FileDeeds, nil))
	must(t, history.SaveJSON(dir, history.FileMeta, check.Meta{
		Cell: id, Strategy: s.Watcher.Strategy, Mode: s.Storage.Mode, QueueFull: s.Watcher.QueueFull,
		Rules:        check.Rules{Kinds: c.Kinds},
		WatcherReady: c.Watcher.Ready, LoadStarted: c.LoadStarted, LoadFinished: c.LoadFinished, Until: c.ScrapeFinished,
	}))
	ops, err := oplog.Create(filepath.Join(dir, history.FileOps))
	must(t, err)
	var states []history.StateRecord
	var entries []ledger.Entry
	for i := range int64(writes) {
		kind, typ, n, at := "Pod", oplog.TypeCreate, i, epoch+10*i*ms
		if i >= 50 {
			typ, n = oplog.TypePatch, i-50
		}
		if n%10 == 9 {
			kind = "ConfigMap"
		}
		name, uid := fmt.Sprintf("p%d", n), fmt.Sprintf("u%d", n)
		ops.Append(oplog.Record{ID: i + 1, Phase: oplog.PhaseLoad, Type: typ, Kind: kind, Namespace: "n", Name: name,
			UID: uid, ResourceVersion: uint64(i + 1),
			Bystander: kind == "ConfigMap", Intended: at, Started: at, Finished: at + 2*ms, Status: 201})
		entries = append(entries, ledger.Entry{Seq: uint64(i + 1), Method: "PUT", Kind: kind, Namespace: "n", Name: name,
			UID: uid, ResourceVersion: uint64(i + 1),
			Received: at + (delay-5)*ms, Applied: at + (delay-1)*ms, Responded: at + delay*ms, Status: 200,
			Effect: effects[typ]})
		for _, side := range []history.Side{history.SideApiserver, history.SideStorage} {
			if i < 10 {
				continue // patched later
			}
			content := ""
			if side == history.SideStorage {
				content = "c" + uid
			}
			states = append(states, history.StateRecord{Content: content, Side: side, Kind: kind, Namespace: "n", Name: name,
				UID: uid, ResourceVersion: uint64(i + 1), Digest: uid, Bytes: 100})
		}
	}
	must(t, ops.Close())
	must(t, history.SaveState(dir, history.FileState, slices.Values(states)))
	f, err := os.Create(filepath.Join(dir, history.FileLedger))
	must(t, err)
	err = ledger.WriteZstd(f, slices.Values(entries))
	must(t, err)
	must(t, f.Close())
	var samples []history.Sample
	for i := int64(-2); epoch+(i-1)*100*ms < c.DrainEnd; i++ {
		samples = append(samples, history.Sample{Time: epoch + i*100*ms, Goroutines: new(50.0),
			Parties: map[string]history.Use{history.PartyWatcher: {CPUSeconds: float64(i+3) / 10, RSSBytes: 5e7, Read: -1}}})
	}
	must(t, history.SaveLines(dir, history.FileSamples, samples))
	for _, name := range []string{history.FileBefore, history.FileAfter} {
		must(t, history.Save(dir, name, []byte("# TYPE go_goroutines gauge\ngo_goroutines 50\n# TYPE "+
			"k8swatch_sync_runs_total counter\nk8swatch_sync_runs_total{result=\"success\"} 1\n")))
	}
}

// Run writes the folder of a run of every cell of the scenario, each of which Cell records.
func Run(t testing.TB, dir string, f *spec.File, delay int64, baseline *result.Cell) {
	t.Helper()
	record, err := f.Record()
	must(t, err)
	started := time.Date(2026, 1, 2, 10, 0, 0, 123, time.FixedZone("", 3600))
	source, data, sets := f.Source()
	r := &history.Run{
		Schema: history.RunSchema, Scenario: record, Source: source, Sets: sets, Baseline: history.BaselineOf(baseline),
		Run: result.Run{ID: filepath.Base(dir), Scenario: f.Base().Metadata.Name, Started: started,
			Finished: started.Add(time.Minute), Seed: 1<<63 + 1},
		Environment: result.Environment{GoVersion: "go1.26", Provider: "embedded", CPUs: 2, LoadAfter: []float64{0.1}},
	}
	for _, c := range f.Cells() {
		Cell(t, history.CellDir(dir, c.ID), c.ID, c.Scenario, c.Params, delay)
		r.Cells = append(r.Cells, c.ID)
	}
	r.Run.Order = r.Cells
	must(t, history.SaveJSON(dir, history.FileRun, r))
	must(t, history.Save(dir, history.FileScenario, data))
}

// Alter edits what a folder of a run says of it.
func Alter(t testing.TB, dir string, edit func(*history.Run)) {
	t.Helper()
	r, err := history.LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	edit(r)
	if err := history.SaveJSON(dir, history.FileRun, r); err != nil {
		t.Fatal(err)
	}
}
