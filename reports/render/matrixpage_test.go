package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// savedMatrix is a matrix's folder: F0, F2 and F1, which is invalid, have their runs; the
// folder of F8 is gone, that of F15 is broken, and F19 names one outside.
func savedMatrix(t *testing.T, m *result.Matrix) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range m.Entries {
		e := &m.Entries[i]
		switch e.Row {
		case "F0", "F1", "F2":
			e.Dir = e.Scenario + "-20260301"
			if e.Cell == "" {
				e.Cell = "only"
			}
			saveCell(t, filepath.Join(dir, e.Dir), e)
		case "F8":
			e.Dir = "f08-close-20260301"
		case "F15":
			e.Dir = "f15-kill-50-20260301"
			if err := os.Mkdir(filepath.Join(dir, e.Dir), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, e.Dir, result.FileName), []byte(`{"schema": "watch`), 0o600); err != nil {
				t.Fatal(err)
			}
		case "F19":
			e.Dir = "../" + e.Scenario
		}
	}
	if err := os.WriteFile(filepath.Join(dir, m.Entries[2].Dir, "index.html"), []byte("<!doctype html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// saveCell writes a run of one cell, which fails a check.
func saveCell(t *testing.T, dir string, e *result.MatrixEntry) {
	t.Helper()
	res := fixture(t)
	i := slices.IndexFunc(res.Cells, func(c result.Cell) bool { return c.Checks["G2"].Verdict == result.Fail && len(c.Series) > 0 })
	c := res.Cells[i]
	c.ID, c.Robustness = e.Cell, &result.Robustness{Row: e.Row, Columns: map[string]result.Column{}, Moments: []result.Moment{
		{T: -1.5, What: "started"}, {T: 1, What: "refuse(from=1s,for=3s)", Until: new(4.0)}, {T: 2.5, What: "sigkill"}, {T: 3, What: "tamper-edit", Until: new(3.2), Count: 3},
		{T: 5, What: "load ends"}, {T: 9, What: "diverged", Note: "<img src=x onerror=alert(1)>"},
	}}
	res.Cells, res.Run.Order = []result.Cell{c}, []string{c.ID}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := result.Save(filepath.Join(dir, result.FileName), res); err != nil {
		t.Fatal(err)
	}
}

func matrixPageOf(t *testing.T, dir string, m *result.Matrix) string {
	t.Helper()
	if err := WriteMatrixPage(dir, m); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, matrixPageFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMatrixPage(t *testing.T) {
	m := matrixOfAll()
	dir := savedMatrix(t, m)
	page := matrixPageOf(t, dir, m)
	for _, want := range []string{
		"8 faults in 9 cells, watcher profile default: asserted guarantees failed in 3: F1 f01-slow (O), F2 f02-refuse (T) and F3 f03-blackhole (X).",
		"2 of 9 prove nothing: F7 f07-poison 422 and F9 f09-silent.", "1 scenario was run again because cells proved nothing (at most 2 may be).", "19 rows are not run. 3 rows are not in this table: make robustness has them.",
		"pass (412)", "no power (12 of 30)", "FAILED, INVALID", "a Go test of notifications",
		"The folder f08-close-20260301 is gone, or has no results.json: no timeline.", "results.json of the folder f15-kill-50-20260301 cannot be read: ",
		"../f19-burst is not the name of a folder of this matrix.", "This cell proves nothing, and its curves are not measurements: the generator was 900 ms late", "Load and storage rate (invalid)",
		"SIGKILL to the watcher", "rows edited in storage (3)", "refuse(from=1s,for=3s)", "request 2214", "kills during the first lists",
		"Every watcher exits cleanly when asked to, none ends by itself or panics.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, dir) || strings.Contains(page, "<img src=x") {
		t.Error("the page holds the machine's paths, or what the record put in")
	}
	if again := matrixPageOf(t, dir, m); again != page {
		t.Error("two renderings of one folder differ")
	}
}

func TestMatrixAnswer(t *testing.T) {
	held := result.MatrixEntry{Row: "F2", Scenario: "a", Columns: map[string]result.Column{"C": col(result.Pass, "")}}
	invalid := result.MatrixEntry{Row: "F3", Scenario: "b", Invalid: []string{"never fired"}}
	expected := result.MatrixEntry{Row: "F4", Scenario: "c", Expected: []string{"L"}, Columns: map[string]result.Column{"L": col(result.Fail, "")}}
	for name, tc := range map[string]struct {
		m       result.Matrix
		want    string
		outcome state
	}{
		"held":     {result.Matrix{Profile: "default", Seconds: 1260, Entries: []result.MatrixEntry{held}}, "1 fault in 1 cell, watcher profile default, in 21 min: every asserted guarantee held.", statePassed},
		"invalid":  {result.Matrix{Profile: "default", Entries: []result.MatrixEntry{invalid}}, "1 fault in 1 cell, watcher profile default: no cell proves anything. 1 of 1 prove nothing: F3 b.", stateInvalid},
		"partly":   {result.Matrix{Profile: "default", Entries: []result.MatrixEntry{held, invalid}}, "2 faults in 2 cells, watcher profile default: every asserted guarantee held in the cells that prove something. 1 of 2 prove nothing: F3 b.", stateInvalid},
		"expected": {result.Matrix{Profile: "legacy", Seconds: 60, Entries: []result.MatrixEntry{expected}}, "1 fault in 1 cell, watcher profile legacy, in 60 s: every cell fails as expected of this profile.", statePassed},
		"nothing":  {result.Matrix{Profile: "default", Entries: []result.MatrixEntry{{Row: "F1", NotRun: true}}}, "Nothing was run, so nothing is known.", stateInvalid},
		"retried":  {result.Matrix{Profile: "default", Entries: []result.MatrixEntry{held}, Retries: make([]result.Retry, 3)}, "1 fault in 1 cell, watcher profile default: every asserted guarantee held. 3 scenarios were run again because cells proved nothing (at most 2 may be).", stateInvalid},
	} {
		if got := matrixAnswer(&tc.m); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
		}
		if got := sumUp(&tc.m).state(&tc.m); got != tc.outcome {
			t.Errorf("%s: %s, want %s", name, got, tc.outcome)
		}
	}
}

// TestMatrixPageIsSmall: a whole matrix is one file of less than 3 MB, script included.
func TestMatrixPageIsSmall(t *testing.T) {
	m := &result.Matrix{Schema: result.MatrixSchema, Profile: "default"}
	c := fixture(t).Cells[0]
	c.Valid, c.Robustness = true, &result.Robustness{}
	c.Series = map[string]result.Series{}
	for _, name := range []string{result.SeriesLoadQPS, result.SeriesStorageQPS, result.SeriesQueueDepth, result.SeriesWatcherRSS} {
		var s result.Series
		for i := range 3000 {
			s.T, s.V = append(s.T, float64(i)/7), append(s.V, float64(i*i%7919)/3)
		}
		c.Series[name] = s
	}
	for i := range 400 {
		c.Robustness.Moments = append(c.Robustness.Moments, result.Moment{T: float64(i) * 1.003, What: "sigkill", Note: "after its first list"})
	}
	c.Checks = map[string]result.Check{"G1": many(1).Cells[0].Checks["G1"], "G2": many(1).Cells[0].Checks["G1"]}
	for i := range 64 {
		e := result.MatrixEntry{Row: fmt.Sprintf("F%d", i%29), Scenario: fmt.Sprintf("f%02d-some-fault", i), Cell: "only", Columns: map[string]result.Column{}}
		for _, c := range result.MatrixColumns {
			e.Columns[c.ID] = col(result.Pass, "412 of them")
		}
		for range 20 {
			e.Facts = append(e.Facts, result.Fact{Name: "rows that differ after a restart", Value: 12, Limit: new(14.0), Column: "C", OK: true, Detail: "as many as without a fault"})
		}
		m.Entries = append(m.Entries, e)
	}
	var out bytes.Buffer
	if err := writePage(&out, matrixPage(m, func(*result.MatrixEntry) SavedCell { return SavedCell{Cell: &c} }), bytes.Repeat([]byte("x"), 1<<20)); err != nil {
		t.Fatal(err)
	}
	if out.Len() >= 3_000_000 {
		t.Errorf("the page has %d bytes", out.Len())
	}
	if text := out.String(); !strings.Contains(text, "not drawn, so that the page stays below 3 MB") || !strings.Contains(text, `id="cell64-plot1"`) {
		t.Errorf("of %d bytes, the page does not say what it leaves out (%v), or lacks the first chart of a cell", out.Len(), strings.Contains(text, "not drawn"))
	}
}

// TestMatrixPageInBrowser: a click on a cell shows its timeline, drawn, and no other; every
// link leads somewhere; the definitions show on focus.
func TestMatrixPageInBrowser(t *testing.T) {
	m := matrixOfAll()
	m.Entries[2].Columns["C"] = result.Column{Verdict: result.Fail, Detail: `"><script>alert(1)</script>`}
	dir := savedMatrix(t, m)
	page := matrixPageOf(t, dir, m)
	path := filepath.Join(dir, matrixPageFile)
	if !strings.Contains(page, "echarts") {
		t.Skip("built without the chart script")
	}
	b := startBrowser(t)
	for _, width := range []int{420, 1400} {
		for _, scheme := range []string{"light", "dark"} {
			b.media("", scheme)
			b.open(path, width, 900)
			const shown = `JSON.stringify([...document.querySelectorAll(".timeline")].filter(s => s.offsetWidth > 0).map(s => s.id))`
			if got := b.text(shown); got != "[]" {
				t.Errorf("%d %s: before a click, %s is shown", width, scheme, got)
			}
			b.eval(`document.querySelectorAll("#matrix tbody tr")[2].querySelector("td.bad a").focus()`, nil)
			b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}, nil)
			b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}, nil)
			b.settle(shown + ` === '["cell3"]'`)
			if got := b.text(shown); got != `["cell3"]` {
				t.Errorf("%d %s: after Enter on F2's T, %s is shown", width, scheme, got)
			}
			b.drawAll()
			if n := b.text(`String(document.querySelectorAll("#cell3 .plot svg").length)`); n != "3" {
				t.Errorf("%d %s: %s charts", width, scheme, n)
			}
			shoot(b, fmt.Sprintf("matrix-%d-%s.png", width, scheme), "#cell3", width, 1300)
		}
	}
	b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	b.open(path+"#cell3", 1400, 900) // as a link from elsewhere
	b.settle(`document.querySelectorAll("#cell3 .plot svg").length === 3`)
	if n := b.text(`String(document.querySelectorAll("#cell3 .plot svg").length)`); n != "3" {
		t.Errorf("opened at a cell, %s of its charts are drawn", n)
	}
	for _, href := range hrefs(b) {
		if to, inside := strings.CutPrefix(href, "#"); inside {
			if b.text(fmt.Sprintf(`String(document.getElementById(%q) !== null)`, to)) != "true" {
				t.Errorf("nothing has the id %s", to)
			}
		} else if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(href))); err != nil {
			t.Errorf("a link leads to %v", err)
		}
	}
	b.quiet(path)
}

// hrefs are the addresses of all links.
func hrefs(b *browser) (all []string) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.text(`JSON.stringify([...new Set([...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href")))])`)), &all); err != nil {
		b.t.Fatal(err)
	}
	if len(all) == 0 {
		b.t.Error("the page has no links")
	}
	return all
}
