package render

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/archive"
	"github.com/watchbench/watchbench/reports/result"
)

// historyStart is when the first of the tests' runs began.
var historyStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// savedRuns writes n runs of the fixture's scenario, an hour apart and each a little slower;
// edit changes the i-th.
func savedRuns(t testing.TB, dir string, n int, edit func(i int, res *result.Results)) {
	t.Helper()
	for i := range n {
		res := fixture(t)
		name := fmt.Sprintf("strategies-%03d", i)
		res.Run.ID, res.Run.Started = name, historyStart.Add(time.Duration(i)*time.Hour)
		res.Run.Finished = res.Run.Started.Add(4 * time.Minute)
		for j := range res.Cells {
			c := &res.Cells[j]
			if v := c.Handler.DrainSeconds; v != nil {
				c.Handler.DrainSeconds = new(*v * (1 + 0.01*float64(i)))
			}
		}
		if edit != nil {
			edit(i, res)
		}
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := result.Save(filepath.Join(folder, result.FileName), res); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte("<!doctype html>"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// savedFolder has ten runs: the fourth is invalid, the last three are of another machine; a
// matrix and two broken folders are beside them.
func savedFolder(t *testing.T) (dir string, all []archive.Entry) {
	t.Helper()
	dir = t.TempDir()
	savedRuns(t, dir, 10, func(i int, res *result.Results) {
		if i == 3 {
			for j := range res.Cells {
				res.Cells[j].Valid, res.Cells[j].InvalidReasons, res.Cells[j].Checks = false, []string{"the machine stalled"}, map[string]result.Check{}
			}
		}
		if i >= 7 {
			res.Environment.CPUs = 64
		}
	})
	m := matrixOfAll()
	folder := filepath.Join(dir, "matrix-20260302-120000")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(WriteMatrix(folder, m), WriteMatrixPage(folder, m)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cut-20260302-130000": `{"schema": "watchbench/results/v1", "run": `, "old-20260302-140000": `{"schema": "watchbench/results/v0"}`} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, result.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, readArchive(t, dir)
}

func readArchive(t testing.TB, dir string) []archive.Entry {
	t.Helper()
	all, err := archive.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestHistoryTerminal(t *testing.T) {
	_, all := savedFolder(t)
	var out bytes.Buffer
	if err := HistoryTerminal(&out, all, TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"strategies-009 ", "old-20260302-140000: ", "Folders: 13; not readable: 2."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
}

// TestHistoryKeepsForeignFiles: a page that somebody else wrote is left alone.
func TestHistoryKeepsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	savedRuns(t, dir, 2, nil)
	all := readArchive(t, dir)
	path, err := WriteHistory(dir, all)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := WriteHistory(dir, all); err != nil {
		t.Errorf("its own page is not replaced: %v", err)
	}
	second, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two renderings of one folder differ, %v", err)
	}
	if err := os.WriteFile(path, []byte("<p>mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteHistory(dir, all); !errors.Is(err, ErrForeign) {
		t.Errorf("error %v", err)
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != "<p>mine" {
		t.Errorf("the file is now %.40q, %v", have, err)
	}
}
