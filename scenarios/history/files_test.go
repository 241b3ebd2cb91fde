package history

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestRecordRoundTrip: what is saved is what is loaded.
func TestRecordRoundTrip(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cell := &Cell{Schema: CellSchema, ID: "a=1", Repetition: 2, Scenario: spec.Default(), Seed: 7, CPUs: 2, MachineBusy: new(0.25), Watcher: WatcherRun{Own: true, ExitCode: new(0)}}
	cell.Scenario.Load.Duration, cell.Scenario.Limits.MinEvents = spec.Duration(90e9), 0.8
	cell.Scenario.Events = []spec.Event{{What: "sigkill", At: spec.Moment{From: 1e9, To: 2e9}}}
	deeds := []Deed{{What: "sigkill", Began: 1, Ended: 2, Seen: json.RawMessage(`{"n":3}`)}}
	samples := []Sample{{Time: 1, Parties: map[string]Use{PartyWatcher: {CPUSeconds: 0.5, RSSBytes: 7, Read: -1}}, Goroutines: new(9.0)}, {Time: 2}}
	marks := []Mark{{Time: 3, What: MarkStarted, Note: "first"}}
	must(SaveJSON(dir, FileCell, cell))
	must(SaveLines(dir, FileDeeds, deeds))
	must(SaveLines(dir, FileSamples, samples))
	must(SaveLines(dir, FileMarks, marks))
	must(Save(dir, FileAfter, []byte("a_total{kind=\"Pod\"} 4\n")))

	gotCell, err := LoadCell(dir)
	must(err)
	gotDeeds, err := LoadLines[Deed](dir, FileDeeds)
	must(err)
	gotSamples, err := LoadLines[Sample](dir, FileSamples)
	must(err)
	gotMarks, err := LoadLines[Mark](dir, FileMarks)
	must(err)
	after, err := LoadScrape(dir, FileAfter)
	must(err)
	for _, pair := range [][2]any{{cell, gotCell}, {deeds, gotDeeds}, {samples, gotSamples}, {marks, gotMarks}} {
		if d := cmp.Diff(pair[0], pair[1]); d != "" {
			t.Errorf("(-saved +loaded):\n%s", d)
		}
	}
	if v := after.Sum("a_total", "kind", "Pod"); v == nil || *v != 4 {
		t.Errorf("after.prom: %v", value(v))
	}
	if m := gotSamples[0].Memory(); m == nil || *m != 7 || gotSamples[1].Memory() != nil {
		t.Errorf("memory %v and %v", value(m), value(gotSamples[1].Memory()))
	}
	seen, err := Deeds[struct{ N int }](gotDeeds, "sigkill")
	if err != nil || len(seen) != 1 || seen[0].N != 3 {
		t.Errorf("%+v, %v", seen, err)
	}
}

// TestMissingFiles: what a watcher or a former version did not write is nil; only cell.json must be there.
func TestMissingFiles(t *testing.T) {
	dir := t.TempDir()
	deeds, err1 := LoadLines[Deed](dir, FileDeeds)
	samples, err2 := LoadLines[Sample](dir, FileSamples)
	marks, err3 := LoadLines[Mark](dir, FileMarks)
	before, err4 := LoadScrape(dir, FileBefore)
	if err := errors.Join(err1, err2, err3, err4); err != nil || deeds != nil || samples != nil || marks != nil || before != nil {
		t.Errorf("%v %v %v %v, %v", deeds, samples, marks, before, err)
	}
	ops, err1 := Ops(dir)
	state, err2 := State(dir, FileState)
	led, err3 := Ledger(dir)
	if err := errors.Join(err1, err2, err3); err != nil || ops != nil || state != nil || led != nil {
		t.Errorf("a sequence of a file that is not there: %v", err)
	}
	var format *FormatError
	if _, err := LoadCell(dir); !errors.As(err, &format) || !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(format.File, FileCell) {
		t.Errorf("got %v", err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(FileCell, `{"schema":"watchbench/cell/v9"}`)
	if _, err := LoadCell(dir); !errors.As(err, &format) || !strings.Contains(err.Error(), CellSchema) {
		t.Errorf("got %v", err)
	}
	write(FileCell, `{"schema":"watchbench/cell/v1","from":"the future"}`)
	if _, err := LoadCell(dir); err == nil || !strings.Contains(err.Error(), `unknown field "from": it was recorded by another version`) {
		t.Errorf("got %v", err)
	}
	write(FileBefore, "<html>")
	if _, err := LoadScrape(dir, FileBefore); !errors.As(err, &format) || format.File != filepath.Join(dir, FileBefore) {
		t.Errorf("got %v", err)
	}
}

// TestSaveReplaces: the former file stays whole until the new one is, so that a run that is killed while it rewrites
// its record still has one.
func TestSaveReplaces(t *testing.T) {
	dir := t.TempDir()
	path, former := filepath.Join(dir, FileRun), filepath.Join(dir, "former")
	if err := SaveJSON(dir, FileRun, &Run{Schema: RunSchema, Source: "old"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, former); err != nil {
		t.Skip(err) // a file system without links
	}
	want, err := os.ReadFile(former)
	if err != nil {
		t.Fatal(err)
	}
	if err := SaveJSON(dir, FileRun, &Run{Schema: RunSchema, Source: "new"}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(former); err != nil || string(got) != string(want) {
		t.Errorf("the former file was written over, %v:\n%s", err, got)
	}
	if r, err := LoadRun(dir); err != nil || r.Source != "new" {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
