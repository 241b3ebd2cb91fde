package render

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

// swept is a run over the values of an axis; storage's rate is ten times the place.
func swept(path string, values ...string) *result.Results {
	var points []paced
	for range values {
		points = append(points, paced{"keyed", "7", 0, 0.5, 1})
	}
	res := sized(points...)
	for i, v := range values {
		c := &res.Cells[i]
		c.ID, c.Params = fmt.Sprint(i), map[string]string{result.ParamStrategy: "keyed", path: v}
		c.Storage.QPS = new(float64(10 * (i + 1)))
	}
	res.Run.Order = nil
	return res
}

// TestSweeps: the lines are in the order of the values, not of the run or the alphabet, with
// how much each gains; a point that fails a core check is in the table and not in the curve.
func TestSweeps(t *testing.T) {
	res := swept("watcher.podQueueNum", "1", "2", "4", "16")
	slices.Reverse(res.Cells)
	res.Cells[1].Checks = map[string]result.Check{"G2": {Verdict: result.Fail, Judged: 1}} // at 4
	tab := arrange(res)
	var got [][]string
	for _, r := range tab.swept().Table.Rows {
		got = append(got, []string{r[0].Text, r[1].Text, r[2].Text, r[3].Text, r[4].Text})
	}
	want := [][]string{{"podQueueNum", "keyed open", "1", "10.0", "–"}, {"podQueueNum", "keyed open", "2", "20.0", "2.00"}, {"podQueueNum", "keyed open", "4", "30.0", "–"}, {"podQueueNum", "keyed open", "16", "40.0", "–"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	p := tab.swept().Plots[0]
	var points []string
	for _, at := range p.Lines[0].Points {
		points = append(points, fmt.Sprint(at))
	}
	if d := cmp.Diff([]string{"[1 10]", "[2 20]", "[4 NaN]", "[16 40]"}, points); d != "" || !p.LogX {
		t.Errorf("logarithmic %v (-want +got):\n%s", p.LogX, d)
	}
	var md, page, terminal bytes.Buffer
	if err := Markdown(&md, res); err != nil || !strings.Contains(md.String(), "### Over the swept values") {
		t.Errorf("%v in\n%s", err, md.String())
	}
	if err := HTML(&page, res); err != nil || !strings.Contains(page.String(), `<section id="sweep">`) || !strings.Contains(page.String(), `id="sweep-plot1"`) {
		t.Errorf("the page has no sweep (%v)", err)
	}
	if err := Terminal(&terminal, res, TerminalOptions{}); err != nil || !strings.Contains(terminal.String(), "Over the swept values") {
		t.Errorf("%v in\n%s", err, terminal.String())
	}
}

// TestSweptAxes: which axes are curves, and in which unit.
func TestSweptAxes(t *testing.T) {
	for _, tc := range []struct {
		path   string
		values []string
		want   string // unit and first value; empty: no curve
	}{
		{"watcher.podQueueNum", []string{"4", "1", "30"}, " 1"},
		{"storage.latency", []string{"250ms", "1s", "2s"}, "s 0.25"},
		{"load.objectBytes", []string{"1MiB", "3KiB", "64KiB"}, "KiB 3"},
		{"storage.faultShare", []string{"10%", "50%", "90%"}, "% 10"},
		{"limits.minEvents", []string{"0%", "50%", "100%"}, "% 0"},
		{"load.speed", []string{"1x", "2x", "10x"}, "× 1"},
		{"load.speed", []string{"1x", "2x", "unlimited"}, ""},
		{"watcher.podQueueNum", []string{"1", "2"}, ""},
		{"watcher.queueFull", []string{"drop", "block", "coalesce"}, ""},
		{"storage.latency", []string{"250ms", "1s", "uniform(1s,2s)"}, ""},
	} {
		got := ""
		for _, s := range arrange(swept(tc.path, tc.values...)).sweeps() {
			got = fmt.Sprint(s.unit, " ", s.at[s.series[0][0]])
		}
		if got != tc.want {
			t.Errorf("%s %v: %q, want %q", tc.path, tc.values, got, tc.want)
		}
	}
}
