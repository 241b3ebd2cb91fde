package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

// TestWatchersAreCalledByName: another watcher has no strategy of ours, in any format.
func TestWatchersAreCalledByName(t *testing.T) {
	cell := func(strategy, name string, params ...string) result.Cell {
		c := drained(3)
		c.ID, c.Handler.Strategy, c.Watcher.Name = fmt.Sprint(strategy, name, len(params)), strategy, name
		c.Params = map[string]string{result.ParamLoad: "l"}
		if len(params) > 0 {
			c.Params[result.ParamStrategy] = params[0]
		}
		return c
	}
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "s"}, Cells: []result.Cell{
		cell(result.External, "python3 watcher.py"), cell(result.External, ""), cell(result.External, "fork", "keyed"),
		cell("keyed", "pr-7", "keyed"), cell("single", "", "single"),
	}}
	var got []string
	for i := range res.Cells {
		one := *res
		one.Cells = res.Cells[i : i+1]
		got = append(got, arrange(&one).rows[0].label())
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"external", "fork keyed", "pr-7 keyed", "python3 watcher.py", "single"}, got); d != "" {
		t.Error(d)
	}
	for name, f := range map[string]struct {
		write func(io.Writer, *result.Results) error
		want  string
	}{
		"terminal": {func(w io.Writer, r *result.Results) error { return Terminal(w, r, TerminalOptions{}) }, "\npython3 watcher.py  "},
		"csv":      {CSV, "\npython3 watcher.py,l,"}, "bench": {Bench, "BenchmarkScenario/load=l/watcher=python3_watcher.py"},
		"junit": {JUnit, `testcase name="externalpython3 watcher.py0 valid"`}, "md": {Markdown, "| watcher |"}, "html": {HTML, "python3 watcher.py"},
	} {
		var out bytes.Buffer
		one := *res
		one.Cells = res.Cells[:1]
		if err := f.write(&out, &one); err != nil || !strings.Contains(out.String(), f.want) || strings.Contains(out.String(), "/strategy=") {
			t.Errorf("%s lacks %q: %v\n%s", name, f.want, err, out.String())
		}
	}
}
