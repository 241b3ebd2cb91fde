package render

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// besides is a run of the scenario reference with two rows of a pair, and an invalid one.
func besides() *result.Results {
	cell := func(watcher, load string, qps, all float64, bins int) result.Cell {
		c := drained(float64(bins) / 2)
		c.ID, c.Params = watcher+"-"+load, map[string]string{"watcher": watcher, "load": load}
		c.Load = result.Load{Model: "closed", QPS: qps, Done: int64(qps) * 10, DurationS: 10}
		s := result.Series{Unit: "requests/s"}
		for i := range bins {
			s.T, s.V = append(s.T, float64(i)/2), append(s.V, all)
		}
		c.Series = map[string]result.Series{result.SeriesStorageQPS: s}
		return c
	}
	before := cell("before", "before-20", 290, 32, 62)
	before.Cut, before.Handler.DrainProjected = true, true
	bad := cell("legacy-after", "after-20", 100, 50, 40)
	bad.Valid, bad.InvalidReasons = false, []string{"storage <late>\x1b[31m"}
	return &result.Results{
		Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "reference"},
		Cells: []result.Cell{before, cell("after", "after-20", 200, 208, 40), bad},
	}
}

// TestBeside: every format has the published figures beside the measured ones. A projected
// drain is marked, an unknown rate is none, an invalid cell has no figures, and what it says
// is escaped.
func TestBeside(t *testing.T) {
	show := func(write func(io.Writer, *result.Results) error, res *result.Results) string {
		var b bytes.Buffer
		if err := write(&b, res); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	md := show(Markdown, besides())
	for _, want := range []string{
		"### Beside the published tables", "| before | 20 | published | 298.0 | 0.0 | 360.0 | 89.8 | 21.2 |",
		"| before | 20 | k8s-watch | 290.0 | ", "| ~31.0 proj. |", "| k8s-watch ÷ published | 0.97 |", "| ~0.08",
		"✅ holds", "⚠️ not measured", "over about 300 s before and 60 s after,", "legacy after 20 threads is invalid: storage &lt;late&gt;",
		"6.5 × the storage rate; published 5.6 ×",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	page := show(HTML, besides())
	if !strings.Contains(page, `<section id="beside">`) || strings.Contains(page, "<late>") {
		t.Error("the page has no comparison, or what a cell said unescaped")
	}
	if text := show(func(w io.Writer, r *result.Results) error { return Terminal(w, r, TerminalOptions{}) }, besides()); !strings.Contains(text, "Beside the published tables") || !strings.Contains(text, "published 5.6 ×") || strings.Contains(text, "\x1b") {
		t.Errorf("the terminal has no comparison:\n%s", text)
	}
	lines, err := csv.NewReader(strings.NewReader(show(CSV, besides()))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		column string
		want   []string
	}{
		{"published_storage_qps", []string{"118", "118", "21.2"}}, {"all_kinds_drain_qps", []string{"208", "50", "32"}}, {"all_kinds_published_window_qps", []string{"69.33333333333333", "16.666666666666668", ""}},
	} {
		var got []string
		for _, l := range lines[1:] {
			got = append(got, l[slices.Index(lines[0], tc.column)])
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.column, got, tc.want)
		}
	}
	other := besides()
	other.Run.Scenario = "mine"
	if md := show(Markdown, other); strings.Contains(md, "Beside the published") || strings.Contains(show(CSV, other), "published_") {
		t.Error("a run of another scenario is compared")
	}
}
