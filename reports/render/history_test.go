package render

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

// historyStart is when the first of the tests' runs began.
var historyStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// savedRuns writes n runs of the fixture's scenario, an hour apart and each a little slower; edit changes the i-th.
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

// TestHistory: runs, matrices and broken folders are listed, the newest first, with links that lead somewhere.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	savedRuns(t, dir, 3, func(i int, res *result.Results) {
		for j := range res.Cells {
			if i == 1 {
				res.Cells[j] = late(res.Cells[j])
				res.Cells[j].Checks = nil
			}
		}
	})
	for name, file := range map[string]string{"cut-1": `{"schema": "watchbench/results/v1", "run": `, "old-1": `{"schema": "watchbench/results/v0"}`, "empty": ""} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if file != "" {
			if err := os.WriteFile(filepath.Join(dir, name, result.FileName), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	folder := filepath.Join(dir, "matrix-20260302-120000")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteMatrix(folder, matrixOfAll()); err != nil {
		t.Fatal(err)
	}
	d := listed(t, dir)
	var got []string
	for _, r := range d.Sections[0].Table.Rows {
		got = append(got, r[0].Text+" "+r[1].Text+" "+r[0].Link)
	}
	want := []string{"strategies-002 failed ", "strategies-001 invalid ", "strategies-000 failed ",
		"old-1 not readable ", "matrix-20260302-120000 failed ", "cut-1 not readable "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var out bytes.Buffer
	if err := DocumentTerminal(&out, d, TerminalOptions{}); err != nil || !strings.Contains(out.String(), `schema is "watchbench/results/v0"`) || strings.Contains(out.String(), dir) {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

func listed(t *testing.T, dir string) *Document {
	t.Helper()
	d, err := History(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
