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
		"md":       {Markdown, "web/9\n… and 4 more in results.json\n"}, "html": {HTML, "<pre>web/12</pre>\n\n\n<p class=\"fine\">Further violations: 1 counted without a counterexample</p>"},
		"junit": {JUnit, "web/9&#xA;… and 3 more in results.json</failure>"},
		"check": {func(w io.Writer, r *result.Results) error { return Checks(w, r.Cells, TerminalOptions{}) }, "    web/9\n    … and 3 more in results.json\n"},
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
		c.ID, c.Repetition = fmt.Sprintf("c%d", i), i+1
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

// TestPageBoundsCounterexamples: all of a cell are on the page, and of very many cells so many
// that it stays one.
func TestPageBoundsCounterexamples(t *testing.T) {
	for cells, want := range map[int]struct {
		texts, evidence int
		note            string
	}{
		1:  {50, 10, "Further violations: 20 counted without a counterexample"},
		40: {pageExamples, pageEvidence, "Further violations: 50 more in results.json and 20 counted without a counterexample"},
	} {
		var b bytes.Buffer
		if err := HTML(&b, many(cells)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "<pre>broken/"); got != want.texts {
			t.Errorf("%d cells: %d counterexamples, want %d", cells, got, want.texts)
		}
		if got := strings.Count(b.String(), ">at fault<"); got != want.evidence {
			t.Errorf("%d cells: %d with evidence, want %d", cells, got, want.evidence)
		}
		if !strings.Contains(b.String(), want.note) || !strings.Contains(b.String(), "this page shows at most 500, 100 of them") {
			t.Errorf("%d cells: the page does not say what it leaves out", cells)
		}
	}
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

func TestCounterexamplesInBrowser(t *testing.T) {
	b := startBrowser(t)
	path := pageFile(t, fixture(t))
	b.open(path, 1280, 900)
	const visible = `[...document.querySelectorAll("#counterexamples .example table")].filter(e => e.checkVisibility()).length`
	var n int
	if b.eval(visible, &n); n != 0 {
		t.Errorf("%d tables are open before anybody asked", n)
	}
	b.eval(`[...document.querySelectorAll("#counterexamples .example")].find(e => /G3/.test(e.innerText)).querySelector("summary").click()`, nil)
	if b.eval(visible, &n); n != 3 {
		t.Errorf("%d tables, want requests, versions and fields", n)
	}
	text := b.text(`document.querySelector("#counterexamples .example[open]").innerText`)
	for _, want := range []string{"unordered / heavy (repetition 1)", "198 violations", "Pod wb-heavy-unordered/pod-0017", "12:00:02.131000", "no answer, replaced, fault late", "at fault", "status.phase", "12 further requests"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	b.size(400, 800)
	b.settle(`document.documentElement.scrollWidth <= 400`)
	if b.eval(`document.documentElement.scrollWidth`, &n); n > 400 {
		t.Errorf("%d px wide on a telephone", n)
	}
	b.quiet(path)
}
