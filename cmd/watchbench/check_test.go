package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
)

// What is checked a second time gets the exit code of the run, and says whether the saved verdicts still stand.
func TestCheckCommand(t *testing.T) {
	good := func(*testing.T, string) {}
	for _, tc := range []struct {
		name string
		sets []string
		edit func(t *testing.T, dir string)
		code int
		want string
	}{
		{"a good run", nil, good, exitOK, "results.json agrees with the record"},
		{"an invalid cell", nil, func(t *testing.T, dir string) {
			path := history.CellDir(dir, "keyed")
			c, err := history.LoadCell(path)
			if err != nil {
				t.Fatal(err)
			}
			c.Planned = 1000
			if err := history.SaveJSON(path, history.FileCell, c); err != nil {
				t.Fatal(err)
			}
		}, exitInvalid, "keyed is invalid: "},
		{"an interrupted run", nil, func(t *testing.T, dir string) {
			assesstest.Alter(t, dir, func(r *history.Run) { r.Cells, r.Run.Interrupted = r.Cells[:1], true })
		}, exitInvalid, "not whole (interrupted): 1 of 2 cells missing: dedup"},
		{"a killed run", nil, func(t *testing.T, dir string) {
			assesstest.Alter(t, dir, func(r *history.Run) { r.Cells, r.Run.Finished = r.Cells[:1], r.Run.Finished.AddDate(-2025, 0, -1) })
		}, exitInvalid, "1 of 2 cells missing: dedup"},
		{"a threshold", []string{"thresholds.freshness.p99=< 1ms"}, good, exitCheck, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			assesstest.Run(t, dir, assesstest.Scenario(t, "plain", "", append(tc.sets, "matrix.watcher.strategy=keyed,dedup")...), 30, nil)
			tc.edit(t, dir)
			for range 2 { // the first writes results.json, the second compares with it
				out, _, code, err := invoke(t, "check", dir)
				if code != tc.code {
					t.Errorf("exit code %d, want %d: %v\n%s", code, tc.code, err, out)
				}
				tc.want, out = strings.TrimSpace(tc.want), strings.ReplaceAll(out, " is written", " agrees with the record")
				if !strings.Contains(out, tc.want) {
					t.Errorf("lacks %q:\n%s", tc.want, out)
				}
			}
			if out, _, _, _ := invoke(t, "check", history.CellDir(dir, "keyed")); strings.Contains(out, "pass") != (tc.name != "an invalid cell") {
				t.Errorf("the cell alone:\n%s", out)
			}
			out, _, code, err := invoke(t, "report", dir)
			if code != exitOK || strings.Contains(out, "not whole") != strings.Contains(tc.want, "missing") {
				t.Errorf("report: %d, %v\n%s", code, err, out)
			}
		})
	}
}

// Differences from what another commit recorded are said to be that; without differences it does not matter.
func TestCheckNamesAnotherCommit(t *testing.T) {
	const other = "recorded by commit abc; this program is of commit "
	dir := t.TempDir()
	assesstest.Run(t, dir, assesstest.Scenario(t, "plain", ""), 30, nil)
	assesstest.Alter(t, dir, func(r *history.Run) { r.Environment.Commit = "abc" })
	for range 2 {
		if out, _, code, err := invoke(t, "check", dir); code != exitOK || strings.Contains(out, other) {
			t.Fatalf("%d, %v\n%s", code, err, out)
		}
	}
	res, err := result.LoadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	res.Cells[0].Load.Done++
	if err := result.Save(filepath.Join(dir, result.FileName), res); err != nil {
		t.Fatal(err)
	}
	out, _, code, _ := invoke(t, "check", dir)
	if code != exitCheck || !strings.Contains(out, "load.done: ") || !strings.Contains(out, other) {
		t.Errorf("%d\n%s", code, out)
	}
}

// A folder that cannot be read is not one that lacks something.
func TestCheckNamesTheCause(t *testing.T) {
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		loop:                     "too many levels of symbolic links",
		loop + "/../none":        "too many levels",
		t.TempDir() + "/none":    "no such folder; name the folder of a run",
		file(t, "results", "{}"): "is not a folder; name the folder of a run",
	} {
		_, _, code, err := invoke(t, "check", dir)
		if err == nil || code != exitInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d, %v, want %q", dir, code, err, want)
		}
	}
}

// The folder of a fault matrix is reported as one.
func TestReportMatrix(t *testing.T) {
	dir := t.TempDir()
	m := &result.Matrix{Schema: result.MatrixSchema, Profile: "default", Entries: []result.MatrixEntry{{Row: "F1", Title: "slow", Scenario: "f01-slow"}}}
	if err := render.WriteMatrix(dir, m); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, result.MatrixFile)} {
		out, _, code, err := invoke(t, "report", path, "--format", "table,md")
		if code != exitOK || !strings.Contains(out, "f01-slow") && !strings.Contains(out, "slow") {
			t.Errorf("%s: %d, %v\n%s", path, code, err, out)
		}
	}
	if _, errOut, code, err := invoke(t, "report", dir, "--format", "html"); code != exitOK || errOut != filepath.Join(dir, "index.html")+"\n" {
		t.Errorf("%d, %v, %s", code, err, errOut)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "index.html")); err != nil || !strings.Contains(string(page), "f01-slow") {
		t.Errorf("the page lacks the scenario: %v", err)
	}
	if _, _, code, err := invoke(t, "report", dir, "--format", "csv"); code != exitInput || !strings.Contains(err.Error(), "a matrix, which has no format csv; use table, json, md or html") {
		t.Errorf("%d, %v", code, err)
	}
}

// TestCheckMerge: the op logs of shards become one; of one that was cut, what it has, and the exit code says so.
func TestCheckMerge(t *testing.T) {
	dir := t.TempDir()
	into, parts := filepath.Join(dir, "ops"), []string{}
	for i := range 2 {
		parts = append(parts, filepath.Join(dir, fmt.Sprint("part", i)))
		w, err := oplog.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		w.Append(oplog.Record{ID: int64(i + 1), Shard: i + 1, Phase: oplog.PhaseLoad, Status: 201, Kind: "Pod", Name: "p", Type: oplog.TypeCreate, Finished: int64(10 - i)})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	merge := func() (string, int, error) {
		out, _, code, err := invoke(t, append([]string{"check", "--merge", into}, parts...)...)
		return out, code, err
	}
	if out, code, err := merge(); code != exitOK || out != parts[0]+": generator 1, 1 operation\n"+parts[1]+": generator 2, 1 operation\n" {
		t.Fatalf("exit code %d, %v, %s", code, err, out)
	}
	var ids []int64
	for r, err := range oplog.ReadFile(into) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, []int64{2, 1}) {
		t.Errorf("merged %d", ids)
	}
	parts = parts[:1]
	if err := os.WriteFile(parts[0], []byte(`{"id":7,"shard":1,"phase":"load","type":"create","thread":0,"kind":"Pod","name":"p","intended":1,"started":1,"finished":1,"status":201}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, code, err := merge(); code != exitError || err == nil || !strings.Contains(err.Error(), parts[0]+" has no end mark") {
		t.Errorf("cut: exit code %d, %v", code, err)
	}
	notes := filepath.Join(dir, "notes")
	if err := os.WriteFile(notes, []byte("important\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{into}, {into, filepath.Join(dir, "none")}, {notes, into}, {into, notes}} {
		if _, _, code, err := invoke(t, append([]string{"check", "--merge"}, args...)...); code != exitInput {
			t.Errorf("%q: exit code %d, %v", args, code, err)
		}
	}
	if text, err := os.ReadFile(notes); string(text) != "important\n" {
		t.Errorf("%q, %v", text, err)
	}
}
