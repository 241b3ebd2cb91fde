package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/assets"
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
	for _, width := range []int{0, 80} {
		var out bytes.Buffer
		if err := HistoryTerminal(&out, all, TerminalOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(l, "\n"))); width > 0 && n > width {
				t.Errorf("a line of %d columns: %s", n, l)
			}
		}
		golden(t, fmt.Sprintf("history-%d.txt", width), out.Bytes())
	}
}

// TestTrends: runs are joined only where versus would compare their figures.
func TestTrends(t *testing.T) {
	_, all := savedFolder(t)
	groups, alone, err := trends(all)
	if err != nil || len(groups) != 2 || len(alone) != 0 {
		t.Fatalf("%d groups, alone %q, %v", len(groups), alone, err)
	}
	newest, older := groups[0], groups[1]
	if len(newest.runs) != 3 || len(newest.Apart) != 0 || newest.Title != "strategies" {
		t.Errorf("the newest: %d runs, %q", len(newest.runs), newest.Apart)
	}
	if len(older.runs) != 7 || strings.Join(older.Apart, "; ") != "machine cpus 64 → 2" || !strings.Contains(older.Title, "other settings or machine") {
		t.Errorf("the older: %d runs, %q, %s", len(older.runs), older.Apart, older.Title)
	}
	if n := 0; true {
		for _, l := range older.Left {
			if strings.HasPrefix(l, "strategies-003, ") && strings.HasSuffix(l, ": invalid") {
				n++
			}
		}
		if n != 10 {
			t.Errorf("%d points of the invalid run are said to be left out: %q", n, older.Left)
		}
	}
	c := older.Charts[0]
	if c.Title != "Drain time" || len(c.Data.Rows) != 7 || c.Data.Rows[0][1] != "strategies-000" || c.Data.Rows[6][1] != "strategies-006" {
		t.Errorf("%s %q", c.Title, c.Data.Rows)
	}
	if got := c.Data.Rows[3][2]; got != "invalid" {
		t.Errorf("the invalid run has %q", got)
	}
	if got := c.Data.Rows[2][2]; !strings.Contains(got, " (") {
		t.Errorf("a median of three repetitions without its interval: %q", got)
	}
	option, err := encode(c.Option)
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		XAxis  []struct{ Data []string }
		Series []struct {
			Data     []any
			MarkLine struct{ Data []any } `json:"markLine"`
		}
	}
	if err := json.Unmarshal(option, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.XAxis) != 1 || len(o.XAxis[0].Data) != 7 || o.XAxis[0].Data[3] != "2026-03-01 15:00" {
		t.Errorf("the axis says %+v", o.XAxis)
	}
	if s := o.Series[0]; s.Data[3] != "-" || s.Data[2] == "-" || len(s.MarkLine.Data) != 7 {
		t.Errorf("data %v, %d bars and marks", s.Data, len(s.MarkLine.Data))
	}
}

func TestTrendsAlone(t *testing.T) {
	dir := t.TempDir()
	savedRuns(t, dir, 3, func(i int, res *result.Results) {
		switch i {
		case 0:
			res.Scenario["repeat"] = 5.0
		case 2:
			res.Run.Scenario = "other"
		}
	})
	_, alone, err := trends(readArchive(t, dir))
	want := []string{
		"strategies-002 (other): no other run of this scenario is here.",
		"strategies-001 (strategies): no other run of this scenario is here.",
		"strategies-000 (strategies) differs from the newest run of its scenario: scenario repeat 3 → 5.",
	}
	if err != nil || strings.Join(alone, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v\n%s", err, strings.Join(alone, "\n"))
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

// TestHistoryOfManySettings: runs that all differ are not each held against all others.
func TestHistoryOfManySettings(t *testing.T) {
	base := fixture(t)
	var all []archive.Entry
	for i := range 1000 {
		res := *base
		res.Scenario = map[string]any{"load": map[string]any{"rate": float64(i)}}
		all = append(all, archive.Entry{Name: fmt.Sprint("run", i), Kind: archive.Run, Results: &res, Scenario: "s"})
	}
	before := processorTime(t)
	groups, alone, err := trends(all)
	if err != nil || len(groups) != 0 || len(alone) != len(all) || !strings.Contains(alone[999], "differs from the newest run of its scenario: scenario load.rate 0 → 999") {
		t.Fatalf("%d groups, %d alone, %v, %s", len(groups), len(alone), err, alone[len(alone)-1])
	}
	if took := processorTime(t) - before; took > 2*time.Second {
		t.Errorf("took %v of processor time", took)
	}
}

// TestHistoryOfManyPoints: 40 runs of 200 points each, half of them invalid, make no larger page
// than others, and it says what it leaves out.
func TestHistoryOfManyPoints(t *testing.T) {
	script, ok := assets.ECharts()
	if !ok {
		t.Skip("built without the chart script (internal/assets/fetch.sh)")
	}
	base := shaped(t, func(i int, c *result.Cell) {
		c.Series, c.Repetition, c.ID, c.Params["watcher.podQueueNum"] = nil, 1, fmt.Sprint("c", i), fmt.Sprint(i)
		if i%2 > 0 {
			c.Valid, c.InvalidReasons, c.Checks = false, []string{"late"}, nil
		}
	})
	var all []archive.Entry
	for i := range 240 { // of six settings
		res := *base
		res.Scenario = map[string]any{"load": map[string]any{"rate": float64(i % 6)}}
		all = append(all, archive.Entry{Name: fmt.Sprint("run", i), Kind: archive.Run, Results: &res, Scenario: "s", Started: historyStart.Add(-time.Duration(i) * time.Hour)})
	}
	var page bytes.Buffer
	if err := writeHistory(&page, all, script); err != nil {
		t.Fatal(err)
	}
	if page.Len() > mostBytes {
		t.Errorf("%d bytes, at most %d", page.Len(), mostBytes)
	}
	for _, want := range []string{`id="group1-1-1"`, "charts not drawn, so that the page stays below 3 MB", " left out of the lines", "The first 50 are listed."} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestHistoryOfManyRuns: 500 runs are read and written within seconds, to less than 3 MB.
func TestHistoryOfManyRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 60 MB")
	}
	dir := t.TempDir()
	savedRuns(t, dir, 1, nil)
	data, err := os.ReadFile(filepath.Join(dir, "strategies-000", result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 500; i++ {
		folder := filepath.Join(dir, fmt.Sprintf("strategies-%03d", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		one := bytes.Replace(data, []byte(`"started": "2026-03-01T12:00:00Z"`), fmt.Appendf(nil, `"started": "%s"`, historyStart.Add(-time.Duration(i)*time.Hour).Format(time.RFC3339)), 1)
		if err := os.WriteFile(filepath.Join(folder, result.FileName), one, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	yardstick := decoding(t, data)
	before := processorTime(t)
	all := readArchive(t, dir)
	path, err := WriteHistory(dir, all)
	if err != nil {
		t.Fatal(err)
	}
	took := processorTime(t) - before
	yardstick = (yardstick + decoding(t, data)) / 2
	t.Logf("took %v of processor time, encoding/json %v", took, yardstick)
	if took > 4*yardstick {
		t.Errorf("took %v of processor time, want at most four times encoding/json's %v", took, yardstick)
	}
	if info, err := os.Stat(path); err != nil || info.Size() >= 3_000_000 {
		t.Errorf("%v, %v", info.Size(), err)
	}
	if len(all) != 500 {
		t.Errorf("%d entries", len(all))
	}
}

// decoding is the processor time in which encoding/json reads the 500 files: the speed of
// this machine at this moment.
func decoding(t *testing.T, data []byte) time.Duration {
	t.Helper()
	before := processorTime(t)
	for range 500 {
		var all any
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
	}
	return processorTime(t) - before
}

// processorTime is what this process used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func TestHistoryInBrowser(t *testing.T) {
	dir, all := savedFolder(t)
	all[0].Name = hostile // what a folder is called is data too
	all[1].Reason = hostile
	for i := range all {
		if r := all[i].Results; r != nil && r.Environment.CPUs == 2 {
			all[i].Scenario = hostile
			r.Environment.Commit, r.Cells[0].ID, r.Cells[0].Params = hostile, hostile, map[string]string{hostile: hostile}
		}
	}
	path, err := WriteHistory(dir, all)
	if err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	for _, width := range []int{420, 1400} {
		for _, scheme := range []string{"light", "dark"} {
			b.media("", scheme)
			b.open(path, width, 900)
			b.drawAll()
			var plots []struct {
				ID    string
				Paths int
				Wide  float64
			}
			if err := json.Unmarshal([]byte(b.text(`JSON.stringify([...document.querySelectorAll(".plot")].map(p => ({ID: p.dataset.chart, Paths: p.querySelectorAll("svg path").length, Wide: p.getBoundingClientRect().right})))`)), &plots); err != nil {
				t.Fatal(err)
			}
			if len(plots) != 10 {
				t.Errorf("%d %s: %d charts, want two groups of five figures", width, scheme, len(plots))
			}
			for _, p := range plots {
				if p.Paths < 10 || p.Wide > float64(width) {
					t.Errorf("%d %s: %s has %d paths and ends at %.0f", width, scheme, p.ID, p.Paths, p.Wide)
				}
			}
			if over := b.text(`String(document.documentElement.scrollWidth - innerWidth)`); over != "0" {
				t.Errorf("%d %s: the page is %s pixels wider than the window", width, scheme, over)
			}
			if title := b.text(`document.title`); title != "watchbench: Saved runs" {
				t.Errorf("the title is %q", title)
			}
			shoot(b, fmt.Sprintf("history-%d-%s.png", width, scheme), "", width, 2200)
		}
	}
	links := 0
	for _, href := range hrefs(b) {
		if to, inside := strings.CutPrefix(href, "#"); inside {
			if b.text(fmt.Sprintf(`String(document.getElementById(%q) !== null)`, to)) != "true" {
				t.Errorf("nothing has the id %s", to)
			}
		} else if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(href))); err != nil {
			t.Errorf("a link leads to %v", err)
		} else {
			links++
		}
	}
	if links != 11 {
		t.Errorf("%d links to runs and the matrix, want 11", links)
	}
	b.quiet(path)
}
