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
	cell.ID, cell.Repetition, cell.Checks = "a-r1", 1, map[string]result.Check{"G1": check}
	again := drained(3)
	again.ID, again.Repetition, again.Checks = "a-r2", 2, map[string]result.Check{"G1": {Verdict: result.Fail, Violations: 1, Judged: 20, Counterexample: "db/1"}}
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "s"}, Cells: []result.Cell{cell, again}}
	for name, f := range map[string]struct {
		write func(io.Writer, *result.Results) error
		want  string
	}{
		"terminal": {func(w io.Writer, r *result.Results) error { return Terminal(w, r, TerminalOptions{}) }, "    web/2\n    … and 11 more\n"},
		"md":       {Markdown, "web/9\n… and 4 more\n"}, "html": {HTML, "web/9\n… and 4 more\n1 more violations, of which the record holds no counterexample.</pre>"},
		"junit": {JUnit, "web/9&#xA;… and 3 more"},
	} {
		var out bytes.Buffer
		if err := f.write(&out, res); err != nil || !strings.Contains(out.String(), f.want) {
			t.Errorf("%s lacks %q: %v\n%s", name, f.want, err, out.String())
		}
	}
}

// many is a run of so many cells, each with 50 counterexamples that have evidence.
func many(cells int) *result.Results {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "s"}}
	for i := range cells {
		c := drained(3)
		c.ID, c.Repetition = fmt.Sprintf("c-r%d", i+1), i+1
		check := result.Check{Verdict: result.Fail, Violations: 70, Judged: 90, Counterexample: "broken/0"}
		for n := range 49 {
			check.Further = append(check.Further, fmt.Sprintf("broken/%d", n+1))
		}
		for range 10 {
			check.Evidence = append(check.Evidence, madeEvidence())
		}
		c.Checks = map[string]result.Check{"G1": check}
		res.Cells = append(res.Cells, c)
	}
	return res
}

// TestEvidenceFollowsItsText: that of repetitions stays beside its own counterexample.
func TestEvidenceFollowsItsText(t *testing.T) {
	a := result.Check{Verdict: result.Fail, Violations: 2, Judged: 9, Counterexample: "a0", Further: []string{"a1"}, Evidence: []result.Evidence{{Name: "a0"}}}
	b := result.Check{Verdict: result.Fail, Violations: 2, Judged: 9, Counterexample: "b0", Further: []string{"b1"}, Evidence: []result.Evidence{{Name: "b0"}, {Name: "b1"}}}
	got := together(a, b)
	for i, text := range append([]string{got.Counterexample}, got.Further...) {
		if i >= len(got.Evidence) || got.Evidence[i].Name != text && got.Evidence[i].Name != "" || text != "a1" && got.Evidence[i].Name == "" {
			t.Errorf("%s has the evidence %+v", text, got.Evidence)
		}
	}
}

// TestEvidenceIsText: the requests, versions and fields of a counterexample stand below it, whatever
// the format.
func TestEvidenceIsText(t *testing.T) {
	var b bytes.Buffer
	if err := Terminal(&b, many(1), TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"request 2219  PUT  version 10466  received 12:00:02.131000, applied 12:00:02.137000, no answer, replaced, fault late  <- at fault",
		"written at the API server 12:00:02.020000  version 10466", `field status.phase: expected "Running", stored "Pending"`, "12 further requests of this object are in its ledger"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
