package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
