package archive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// recordOf is a small results.json.
func recordOf(t testing.TB, started time.Time) string {
	t.Helper()
	var out bytes.Buffer
	err := result.Encode(&out, &result.Results{Schema: result.Schema, Run: result.Run{ID: "a", Scenario: "smoke", Started: started, Finished: started.Add(time.Minute)},
		Environment: result.Environment{GoVersion: "go1", Provider: "embedded", CPUs: 1},
		Cells:       []result.Cell{{ID: "only", Valid: true, Series: map[string]result.Series{"load.qps": {Unit: "1", T: []float64{1}, V: []float64{2}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for path, text := range map[string]string{
		"whole/results.json": recordOf(t, at), "whole/index.html": "x",
		"matrix-20260301-130000/matrix.json":          `{"schema": "watchbench/matrix/v1", "profile": "default", "entries": [{"row": "F2", "dir": "f02"}]}`,
		"matrix-20260301-130000/f02/results.json":     recordOf(t, at.Add(30*time.Minute)),
		"tuned/tuning.json":                           `{"schema": "watchbench/tuning/v3", "started": "2026-03-01T14:00:00Z", "scenario": "tune"}`,
		"compared/compare.html":                       "x",
		"gated-20260301-160000/gate.md":               "x",
		"half-20260301-170000/run.json":               "{}",
		"half-matrix-20260301-180000/matrix-run.json": "{}",
		"cut/results.json":                            recordOf(t, at)[:90],
		"old/results.json":                            `{"schema": "watchbench/results/v0"}`,
		"other/notes.txt":                             "x",
		".hidden/results.json":                        recordOf(t, at),
		"file.txt":                                    "x",
		"linked/real":                                 "x",
		"empty-results/results.json":                  "",
		"folder-as-file/results.json/x":               "x",
	} {
		put(t, filepath.Join(dir, path), text)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "whole"), filepath.Join(dir, "latest")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "whole", "results.json"), filepath.Join(dir, "linked", "results.json")); err != nil {
		t.Fatal(err)
	}
	all, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		if e.Results != nil && e.Results.Cells[0].Series != nil {
			t.Errorf("%s keeps its curves", e.Name)
		}
		if e.Reason == "" && e.Kind == Unknown {
			t.Errorf("%s: %q", e.Name, e.Reason)
		}
		if strings.Contains(e.Reason, dir) {
			t.Errorf("%s: the reason holds a path: %s", e.Name, e.Reason)
		}
		reason, _, _ := strings.Cut(e.Reason, ":")
		got = append(got, strings.TrimRight(fmt.Sprintf("%s|%s|%s|%s|%s", e.Name, e.Kind, e.Page, e.Scenario, reason), "|"))
	}
	want := []string{
		"half-matrix-20260301-180000|matrix|||it has no matrix.json; watchbench check writes it",
		"half-20260301-170000|run|||it has no results.json",
		"gated-20260301-160000|gate", "tuned|tuning||tune", "matrix-20260301-130000|matrix", "whole|run|index.html|smoke",
		"other|–|||it has no file of watchbench", "old|run|||results.json", "linked|–|||it has no file of watchbench", "folder-as-file|–|||it has no file of watchbench",
		"empty-results|run|||results.json", "cut|run|||results.json", "compared|comparison|compare.html",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("entries:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if m := all[4]; !m.Started.Equal(at.Add(30 * time.Minute)) {
		t.Errorf("the matrix began at %v", m.Started)
	}
	if _, err := Read(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was read")
	}
}

// TestDates: a folder without results is dated by the record it has, or by its name, whose time
// is of the machine's zone and may be followed by a number.
func TestDates(t *testing.T) {
	zone := time.Local
	defer func() { time.Local = zone }()
	time.Local = time.FixedZone("there", 8*3600)
	want := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	for path, text := range map[string]string{
		"run-20260301-170000/run.json":             "{}",
		"run-20260301-170000-2/run.json":           "{}",
		"run-20260301-170000-11/gate.md":           "x",
		"run-20991231-170000/run.json":             `{"run": {"started": "2026-03-01T09:00:00Z"}}`,
		"matrix-20260301-170000-2/matrix-run.json": "{}",
		"named/run.json":                           `{"run": {"started": "2026-03-01T17:00:00+08:00"}}`,
	} {
		put(t, filepath.Join(dir, path), text)
	}
	all, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if !e.Started.Equal(want) {
			t.Errorf("%s began at %v, want %v", e.Name, e.Started, want)
		}
	}
	for _, name := range []string{"plain", "20260301-17000", "run-20261301-170000", "run-20260301-170000-b"} {
		if at := stamp(name); !at.IsZero() {
			t.Errorf("%s is dated %v", name, at)
		}
	}
}

// FuzzRead: whatever a record's file holds, it is one entry, with the record or a reason, and
// the run beside it is read.
func FuzzRead(f *testing.F) {
	good := recordOf(f, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	names := []string{result.FileName, result.MatrixFile, result.TuningFile, runFile, "compare.json"}
	for i := range names {
		f.Add(uint8(i), good)
		f.Add(uint8(i), good[:len(good)/2])
		f.Add(uint8(i), "")
		f.Add(uint8(i), `{"schema": "watchbench/matrix/v1", "entries": [{"dir": "../../x"}, {"dir": "/etc"}]}`)
		f.Add(uint8(i), `[null`)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "good", result.FileName), good)
		put(t, filepath.Join(dir, "odd", names[int(which)%len(names)]), text)
		all, err := Read(dir)
		if err != nil || len(all) != 2 {
			t.Fatalf("%d entries, %v", len(all), err)
		}
		for _, e := range all {
			if e.Name == "good" && (e.Results == nil || e.Reason != "") {
				t.Errorf("the run beside it: %q", e.Reason)
			}
			if e.Kind == Run && (e.Results == nil) == (e.Reason == "") {
				t.Errorf("%s has neither record nor reason, or both: %q", e.Name, e.Reason)
			}
		}
	})
}
