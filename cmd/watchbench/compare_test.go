package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// inFolderOfRuns enters an empty folder and returns what saves a run there: the fixture of the reports, changed.
func inFolderOfRuns(t *testing.T) func(dir string, change func(*result.Results)) {
	t.Helper()
	fixture, err := filepath.Abs("../../reports/render/testdata/fixture")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	return func(dir string, change func(*result.Results)) { t.Helper(); saveRun(t, fixture, dir, change) }
}

func saveRun(t *testing.T, fixture, dir string, change func(*result.Results)) {
	t.Helper()
	res, err := result.LoadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(res)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := result.Save(filepath.Join(dir, result.FileName), res); err != nil {
		t.Fatal(err)
	}
}

func TestCompare(t *testing.T) {
	savedRun := inFolderOfRuns(t)
	savedRun("out/a", nil)
	savedRun("out/b", func(res *result.Results) {
		res.Run.ID = "b"
		for i := range res.Cells {
			res.Cells[i].Watcher.CPUMicrosPerEvent = new(2 * *res.Cells[i].Watcher.CPUMicrosPerEvent)
		}
	})
	out, _, code, err := invoke(t, "compare", "out/a", "out/b")
	if code != exitOK {
		t.Fatal(err)
	}
	for _, want := range []string{"compare a and b", "A  a    strategies", "5 worse (most: watcher.cpuMicrosPerEvent of ", ", 2 ×)", "the same scenario, machine, seed and programs"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	// The other way round, and by files.
	if out, _, code, err = invoke(t, "compare", "out/b/results.json", "out/a/results.json", "--metrics", "watcher.cpu*"); code != exitOK || !strings.Contains(out, "5 better") || strings.Contains(out, "freshness") {
		t.Errorf("%v:\n%s", err, out)
	}
	out, _, code, err = invoke(t, "compare", "out/a", "out/b", "--format", "json")
	var c struct {
		Schema  string
		Figures []any
	}
	if code != exitOK || json.Unmarshal([]byte(out), &c) != nil || c.Schema != "watchbench/comparison/v2" || len(c.Figures) == 0 {
		t.Errorf("%v: %.200s", err, out)
	}
	out, stderr, code, err := invoke(t, "compare", "out/a", "out/b", "--out", "new/dir")
	if code != exitOK || !strings.Contains(out, "compare a and b") {
		t.Errorf("%v, prints %q", err, out)
	}
	for _, name := range []string{"compare.html", "compare.md", "compare.json"} {
		if info, err := os.Stat(filepath.Join("new/dir", name)); err != nil || info.Size() < 1000 || !strings.Contains(stderr, name) {
			t.Errorf("%s: %v; said %q", name, err, stderr)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	savedRun := inFolderOfRuns(t)
	savedRun("out/run-1", nil)
	if err := os.MkdirAll("out/other", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("out/other/results.json", []byte(`{"schema": "watchbench/results/v2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"out/run-1"}, "watchbench compare needs two runs"},
		{[]string{"out/run-1", "out/run-1", "out/run-1"}, "compare more in pairs"},
		{[]string{"out/run-1", "out/run-2"}, "did you mean out/run-1?"},
		{[]string{"out/run-1", "."}, "the folder has no results.json"},
		{[]string{"out/run-1", "out/other"}, `schema is "watchbench/results/v2"`},
		{[]string{"out/run-1", "out/run-1", "--metrics", "freshnes.p99"}, "did you mean freshness.p99?"},
		{[]string{"out/run-1", "out/run-1", "--format", "pdf"}, "--format pdf is not known; use one of table, html"},
		{[]string{"out/run-1", "out/none", "--out", "files"}, "no such file or folder"},
		{[]string{"out/run-1", "out/run-1", "--out", "out/run-1/results.json"}, "name a folder that can be written"},
	} {
		out, _, code, err := invoke(t, append([]string{"compare"}, tt.args...)...)
		if code != exitInput || !strings.Contains(err.Error(), tt.want) || out != "" {
			t.Errorf("%q: exit code %d, %v, want %q; prints %q", tt.args, code, err, tt.want, out)
		}
	}
	var left []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			left = append(left, path)
		}
		return err
	})
	if err != nil || !slices.Equal(left, []string{"out/other/results.json", "out/run-1/results.json"}) {
		t.Errorf("left behind: %q, %v", left, err)
	}
	if _, err := os.Stat("files"); err == nil {
		t.Error("a folder is left behind")
	}
}

func TestLabels(t *testing.T) {
	for _, tt := range []struct{ paths, want string }{
		{"out/a out/b", "a b"}, {"out/a/results.json out/b/", "a b"}, {"x/run y/run", "x/run y/run"}, {"x/run/results.json y/run", "x/run y/run"},
	} {
		if got := strings.Join(labels(strings.Fields(tt.paths)), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.paths, got, tt.want)
		}
	}
}
