package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestFurtherCounterexamples: a report lists some of them, and says where the others are.
func TestFurtherCounterexamples(t *testing.T) {
	check := result.Check{Verdict: result.Fail, Violations: 14, Judged: 20, Counterexample: "web/0"}
	for i := range 12 {
		check.Further = append(check.Further, fmt.Sprintf("web/%d", i+1))
	}
	cell := drained(3)
	cell.ID, cell.Checks = "a", map[string]result.Check{"G1": check}
	again := drained(3)
	again.ID, again.Repetition, again.Checks = "b", 2, map[string]result.Check{"G1": {Verdict: result.Fail, Violations: 1, Judged: 20, Counterexample: "db/1"}}
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "s"}, Cells: []result.Cell{cell, again}}
	for name, f := range map[string]struct {
		write func(io.Writer, *result.Results) error
		want  string
	}{
		"terminal": {func(w io.Writer, r *result.Results) error { return Terminal(w, r, TerminalOptions{}) }, "    web/2\n    … and 11 more in results.json\n"},
		"md":       {Markdown, "web/9\n… and 4 more in results.json\n"}, "html": {HTML, "web/9\n… and 4 more in results.json</pre>"},
		"junit": {JUnit, "web/9&#xA;… and 3 more in results.json</failure>"},
		"check": {func(w io.Writer, r *result.Results) error { return Checks(w, r.Cells, TerminalOptions{}) }, "    web/9\n    … and 3 more in results.json\n"},
	} {
		var out bytes.Buffer
		if err := f.write(&out, res); err != nil || !strings.Contains(out.String(), f.want) {
			t.Errorf("%s lacks %q: %v\n%s", name, f.want, err, out.String())
		}
	}
}
